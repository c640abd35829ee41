//go:build unix

package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// prompt is a pipeline whose job succeeds at once.
const prompt = "schedule: {trigger: {key: landed, check: exists}}\njob: {type: command, config: {command: 'true'}, pollInterval: 1s}\n"

// refuses starts a controller that must fail to start, and checks that it says why in one line,
// with exit code 2.
func (g *ground) refuses(says ...string) {
	g.Helper()
	g.refusedWith(nil, says...)
}

// refusedWith is refuses with additional arguments.
func (g *ground) refusedWith(args []string, says ...string) {
	g.Helper()
	d := g.launch(args...)
	if d.ready() {
		g.Fatalf("the controller started:\n%s", d.said())
	}
	if code := d.exit(); code != 2 {
		g.Errorf("exit code %d:\n%s", code, d.said())
	}
	last := d.said()[strings.LastIndex(strings.TrimSpace(d.said()), "\n")+1:]
	for _, part := range append(says, "interlock: ") {
		if !strings.Contains(last, part) {
			g.Errorf("%q is not in: %s", part, d.said())
		}
	}
	if strings.Contains(d.said(), "goroutine ") {
		g.Errorf("it panicked:\n%s", d.said())
	}
}

// TestControllerThatCannotWorkSaysWhyAndHarmsNothing covers everything that prevents a controller
// from starting.
func TestControllerThatCannotWorkSaysWhyAndHarmsNothing(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	t.Run("second process", func(t *testing.T) {
		g := newGround(t, binary, "")
		g.pipeline("orders", prompt)
		d := g.start()
		g.refuses("in use by process", fmt.Sprint(d.cmd.Process.Pid), g.path("data"))
		d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
		d.reaches("orders/stream/2026-03-03", client.Completed)
	})
	t.Run("corrupt database", func(t *testing.T) { corruptDatabase(t, binary) })
	t.Run("data is a file", func(t *testing.T) {
		g := newGround(t, binary, "")
		g.write("data", "somebody's notes")
		g.refuses(g.path("data"))
		g.unchanged("data", []byte("somebody's notes"))
	})
	t.Run("data cannot be written", func(t *testing.T) {
		g := newGround(t, binary, "")
		g.write("interlock.yaml", "listen: 127.0.0.1:0\ndata: /proc/interlock-data\npipelines: [./pipelines]\n") // not even root may write there
		g.refuses("/proc/interlock-data")
	})
	t.Run("data is read-only", func(t *testing.T) { readOnlyData(t, binary) })
	t.Run("port in use", func(t *testing.T) {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		g := newGround(t, binary, "")
		g.write("interlock.yaml", fmt.Sprintf("listen: %s\ndata: ./data\npipelines: [./pipelines]\n", taken.Addr()))
		g.refuses(taken.Addr().String(), "already listens there")
	})
	t.Run("no pipelines", func(t *testing.T) {
		g := newGround(t, binary, "")
		g.write("interlock.yaml", "listen: 127.0.0.1:0\ndata: ./data\npipelines: [./pipelynes]\n")
		g.refuses("pipelynes")
	})
	t.Run("bad server file", func(t *testing.T) {
		g := newGround(t, binary, "watchdgo: {interval: 1s}\n")
		g.refuses("interlock.yaml", "1 error")
	})
}

// unchanged fails unless a file still has that content.
func (g *ground) unchanged(name string, want []byte) {
	g.Helper()
	if got, err := os.ReadFile(g.path(name)); err != nil || !bytes.Equal(got, want) {
		g.Errorf("%s has changed: %d bytes instead of %d, %v", name, len(got), len(want), err)
	}
}

// corruptDatabase damages the database of a controller that has run: one bit, all of it, half of
// it.
func corruptDatabase(t *testing.T, binary string) {
	for name, damage := range map[string]func(good []byte) []byte{
		"text":   func([]byte) []byte { return []byte("this is no database, but somebody may want it back\n") },
		"header": func(good []byte) []byte { return append([]byte("damaged"), good[7:]...) },
		"first page": func(good []byte) []byte {
			bad := bytes.Clone(good)
			for i := 100; i < 4096; i++ {
				bad[i] = 0xA5
			}
			return bad
		},
		"cut off": func(good []byte) []byte { return good[:4096+100] },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, binary, "")
			g.pipeline("orders", prompt)
			g.start().stop()
			good, err := os.ReadFile(g.path("data/interlock.db"))
			if err != nil {
				t.Fatal(err)
			}
			bad := damage(good)
			g.write("data/interlock.db", string(bad))
			g.refuses("data/interlock.db", "damaged", "backup")
			g.unchanged("data/interlock.db", bad)
			g.write("data/interlock.db", string(good)) // restore the backup
			d := g.start()
			d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
			d.reaches("orders/stream/2026-03-03", client.Completed)
		})
	}
}

