//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// TestReplicasKilledAndStoppedAtAnyInstant runs three replicas on one Redis. Repeatedly one of them
// is killed and restarted, or is suspended and resumes later; in between, Redis is killed. No
// acknowledged write is lost, no attempt starts twice, every acknowledged period is COMPLETED in
// the end, and each deadline and each fire has exactly one outcome.
func TestReplicasKilledAndStoppedAtAnyInstant(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	server := redistest.Start(t)
	f := &fleet{killing: newKilling(t, 11, 3, "store: "+server.URL()+"\n"), server: server}
	t.Parallel()
	for _, g := range f.all {
		f.daemons = append(f.daemons, g.start())
	}
	for round := range rounds {
		f.round(round, round == rounds/2)
	}
	f.goesOnWithout(2)
	for i, d := range f.daemons {
		f.wake(d)
		until(t, fmt.Sprintf("replica %d is ready", i), func() bool {
			_, err := d.api.Ready(t.Context())
			return err == nil
		})
	}
	f.checkAll(f.daemons[0])
}

// fleet is several replicas, some of them in trouble.
type fleet struct {
	*killing
	server  *redistest.Server
	daemons []*daemon
	asleep  *daemon // suspended in the previous round
}

// round writes to all replicas while one of them, or Redis, is in trouble.
func (f *fleet) round(n int, restart bool) {
	f.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for _, d := range f.daemons {
		for id, most := range map[string]int{"commands": 2, "requests": 1, "waits": 1} {
			writers.Go(func() { f.write(ctx, d, id, most) })
		}
	}
	i := f.random(len(f.daemons))
	victim := f.daemons[i]
	f.after(f.random(400), victim.ended)
	switch {
	case restart:
		f.check(f.server.Kill())
		f.after(f.random(300), victim.ended)
		f.check(f.server.Again())
	case n%2 == 0 && f.asleep == nil:
		f.check(victim.cmd.Process.Signal(syscall.SIGSTOP))
		f.asleep = victim
	default:
		if victim == f.asleep {
			f.asleep = nil
		}
		victim.kill()
		f.daemons[i] = f.all[i].start()
		if f.asleep != nil {
			f.wake(f.asleep)
		}
	}
	f.after(f.random(400), f.daemons[i].ended)
	cancel()
	writers.Wait()
}

// goesOnWithout suspends a busy replica, and waits until the others have done everything except its
// commands.
func (f *fleet) goesOnWithout(i int) {
	f.Helper()
	sleeper, awake := f.daemons[i], f.daemons[(i+1)%len(f.daemons)]
	if f.asleep != nil {
		f.wake(f.asleep)
	}
	f.write(f.Context(), sleeper, "requests", 5)
	f.check(sleeper.cmd.Process.Signal(syscall.SIGSTOP))
	f.write(f.Context(), awake, "requests", 2)
	until(f.T, "the end of all requests", func() bool { return f.decide(awake, "requests") })
}

// wake resumes a suspended replica.
func (f *fleet) wake(d *daemon) {
	f.Helper()
	f.check(d.cmd.Process.Signal(syscall.SIGCONT))
	if d == f.asleep {
		f.asleep = nil
	}
}

