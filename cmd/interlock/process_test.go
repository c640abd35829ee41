//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// ground is where controllers of the built binary run, one after the other: a server file, a
// pipelines folder and a data directory.
type ground struct {
	*testing.T
	binary, dir string
	as          *syscall.Credential // the user who runs them; nil for the test's own user
	env         []string            // additional environment variables
	token       string              // the token that the test sends

	wrap       []string             // a program with arguments that runs the controllers, if set
	attributes *syscall.SysProcAttr // of that program
}

// newGround writes a server file with config and the settings that every test needs.
func newGround(t *testing.T, binary, config string) *ground {
	t.Helper()
	g := &ground{T: t, binary: binary, dir: t.TempDir()}
	if err := os.Mkdir(g.path("pipelines"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.write("interlock.yaml", "listen: 127.0.0.1:0\ndata: {dir: ./data, reserve: 1MiB}\npipelines: [./pipelines]\n"+config)
	t.Cleanup(g.endKeepers)
	return g
}

func (g *ground) path(name string) string { return filepath.Join(g.dir, name) }

// write creates or replaces a file in the ground. A controller sees all of it or nothing.
func (g *ground) write(name, text string) {
	g.Helper()
	part := g.path(name) + ".part"
	err := os.WriteFile(part, []byte(text), 0o600)
	if err == nil && g.as != nil {
		err = os.Chown(part, int(g.as.Uid), int(g.as.Gid))
	}
	if err == nil {
		err = os.Rename(part, g.path(name))
	}
	if err != nil {
		g.Fatal(err)
	}
}

// pipeline writes a pipeline's file.
func (g *ground) pipeline(id, sections string) {
	g.Helper()
	g.write("pipelines/"+id+".yaml", fmt.Sprintf("pipeline: {id: %s, owner: tests}\n%s", id, sections))
}

// keepers returns the processes of the ground's command keepers, read from their claim files.
func (g *ground) keepers() map[string]int {
	found := map[string]int{}
	claims, _ := filepath.Glob(g.path("data/jobs/*/claim")) // the pattern is valid
	for _, name := range claims {
		var claim struct {
			ID     string
			Keeper struct{ PID int }
		}
		text, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(text, &claim) == nil && claim.Keeper.PID > 1 {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), "exit")); err != nil {
				found[claim.ID] = claim.Keeper.PID
			}
		}
	}
	return found
}

// endKeepers ends the commands that a test has left running: they outlive their controllers.
func (g *ground) endKeepers() {
	for _, pid := range g.keepers() {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have just exited
	}
	until(g.T, "the end of all commands", func() bool { return len(living(g.keepers())) == 0 })
}

func living(pids map[string]int) []int {
	var alive []int
	for _, pid := range pids {
		if !gone(pid) {
			alive = append(alive, pid)
		}
	}
	return alive
}

// gone reports whether a process has ended. A zombie counts as ended: if its parent has died, it
// may never be reaped.
func gone(pid int) bool {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return strings.HasPrefix(string(text[bytes.LastIndexByte(text, ')')+1:]), " Z")
	}
	return syscall.Kill(pid, 0) != nil
}

// daemon is one `interlock serve`.
type daemon struct {
	*ground
	cmd     *exec.Cmd
	address chan string // its address, once it listens
	ended   chan struct{}
	url     string // the address, once it is ready
	api     *client.Client

	mu  sync.Mutex
	log strings.Builder
}

var listens = regexp.MustCompile(`^interlock listens on (\S+) `)

// launch starts a controller without waiting for it.
func (g *ground) launch(args ...string) *daemon {
	g.Helper()
	d := &daemon{ground: g, address: make(chan string, 1), ended: make(chan struct{})}
	line := append(append(slices.Clone(g.wrap), g.binary, "serve"), args...)
	d.cmd = exec.Command(line[0], line[1:]...)
	d.cmd.Dir = g.dir
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: g.as}
	d.cmd.Env = append(os.Environ(), g.env...)
	if g.attributes != nil {
		d.cmd.SysProcAttr = g.attributes
	}
	stderr, err := d.cmd.StderrPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		g.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			d.mu.Lock()
			fmt.Fprintln(&d.log, lines.Text())
			d.mu.Unlock()
			if found := listens.FindStringSubmatch(lines.Text()); found != nil {
				d.address <- found[1]
			}
		}
		_ = d.cmd.Wait() // the result is in ProcessState
	}()
	g.Cleanup(d.kill)
	return d
}

// start starts a controller and waits until it listens.
func (g *ground) start() *daemon {
	g.Helper()
	d := g.launch()
	if !d.ready() {
		g.Fatalf("the controller exited:\n%s", d.said())
	}
	return d
}

// ready waits until the controller listens, and reports whether it does; false if it has exited.
func (d *daemon) ready() bool {
	d.Helper()
	select {
	case address := <-d.address:
		api, err := client.New(address, client.WithToken(d.token))
		if err != nil {
			d.Fatal(err)
		}
		d.url, d.api = address, api
		return true
	case <-d.ended:
		return false
	case <-time.After(patience):
		d.Fatalf("the controller neither listens nor exits:\n%s", d.said())
		return false
	}
}

// kill kills the controller with SIGKILL.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // it may have exited already
	<-d.ended
}

// exit waits until the controller has exited, and returns its exit code.
func (d *daemon) exit() int {
	d.Helper()
	select {
	case <-d.ended:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		d.Fatalf("the controller does not exit:\n%s", d.said())
		return 0
	}
}

// said returns the controller's log.
func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// put writes a reading.
func (d *daemon) put(pipeline, key string, fields map[string]any) {
	d.Helper()
	if _, err := d.api.PutSensor(d.Context(), pipeline, key, fields); err != nil {
		d.Fatal(err)
	}
}

// until waits until holds returns true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// reaches waits until a run has that status, and returns the run.
func (d *daemon) reaches(run string, want client.Status) client.RunDetail {
	d.Helper()
	key, err := client.ParseRunKey(run)
	if err != nil {
		d.Fatal(err)
	}
	var got client.RunDetail
	until(d.T, fmt.Sprintf("%s is %s", run, want), func() bool {
		got, err = d.api.Run(d.Context(), key)
		return err == nil && got.Status == want
	})
	return got
}

// events lists all events, newest first.
func (d *daemon) events() []client.Event {
	d.Helper()
	var all []client.Event
	q := client.EventQuery{Paging: client.Paging{Limit: client.MaxPage}}
	for {
		page, err := d.api.Events(d.Context(), q)
		if err != nil {
			d.Fatal(err)
		}
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		q.Cursor = page.NextCursor
	}
}

// told counts the events of a type about a pipeline, or about all pipelines if it is "".
func (d *daemon) told(kind, pipeline string) int {
	d.Helper()
	n := 0
	for _, e := range d.events() {
		if e.Type == kind && (pipeline == "" || e.Detail.Pipeline == pipeline) {
			n++
		}
	}
	return n
}

// runs lists all runs.
func (d *daemon) runs() map[string]client.Run {
	d.Helper()
	all := map[string]client.Run{}
	q := client.RunQuery{Paging: client.Paging{Limit: client.MaxPage}}
	for {
		page, err := d.api.Runs(context.WithoutCancel(d.Context()), q)
		if err != nil {
			d.Fatal(err)
		}
		for _, r := range page.Items {
			all[r.Key().String()] = r
		}
		if page.NextCursor == "" {
			return all
		}
		q.Cursor = page.NextCursor
	}
}