// readOnlyData removes the write permission from the data of a controller that has run.
func readOnlyData(t *testing.T, binary string) {
	g := newGround(t, binary, "")
	if os.Geteuid() == 0 { // permissions do not apply to root
		g.runAsNobody()
	}
	g.start().stop()
	names, err := filepath.Glob(g.path("data/*"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.chmod(0o700, g.path("data")) // otherwise the test cannot remove it
	g.chmod(0o400, names...)
	g.refuses(g.path("data"), "permission denied")
	g.chmod(0o500, g.path("data"))
	g.refuses(g.path("data"), "permission denied")
}

// runAsNobody makes controllers run as an unprivileged user who can read the binary and owns the
// ground.
func (g *ground) runAsNobody() {
	g.Helper()
	const nobody = 65534
	g.as = &syscall.Credential{Uid: nobody, Gid: nobody}
	g.chmod(0o755, filepath.Dir(g.binary), filepath.Dir(g.dir))
	for _, name := range []string{g.dir, g.path("interlock.yaml"), g.path("pipelines")} {
		if err := os.Chown(name, nobody, nobody); err != nil {
			g.Fatal(err)
		}
	}
}

func (g *ground) chmod(mode os.FileMode, names ...string) {
	g.Helper()
	for _, name := range names {
		if err := os.Chmod(name, mode); err != nil {
			g.Fatal(err)
		}
	}
}

// TestBadFilesAreReportedAndTheRestIsUnaffected edits, breaks and removes pipeline files while a
// controller runs.
func TestBadFilesAreReportedAndTheRestIsUnaffected(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	g.pipeline("orders", prompt)
	g.pipeline("edited", prompt)
	g.write("pipelines/broken.yaml", "pipeline: {id: broken, owner: tests}\nschedul: {cron: '0 9 * * *'}\n")
	g.write("pipelines/torn.yaml", "pipeline: {id: torn, ow")
	d := g.start()
	if !strings.Contains(d.said(), "with 2 pipelines") {
		t.Errorf("log of the start:\n%s", d.said())
	}
	if n := d.told("CONFIG_REJECTED", ""); n != 2 {
		t.Errorf("%d files were reported as rejected", n)
	}
	d.put("orders", "landed#2026-03-01", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-01", client.Completed)

	g.pipeline("edited", strings.Replace(prompt, "exists", "exist", 1))
	until(t, "the bad edit", func() bool { return d.told("CONFIG_REJECTED", "edited") == 1 })
	d.put("edited", "landed#2026-03-02", map[string]any{"n": 1})
	d.reaches("edited/stream/2026-03-02", client.Completed) // the last good version is active
	d.kill()
	d = g.start()
	d.put("edited", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("edited/stream/2026-03-03", client.Completed) // and survives a restart
	if n := d.told("CONFIG_REJECTED", "edited"); n != 1 {
		t.Errorf("the bad edit was reported %d times", n)
	}
	g.pipeline("edited", prompt+"# mended\n")
	until(t, "the fixed file", func() bool { return d.told("CONFIG_ACCEPTED", "edited") == 2 })
}

// TestRunOfARemovedFileFinishes removes the file of a pipeline whose job is running, and later the
// whole folder.
func TestRunOfARemovedFileFinishes(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	g.pipeline("orders", prompt)
	script := fmt.Sprintf("until [ -e %s ]; do sleep 0.05; done", g.path("go"))
	g.pipeline("leaving", "schedule: {trigger: {key: landed, check: exists}}\nsla: {maxDuration: 1h}\n"+
		fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s}\n", script))
	d := g.start()
	d.put("leaving", "landed#2026-03-01", map[string]any{"n": 1})
	d.reaches("leaving/stream/2026-03-01", client.Running)
	removed := time.Now()
	if err := os.Remove(g.path("pipelines/leaving.yaml")); err != nil {
		t.Fatal(err)
	}
	until(t, "the removal", func() bool { return d.told("CONFIG_REMOVED", "leaving") == 1 })
	if took := time.Since(removed); took < 5*time.Second {
		t.Errorf("the pipeline was removed after only %s, in which an editor may still be replacing the file", took)
	}
	if _, err := d.api.PutSensor(t.Context(), "leaving", "landed#2026-03-02", map[string]any{"n": 1}); err == nil {
		t.Error("a removed pipeline accepts readings")
	}
	g.write("go", "")
	d.reaches("leaving/stream/2026-03-01", client.Completed)
	if n := d.told("SLA_CANCELLED", "leaving"); n != 1 {
		t.Errorf("its deadline was reported as cancelled %d times", n)
	}

	if err := os.Rename(g.path("pipelines"), g.path("elsewhere")); err != nil {
		t.Fatal(err)
	}
	until(t, "the missing folder is reported", func() bool { return strings.Contains(d.said(), "cannot read the files") })
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Completed) // a missing folder removes nothing
	if n := d.told("CONFIG_REMOVED", ""); n != 1 {
		t.Errorf("%d pipelines were removed", n)
	}
}

// TestDeadWebhookDelaysNoRun has a sink that accepts connections and never answers, for events of
// every severity.
func TestDeadWebhookDelaysNoRun(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	asked, gone := make(chan struct{}, 1000), make(chan struct{})
	var open, most atomic.Int64
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		if n := open.Add(1); n > most.Load() {
			most.Store(n)
		}
		asked <- struct{}{}
		select {
		case <-gone:
		case <-r.Context().Done():
		}
		open.Add(-1)
	}))
	defer dead.Close()
	defer close(gone)
	g := newGround(t, binary, fmt.Sprintf("egress: {allow: [127.0.0.1]}\nalerts: {webhooks: [{name: dead, url: %q}], routes: [{severity: info, pipelines: [orders], sinks: [dead]}]}\n", dead.URL))
	g.pipeline("orders", prompt)
	d := g.start()
	select {
	case <-asked: // the webhook hangs from now on
	case <-time.After(patience):
		t.Fatal("the webhook got no request")
	}
	for day := range 20 {
		d.put("orders", fmt.Sprintf("landed#2026-03-%02d", day+1), map[string]any{"n": 1})
	}
	for day := range 20 {
		d.reaches(fmt.Sprintf("orders/stream/2026-03-%02d", day+1), client.Completed)
	}
	if n := most.Load(); n != 1 {
		t.Errorf("the webhook got %d requests at once", n)
	}
	d.stop()
}