func (g *ground) check(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// replicas returns that many grounds on one Redis.
func replicas(t *testing.T, n int, config string) (*redistest.Server, []*ground) {
	t.Helper()
	server := redistest.Start(t)
	var all []*ground
	for range n {
		all = append(all, newGround(t, builtBinary(t), "store: "+server.URL()+"\n"+config))
	}
	return server, all
}

// TestWorkOfADeadReplicaIsTakenOver kills the replica that delivers alerts and runs the watchdog.
// Its leases would last for an hour.
func TestWorkOfADeadReplicaIsTakenOver(t *testing.T) {
	alerts, beats := make(chan string, 1000), make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/beat") {
			beats <- r.URL.Path
		} else {
			text, _ := io.ReadAll(r.Body) // an incomplete alert names no run, so the error does not matter
			alerts <- r.URL.Path + " " + string(text)
		}
	}))
	defer server.Close()
	_, all := replicas(t, 2, "egress: {allow: [127.0.0.1]}\nengine: {lease: 1h}\n")
	t.Parallel()
	var daemons []*daemon
	for i, g := range all {
		g.pipeline("orders", prompt)
		text, err := os.ReadFile(g.path("interlock.yaml"))
		g.check(err)
		g.write("interlock.yaml", fmt.Sprintf("%swatchdog: {interval: 1s, heartbeatURL: %q}\n"+
			"alerts: {webhooks: [{name: hook, url: %q}], routes: [{severity: info, sinks: [hook]}]}\n", text, fmt.Sprintf("%s/beat/%d", server.URL, i), fmt.Sprintf("%s/alert/%d", server.URL, i)))
		daemons = append(daemons, g.start())
		for len(beats) > 0 { // of before this replica was up
			<-beats
		}
		for range 2 {
			if got := next(t, beats); got != "/beat/0" {
				t.Errorf("want the watchdog of the first replica, got %s", got)
			}
		}
	}
	daemons[1].put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	daemons[1].reaches("orders/stream/2026-03-03", client.Completed)
	for got := ""; !strings.Contains(got, "JOB_COMPLETED"); {
		if got = next(t, alerts); !strings.HasPrefix(got, "/alert/0 ") {
			t.Errorf("want an alert from the first replica, got %s", got)
		}
	}
	daemons[0].kill()
	daemons[1].put("orders", "landed#2026-03-04", map[string]any{"n": 1})
	until(t, "the watchdog of the other replica", func() bool { return next(t, beats) == "/beat/1" })
	until(t, "the alerts of the other replica", func() bool { return strings.HasPrefix(next(t, alerts), "/alert/1 ") })
	daemons[1].reaches("orders/stream/2026-03-04", client.Completed)
}

// next returns the next message.
func next(t *testing.T, heard <-chan string) string {
	t.Helper()
	select {
	case what := <-heard:
		return what
	case <-time.After(patience):
		t.Fatal("timed out waiting for a message")
		return ""
	}
}

