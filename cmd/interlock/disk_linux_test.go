package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// onSmallDisk makes controllers run with a data directory on its own disk of that size, such as
// 16m. This needs a user namespace, which some systems forbid. There the test is skipped, and only
// TestFullStore and the tests of internal/store/sqlite cover a full disk.
func (g *ground) onSmallDisk(size string) {
	g.Helper()
	if err := os.Mkdir(g.path("data"), 0o700); err != nil {
		g.Fatal(err)
	}
	g.wrap = []string{"sh", "-c", "mount -t tmpfs -o mode=700,size=" + size + " tmpfs data || { echo no mount >&2; exit 99; }; exec \"$@\"", "sh"}
	g.attributes = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// onDisk returns the path of a file in the data directory as the controller sees it.
func (d *daemon) onDisk(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", d.cmd.Process.Pid), d.path("data"), name)
}

// fillDisk fills the disk of the data directory.
func (d *daemon) fillDisk() {
	d.Helper()
	f, err := os.Create(d.onDisk("filler"))
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 1<<16); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.Fatal(err)
	}
}

// readiness returns the answer of /readyz.
func (d *daemon) readiness() (int, string) {
	d.Helper()
	resp, err := http.Get(d.url + "/readyz")
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// refusedWrite writes a reading, and expects status 507 with that remedy.
func (d *daemon) refusedWrite(remedy string) {
	d.Helper()
	req, err := http.NewRequest(http.MethodPut, d.url+"/api/v1/pipelines/orders/sensors/landed%232026-03-09", strings.NewReader(`{"n": 1}`))
	if err != nil {
		d.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	var p struct{ Type, Detail string }
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		d.Fatal(err)
	}
	if resp.StatusCode != http.StatusInsufficientStorage || resp.Header.Get("Content-Type") != "application/problem+json" ||
		p.Type != "urn:interlock:problem:store-full" || !strings.Contains(p.Detail, remedy) {
		d.Errorf("a write got status %d %+v", resp.StatusCode, p)
	}
}

// TestFullDiskLeavesDeadlinesAndAlerts fills the disk of a real controller. The controller becomes
// unready, stops its heartbeats and rejects writes from outside, but still records a breach and
// sends the alert. Once there is space again, it resumes.
func TestFullDiskLeavesDeadlinesAndAlerts(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	var beats atomic.Int64
	heart := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { beats.Add(1) }))
	defer heart.Close()
	alerts := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // an incomplete alert names no event, so the error does not matter
		alerts <- string(text)
	}))
	defer hook.Close()
	g := newGround(t, binary, "")
	g.write("interlock.yaml", fmt.Sprintf("listen: 127.0.0.1:0\ndata: {dir: ./data, reserve: 4MiB}\npipelines: [./pipelines]\n"+
		"egress: {allow: [127.0.0.1]}\nwatchdog: {interval: 1s, heartbeatURL: %q}\nalerts: {webhooks: [{name: hook, url: %q}]}\n", heart.URL, hook.URL))
	g.onSmallDisk("16m")
	g.pipeline("orders", prompt)
	g.pipeline("slow", "schedule: {trigger: {key: landed, check: exists}}\nsla: {maxDuration: 10s}\n"+
		fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s}\n", "while [ -e "+g.path("busy")+" ]; do sleep 0.05; done"))
	g.write("busy", "") // removed with the test's directory, if not before
	d := g.launch()
	if !d.ready() {
		if strings.Contains(d.said(), "no mount") || d.cmd.ProcessState.ExitCode() == 99 {
			t.Skip("this system does not let users mount a small disk")
		}
		t.Fatal(d.said())
	}
	d.put("slow", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("slow/stream/2026-03-03", client.Running)
	until(t, "a heartbeat", func() bool { return beats.Load() > 0 })

	d.fillDisk()
	until(t, "readyz is 503", func() bool {
		status, text := d.readiness()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "data.reserve") && strings.Contains(text, "free some space")
	})
	d.refusedWrite("free some space")
	until(t, "the heartbeat stops", func() bool { return strings.Contains(d.said(), "heartbeat not sent") })
	last := beats.Load()
	until(t, "the breach is recorded", func() bool { return d.told("RELATIVE_SLA_BREACH", "slow") == 1 })
	for disk, breach := false, false; !disk || !breach; { // in either order
		sent := next(t, alerts)
		disk = disk || strings.Contains(sent, "INFRA_ALARM")
		breach = breach || strings.Contains(sent, "RELATIVE_SLA_BREACH")
	}
	if n := beats.Load(); n != last {
		t.Errorf("an unready controller sent %d heartbeats", n-last)
	}

	if err := os.Remove(d.onDisk("filler")); err != nil {
		t.Fatal(err)
	}
	until(t, "readyz is 200", func() bool { status, _ := d.readiness(); return status == http.StatusOK })
	if info, err := os.Stat(d.onDisk("reserve")); err != nil || info.Size() != 4<<20 {
		t.Errorf("the reserve file was not created again: %v, %v", info, err)
	}
	until(t, "heartbeats again", func() bool { return beats.Load() > last })
	d.put("orders", "landed#2026-03-09", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-09", client.Completed)
}

// TestExecFailsIfOutputIsLost writes to /dev/full, which behaves like a file on a full disk. A
// closed pipe is different: its reader wants no more.
func TestExecFailsIfOutputIsLost(t *testing.T) {
	const large = "head -c 300000 /dev/zero"
	for name, c := range map[string]struct {
		command        []string
		stdout, stderr bool // to a full disk
		code           int
		said           string // on stderr
		category       string
		message        string
	}{
		"little":              {[]string{"echo", "loaded"}, true, false, 104, "stdout of echo could not be written: no space left on device", "TRANSIENT", "stdout of echo could not be written: no space left on device"},
		"more than a pipe":    {strings.Fields(large), true, false, 104, "stdout of head could not be written", "TRANSIENT", "stdout of head could not be written: no space left on device"},
		"stderr":              {[]string{"sh", "-c", "echo loaded >&2"}, false, true, 104, "", "TRANSIENT", "stderr of sh could not be written: no space left on device"},
		"a failure of itself": {[]string{"sh", "-c", "echo loaded; exit 2"}, true, false, 2, "stdout of sh could not be written", "PERMANENT", "exit code 2: loaded; stdout of sh could not be written: no space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			d := execGround(t, "")
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			defer full.Close()
			cmd := d.command(append([]string{"exec", "orders", "--date", execDay, "--"}, c.command...)...)
			if c.stdout {
				cmd.Stdout = full
			}
			if c.stderr {
				cmd.Stderr = full
			}
			if got := d.ends(cmd); got.code != c.code || !strings.Contains(got.stderr, c.said) {
				t.Errorf("got %+v, want code %d and %q", got, c.code, c.said)
			}
			first := d.reaches(execRun, client.Triggering).Attempts[0]
			if first.Category == nil || *first.Category != c.category || *first.Message != c.message {
				t.Errorf("reported %v %q", first.Category, *first.Message)
			}
		})
	}
}

func TestExecAcceptsThatItsReaderLeaves(t *testing.T) {
	d := execGround(t, "")
	cmd := d.command("exec", "orders", "--date", execDay, "--", "sh", "-c", "sleep 1; echo loaded; exit 0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close() // the reader has all it wants
	if err := cmd.Wait(); err != nil || said.String() != "" {
		t.Errorf("%v: %s", err, said.String())
	}
	d.reaches(execRun, client.Completed)
}