// TestTerminatedControllerHandsBackWhatItCannotFinish stops a controller that has a running
// command, an unanswered request and a client that follows its events. The next controller
// continues where it stopped.
func TestTerminatedControllerHandsBackWhatItCannotFinish(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	asked, gone := make(chan string, 10), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Idempotency-Key")
		<-gone
	}))
	defer slow.Close()
	defer close(gone)
	g := newGround(t, binary, "egress: {allow: [127.0.0.1]}\n")
	script := fmt.Sprintf("echo started >> %s; until [ -e %s ]; do sleep 0.05; done", g.path("started"), g.path("go"))
	start := "schedule: {trigger: {key: landed, check: exists}}\n"
	g.pipeline("command", start+fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s}\n", script))
	g.pipeline("request", start+fmt.Sprintf("job: {type: http, config: {url: %q, timeout: 10m}}\n", slow.URL))
	d := g.start()
	listen(d)
	for _, id := range []string{"command", "request"} {
		d.put(id, "landed#2026-03-03", map[string]any{"n": 1})
	}
	d.reaches("command/stream/2026-03-03", client.Running)
	<-asked
	d.stop()
	if said := d.said(); !strings.Contains(said, "interlock is stopping") {
		t.Errorf("it did not log that it stops:\n%s", said)
	}
	d = g.start()
	g.write("go", "")
	d.reaches("command/stream/2026-03-03", client.Completed)
	until(t, "the request is held", func() bool {
		r, err := d.api.Run(t.Context(), client.RunKey{Pipeline: "request", Schedule: "stream", Date: "2026-03-03"})
		return err == nil && r.Held != nil
	})
	if text, err := os.ReadFile(g.path("started")); err != nil || string(text) != "started\n" {
		t.Errorf("the command was not started exactly once: %q, %v", text, err)
	}
	if n := len(asked); n != 0 {
		t.Errorf("the request was sent %d more times", n)
	}
}

// listen reads a controller's event stream until it ends.
func listen(d *daemon) {
	d.Helper()
	began := make(chan struct{})
	go func() {
		resp, err := http.Get(d.url + "/api/v1/events/stream")
		if err != nil {
			d.Error(err)
			close(began)
			return
		}
		defer resp.Body.Close()
		close(began)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		}
	}()
	<-began
}

// TestDamagedStoreIsReportedAndRepaired damages the table that detects repeated transactions. The
// controller must find the damage by itself, stop accepting writes and name the remedy: interlock
// repair.
func TestDamagedStoreIsReportedAndRepaired(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	g.pipeline("orders", prompt)
	d := g.start()
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Completed)
	d.stop()
	g.damageTable("applied")
	d = g.start()
	until(t, "the damage is found", func() bool {
		resp, err := http.Get(d.url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == http.StatusServiceUnavailable && bytes.Contains(text, []byte("interlock repair"))
	})
	if _, err := d.api.PutSensor(t.Context(), "orders", "landed#2026-03-04", map[string]any{"n": 1}); err == nil || !strings.Contains(err.Error(), "interlock repair") {
		t.Errorf("a write to a damaged store got %v", err)
	}
	d.stop()
	out, err := exec.Command(binary, "repair", "--data", g.path("data")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "applied") || !strings.Contains(string(out), "an unknown number") {
		t.Fatalf("repair: %v\n%s", err, out)
	}
	d = g.start()
	d.reaches("orders/stream/2026-03-03", client.Completed)
	d.put("orders", "landed#2026-03-04", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-04", client.Completed)
}

// damageTable overwrites the first page of a table of a stopped controller.
func (g *ground) damageTable(name string) {
	g.Helper()
	db, err := sql.Open("sqlite", g.path("data/interlock.db"))
	if err != nil {
		g.Fatal(err)
	}
	var page int64
	err = db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&page)
	if err = errors.Join(err, db.Close()); err != nil {
		g.Fatal(err)
	}
	f, err := os.OpenFile(g.path("data/interlock.db"), os.O_WRONLY, 0)
	if err != nil {
		g.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte("damaged!"), 512), (page-1)*4096)
	if err = errors.Join(err, f.Close()); err != nil {
		g.Fatal(err)
	}
}