// TestReplicaThatWakesUpChangesNothing suspends a replica in the middle of a start call. Another
// replica holds the start, an operator decides, and then the first replica resumes with an answer.
func TestReplicaThatWakesUpChangesNothing(t *testing.T) {
	asked, answer := make(chan string, 10), make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Idempotency-Key")
		<-answer
	}))
	defer target.Close()
	_, all := replicas(t, 2, "egress: {allow: [127.0.0.1]}\nengine: {lease: 1s}\n")
	t.Parallel()
	a, b := all[0], all[1]
	for _, g := range all {
		g.pipeline("request", "schedule: {trigger: {key: landed, check: exists}}\n"+
			fmt.Sprintf("job: {type: http, config: {url: %q, timeout: 1s}}\n", target.URL))
	}
	sleeper := a.start()
	sleeper.put("request", "landed#2026-03-03", map[string]any{"n": 1})
	if got := next(t, asked); got != "request/stream/2026-03-03/1" {
		t.Fatalf("unexpected request for %s", got)
	}
	a.check(sleeper.cmd.Process.Signal(syscall.SIGSTOP))
	awake := b.start()
	key := client.RunKey{Pipeline: "request", Schedule: "stream", Date: "2026-03-03"}
	until(t, "the start is held by the other replica", func() bool {
		r, err := awake.api.Run(t.Context(), key)
		return err == nil && r.Held != nil
	})
	if _, err := awake.api.Report(t.Context(), key, client.JobReport{Result: "success", Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	before := awake.reaches("request/stream/2026-03-03", client.Completed)
	close(answer)
	a.check(sleeper.cmd.Process.Signal(syscall.SIGCONT))
	until(t, "the replica works again", func() bool {
		_, err := sleeper.api.Ready(t.Context())
		return err == nil
	})
	sleeper.put("request", "landed#2026-03-04", map[string]any{"n": 1})
	sleeper.reaches("request/stream/2026-03-04", client.Completed)
	after := awake.reaches("request/stream/2026-03-03", client.Completed)
	if after.Attempt != 1 || !after.UpdatedAt.Equal(*before.UpdatedAt) {
		t.Errorf("the run changed after it had ended: attempt %d, updated %s, before %s", after.Attempt, after.UpdatedAt, before.UpdatedAt)
	}
	if n := len(asked); n != 1 { // for the second period
		t.Errorf("the jobs got %d more requests, want 1", n)
	}
}

// TestCommandStaysWithItsReplica kills a replica while its command runs. The other replica must
// leave the command alone, and the restarted replica must find it again.
func TestCommandStaysWithItsReplica(t *testing.T) {
	_, all := replicas(t, 2, "engine: {lease: 1s}\n")
	t.Parallel()
	script := fmt.Sprintf("echo started >> %s; until [ -e %s ]; do sleep 0.05; done", all[0].path("started"), all[0].path("go"))
	for _, g := range all {
		g.pipeline("command", "schedule: {trigger: {key: landed, check: exists}}\n"+
			fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s}\n", script))
	}
	first := all[0].start()
	first.put("command", "landed#2026-03-03", map[string]any{"n": 1})
	first.reaches("command/stream/2026-03-03", client.Running)
	other := all[1].start()
	first.kill()
	first = all[0].start()
	all[0].write("go", "")
	other.reaches("command/stream/2026-03-03", client.Completed)
	if text, err := os.ReadFile(all[0].path("started")); err != nil || string(text) != "started\n" {
		t.Errorf("the command was not started exactly once: %q, %v", text, err)
	}
	if err := os.Remove(all[0].path("go")); err != nil {
		t.Fatal(err)
	}
	first.put("command", "landed#2026-03-04", map[string]any{"n": 1})
	until(t, "the other replica shows the running command", func() bool {
		r, err := other.api.Run(t.Context(), client.RunKey{Pipeline: "command", Schedule: "stream", Date: "2026-03-04"})
		return err == nil && r.Status == client.Running
	})
	owner, stranger := first, other
	if _, there := all[1].keepers()["command/stream/2026-03-04/1"]; there {
		owner, stranger = other, first
	}
	if _, err := stranger.api.Cancel(t.Context(), client.RunKey{Pipeline: "command", Schedule: "stream", Date: "2026-03-04"}, client.Asked{Reason: "wrong day"}); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of a command that another replica has cancelled", func() bool { return len(owner.keepers()) == 0 })
	first.stop()
}

// TestReplicaSaysThatItsFilesDiffer edits the file of one replica only.
func TestReplicaSaysThatItsFilesDiffer(t *testing.T) {
	_, all := replicas(t, 2, "")
	t.Parallel()
	for _, g := range all {
		g.pipeline("orders", prompt)
	}
	a, b := all[0].start(), all[1].start()
	says := func(d *daemon, want string) bool {
		h, err := d.api.Ready(t.Context())
		for _, c := range h.Checks {
			if c.Name == "file of orders" {
				return strings.Contains(c.Detail, want)
			}
		}
		return err == nil && want == ""
	}
	all[0].pipeline("orders", prompt+"sla: {maxDuration: 1h}\n")
	until(t, "the other replica says that its file differs", func() bool { return says(b, "another replica stored") })
	until(t, "the replica with the changed file reports no difference", func() bool { return says(a, "") })
	if n := a.told("CONFIG_ACCEPTED", "orders"); n != 2 {
		t.Errorf("%d versions were accepted, want 2", n)
	}
	b.stop()
	b = all[1].start() // it remembers the state of its files
	until(t, "it still says so", func() bool { return says(b, "another replica stored") })
	all[1].pipeline("orders", prompt+"sla: {maxDuration: 1h}\n")
	until(t, "the files are the same again", func() bool { return says(a, "") && says(b, "") })
	if n := b.told("CONFIG_ACCEPTED", "orders"); n != 2 {
		t.Errorf("%d versions were accepted, want 2", n)
	}
}
