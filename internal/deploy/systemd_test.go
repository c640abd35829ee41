package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const unitFile = "deploy/systemd/interlock.service"

// unit returns the settings of the unit file, the last of each name.
func unit(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(read(t, unitFile)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			found[name] = value
		}
	}
	return found
}

func TestSystemdTakesTheUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze: install systemd")
	}
	name := filepath.Join(t.TempDir(), "interlock.service")
	text := strings.ReplaceAll(read(t, unitFile), "/usr/local/bin/interlock", binary(t)) // systemd-analyze checks that the program exists
	check(t, os.WriteFile(name, []byte(text), 0o600))
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", name).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "Unknown key 'DelegateSubgroup'") { // known since systemd 254, ignored before
			t.Error(line)
		}
	}
	check(t, err)
}

func TestUnitLeavesRunningJobsAlone(t *testing.T) {
	u := unit(t)
	if u["KillMode"] != "process" || u["PrivateTmp"] == "yes" {
		t.Errorf("jobs that outlive the controller lose their processes (KillMode=%s) or their files (PrivateTmp=%s)", u["KillMode"], u["PrivateTmp"])
	}
	if u["Delegate"] != "memory pids" || u["DelegateSubgroup"] == "" || u["ProtectControlGroups"] != "" {
		t.Errorf("jobs get no control groups: Delegate=%s, DelegateSubgroup=%s, ProtectControlGroups=%s", u["Delegate"], u["DelegateSubgroup"], u["ProtectControlGroups"])
	}
	if !strings.HasSuffix(u["ExecReload"], "kill -HUP $MAINPID") {
		t.Errorf("it is reloaded with %q", u["ExecReload"])
	}
	if u["User"] == "" || u["User"] == "root" {
		t.Errorf("it runs as %q", u["User"])
	}
	if u["StateDirectory"] != filepath.Base(dataDir) || !strings.Contains(u["ExecStart"], "--data "+dataDir+" ") {
		t.Errorf("its data is not in the state directory: %s", u["ExecStart"])
	}
}

func TestUnitWaitsForAStoreThatStartsLater(t *testing.T) {
	if u := unit(t); u["Restart"] != "always" || u["StartLimitIntervalSec"] != "0" {
		t.Errorf("systemd gives up after a few starts: Restart=%s, StartLimitIntervalSec=%s", u["Restart"], u["StartLimitIntervalSec"])
	}
}

// Two services of one machine share the data directory, whose lock the second cannot get.
func TestUnitHasOneDataDirectory(t *testing.T) {
	if u := unit(t); strings.Contains(u["ExecStart"], "%i") || strings.Contains(u["StateDirectory"], "%i") {
		t.Errorf("instances of the unit would each have a store: %s in %s", u["ExecStart"], u["StateDirectory"])
	}
}
