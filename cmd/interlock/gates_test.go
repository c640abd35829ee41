//go:build unix

package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

var gateCount = flag.Int("gates", 48, "how many gates TestCommandsOfExplainOpenTheGate generates")

// explainedGates are generated gates on one controller.
type explainedGates struct {
	*daemon
	bin    string       // a directory in which the binary is found by its name
	closed atomic.Int64 // gates with commands
}

// TestCommandsOfExplainOpenTheGate draws pipelines with closed gates, runs the commands that
// `interlock explain` prints, as they are printed, in a shell, and expects each run to start.
func TestCommandsOfExplainOpenTheGate(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	gates := make([]*drawnGate, *gateCount)
	for i := range gates {
		gates[i] = drawGate(i + 1)
		for id, sections := range gates[i].files {
			g.pipeline(id, sections)
		}
	}
	e := &explainedGates{daemon: g.start(), bin: t.TempDir()}
	if err := os.Symlink(binary, filepath.Join(e.bin, "interlock")); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	next := make(chan *drawnGate)
	for range 4 {
		workers.Go(func() {
			for gate := range next {
				t.Run(gate.id+" "+gate.opening, func(t *testing.T) { e.open(t, gate) })
			}
		})
	}
	for _, gate := range gates {
		next <- gate
	}
	close(next)
	workers.Wait()
	if closed := int(e.closed.Load()); closed < *gateCount*8/10 {
		t.Errorf("only %d of %d gates needed commands", closed, *gateCount)
	}
}

// open brings a gate into its state, and runs the commands that open it.
func (e *explainedGates) open(t *testing.T, g *drawnGate) {
	e.prepare(t, g)
	text := e.explain(t, g)
	commands := commandsOf(text)
	if len(commands) == 0 && !strings.Contains(text, "time:") && strings.Contains(text, "What would open it") {
		t.Fatalf("no command is printed:\n%s\n%s", text, g.files[g.id])
	}
	if len(commands) > 0 {
		e.closed.Add(1)
	}
	for _, c := range commands {
		if engineOwned.MatchString(c) {
			t.Errorf("this pushes what a person does not write: %s", c)
		}
	}
	script := exec.Command("/bin/sh", "-e", "-c", strings.Join(commands, "\n"))
	script.Env = []string{"PATH=" + e.bin + ":" + os.Getenv("PATH"), "INTERLOCK_SERVER=" + e.url, "HOME=/nowhere", "USER=ann"}
	out, err := script.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s\n%s", err, out, text, g.files[g.id])
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !e.started(t.Context(), g) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the gate is still closed.\n%s\nBefore:\n%s\nOutput:\n%s\nAfter:\n%s", g.files[g.id], text, out, e.explain(t, g))
		}
	}
}

// engineOwned are pushes of keys that the engine or a probe writes.
var engineOwned = regexp.MustCompile(`sensor (set|delete) .*( run/| probed)`)

// commandLine is a line of an explanation that can be run.
var commandLine = regexp.MustCompile(`(?m)^      ((?:interlock|printf) .*)$`)

func commandsOf(text string) []string {
	var commands []string
	for _, found := range commandLine.FindAllStringSubmatch(text, -1) {
		commands = append(commands, found[1])
	}
	return commands
}

func (e *explainedGates) explain(t *testing.T, g *drawnGate) string {
	t.Helper()
	got := call{args: []string{"explain", g.id, "--date", g.date}, env: map[string]string{"INTERLOCK_SERVER": e.url}}.run()
	if got.code != 0 {
		t.Fatalf("explain: %s%s", got.stdout, got.stderr)
	}
	return got.stdout
}

// prepare stores the readings of a gate and opens its run, if it is to wait.
func (e *explainedGates) prepare(t *testing.T, g *drawnGate) {
	t.Helper()
	for _, r := range g.readings {
		if _, err := e.api.PutSensor(t.Context(), r.pipeline, r.key, r.fields); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range g.reach {
		until(t, id+" is "+string(want), func() bool { return e.status(t.Context(), id, g.date) == want })
	}
	if strings.HasPrefix(g.opening, "upstream") {
		return
	}
	asked := client.Asked{RequestedBy: "ada", Reason: "test"}
	q := client.TriggerRequest{Pipeline: g.id, Date: g.date, Asked: asked}
	switch g.opening {
	case "waiting", "cancelled", "failed":
		q.BypassGate = g.opening == "failed"
		if _, err := e.api.Trigger(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	case "paused":
		if _, err := e.api.Pause(t.Context(), g.id, client.PauseRequest{Asked: asked}); err != nil {
			t.Fatal(err)
		}
	}
	if g.opening == "failed" {
		until(t, g.id+" fails", func() bool { return e.status(t.Context(), g.id, g.date) == client.FailedFinal })
	}
	if g.opening == "cancelled" && !e.started(t.Context(), g) {
		_, _ = e.api.Cancel(t.Context(), e.key(t, g), asked) // it may have started meanwhile
	}
}

func (e *explainedGates) key(t *testing.T, g *drawnGate) client.RunKey {
	t.Helper()
	page, err := e.api.Runs(t.Context(), client.RunQuery{Pipeline: g.id, Date: g.date})
	if err != nil || len(page.Items) == 0 {
		t.Fatalf("there is no run: %v", err)
	}
	return page.Items[0].Key()
}

// status returns the status of the run of a period; "" without one.
func (e *explainedGates) status(ctx context.Context, id, date string) client.Status {
	page, err := e.api.Runs(ctx, client.RunQuery{Pipeline: id, Date: date})
	if err != nil || len(page.Items) == 0 {
		return ""
	}
	return page.Items[0].Status
}

// started reports whether the run of a gate has started, if it failed before: started again.
func (e *explainedGates) started(ctx context.Context, g *drawnGate) bool {
	page, err := e.api.Runs(ctx, client.RunQuery{Pipeline: g.id, Date: g.date})
	if err != nil || len(page.Items) == 0 {
		return false
	}
	switch r := page.Items[0]; r.Status {
	case client.Running, client.Triggering, client.Completed, client.Failed:
		return true
	default:
		return r.Status == client.FailedFinal && r.Attempt > 1
	}
}
