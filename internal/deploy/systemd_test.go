package deploy

import (
	"bufio"
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

// The unit's commands are run by a shell, with other directories.
func TestUnitRefusesAnEmptyVolumeAfterTheFirstStart(t *testing.T) {
	u, dir := unit(t), t.TempDir()
	run := func(command string) {
		t.Helper()
		script, ok := strings.CutPrefix(command, "+/bin/sh -c '")
		if !ok {
			t.Fatalf("the command is %q", command)
		}
		script = strings.NewReplacer("/var/lib/interlock", dir+"/data", "/etc/interlock", dir).Replace(strings.TrimSuffix(script, "'"))
		out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	serve := func() string {
		flags, err := os.ReadFile(dir + "/started.env")
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		_, flag, _ := strings.Cut(strings.TrimSpace(string(flags)), "DATA=")
		args := strings.NewReplacer("--config /etc/interlock/interlock.yaml", "--listen 127.0.0.1:0 --pipelines "+dir, "/var/lib/interlock", dir+"/data", "$DATA", flag).Replace(u["ExecStart"])
		return strings.TrimSpace(strings.TrimPrefix(args, "/usr/local/bin/interlock"))
	}
	run(u["ExecStartPre"])
	first := strings.Fields(serve())
	started(t, first)
	run(u["ExecStopPost"])
	check(t, os.Rename(dir+"/data", dir+"/away"))
	run(u["ExecStartPre"])
	cmd := exec.Command(binary(t), strings.Fields(serve())...)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is the right volume mounted?") {
		t.Errorf("it started without its volume: %v\n%s", err, out)
	}
	check(t, os.RemoveAll(dir+"/data"))
	check(t, os.Rename(dir+"/away", dir+"/data"))
	run(u["ExecStartPre"])
	started(t, strings.Fields(serve()))
}

// started starts the binary, waits until it listens, and stops it.
func started(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	log, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	text := ""
	for lines := bufio.NewScanner(log); !strings.Contains(text, "interlock listens") && lines.Scan(); {
		text += lines.Text()
	}
	if !strings.Contains(text, "interlock listens") {
		t.Errorf("it did not start: %s", text)
	}
	check(t, cmd.Process.Signal(os.Interrupt))
	check(t, cmd.Wait())
}
