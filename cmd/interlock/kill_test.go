//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

// TestKilledAtAnyInstant repeatedly kills the controller while it is busy, and restarts it. No
// acknowledged write is lost, no attempt starts twice, every acknowledged period is COMPLETED in
// the end, and each deadline and each fire has exactly one outcome.
func TestKilledAtAnyInstant(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	k := newKilling(t, 7, 1, "")
	t.Parallel()
	for round := range rounds {
		k.round(round)
	}
	k.finish()
}

// killing writes readings, and records what can be seen from outside.
type killing struct {
	*ground
	all  []*ground
	rand *rand.Rand

	mu     sync.Mutex
	next   int                 // the next unused period
	acked  map[string][]string // the dates of acknowledged writes, by pipeline
	count  int                 // the last acknowledged number
	called map[string]int      // http jobs, by idempotency key
}

// newKilling sets up that many identical grounds.
func newKilling(t *testing.T, seed uint64, grounds int, config string) *killing {
	k := &killing{rand: rand.New(rand.NewPCG(seed, seed)), acked: map[string][]string{}, called: map[string]int{}}
	target := httptest.NewServer(http.HandlerFunc(k.job))
	t.Cleanup(target.Close)
	for range grounds {
		k.all = append(k.all, newGround(t, builtBinary(t),
			"egress: {allow: [127.0.0.1]}\nengine: {lease: 4s, triggerBackoff: 1s}\nwatchdog: {interval: 1s}\n"+config))
	}
	k.ground = k.all[0]
	for _, g := range k.all {
		k.furnish(g, target.URL)
	}
	return k
}

func (k *killing) furnish(g *ground, target string) {
	k.Helper()
	start := "schedule: {trigger: {key: landed, check: exists}, period: minute}\n"
	// The first attempt of a period whose name ends in 5 fails.
	script := fmt.Sprintf(`echo "$INTERLOCK_RUN_ID" >> %s; sleep 0.05; case "$INTERLOCK_RUN_ID" in *5/1) exit 75;; esac`, k.path("started"))
	g.pipeline("commands", start+"sla: {maxDuration: 10m}\n"+
		fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s, maxRetries: 2, retryBackoff: 1s}\n", script))
	g.pipeline("requests", start+
		fmt.Sprintf("job: {type: http, config: {url: %q, timeout: 5s}, maxRetries: 2, retryBackoff: 1s}\n", target))
	g.pipeline("waits", start+"sla: {maxDuration: 2s}\nvalidation: {rules: [{key: never, check: exists}]}\n")
	g.pipeline("ticks", "schedule: {cron: '* * * * *', period: minute, evaluation: {window: 1s, interval: 1s}}\n")
	g.pipeline("counts", "")
}

// job handles an http job, which takes a while.
func (k *killing) job(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the content does not matter
	k.mu.Lock()
	k.called[r.Header.Get("Idempotency-Key")]++
	wait := time.Duration(k.rand.IntN(50)) * time.Millisecond
	k.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
	}
}

func (k *killing) random(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rand.IntN(n)
}

// round starts and kills a controller. Sometimes it kills it before it listens.
func (k *killing) round(n int) {
	k.Helper()
	d := k.launch()
	if n%5 == 4 {
		k.after(k.random(300), d.ended)
		d.kill()
		return
	}
	if !d.ready() {
		k.Fatalf("round %d: the controller did not start:\n%s", n, d.said())
	}
	k.checkCount(d)
	ctx, cancel := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for id, most := range map[string]int{"commands": 6, "requests": 4, "waits": 2} {
		writers.Go(func() { k.write(ctx, d, id, most) })
	}
	writers.Go(func() { k.countUp(ctx, d) })
	k.after(k.random(900), d.ended)
	d.kill()
	cancel()
	writers.Wait()
}

// after waits for some milliseconds, so that the controller is killed at a random instant.
func (k *killing) after(milliseconds int, ended <-chan struct{}) {
	select {
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
	case <-ended:
		k.Error("the controller exited by itself")
	}
}

// write opens periods, each with one write, until the controller is gone.
func (k *killing) write(ctx context.Context, d *daemon, id string, most int) {
	for range most {
		k.mu.Lock()
		date := time.Date(2020, 1, 1, 0, k.next, 0, 0, time.UTC).Format("2006-01-02T15:04")
		k.next++
		k.mu.Unlock()
		if _, err := d.api.PutSensor(ctx, id, "landed#"+date, map[string]any{"n": 1}); err != nil {
			return
		}
		k.mu.Lock()
		k.acked[id] = append(k.acked[id], date)
		k.mu.Unlock()
	}
}

// countUp writes increasing numbers to one sensor.
func (k *killing) countUp(ctx context.Context, d *daemon) {
	for n := k.count + 1; ; n++ {
		if _, err := d.api.PutSensor(ctx, "counts", "n", map[string]any{"n": n}); err != nil {
			return
		}
		k.count = n
	}
}

// checkCount reads back the last acknowledged number. One more may have been written but not
// acknowledged.
func (k *killing) checkCount(d *daemon) {
	k.Helper()
	if k.count == 0 {
		return
	}
	got, err := d.api.Sensor(k.Context(), "counts", "n", "")
	if err != nil {
		k.Fatal(err)
	}
	n, err := strconv.Atoi(fmt.Sprint(got.Data["n"]))
	if err != nil || n != k.count && n != k.count+1 {
		k.Errorf("%d was acknowledged, but the store has %v", k.count, got.Data)
	}
	k.count = n
}

// finish starts the controller a last time, waits until everything has ended, and checks the
// results.
func (k *killing) finish() {
	k.Helper()
	d := k.start()
	k.checkCount(d)
	k.checkAll(d)
}

func (k *killing) checkAll(d *daemon) {
	k.Helper()
	until(k.T, "the end of all acknowledged periods", func() bool { return k.decide(d, "commands", "requests") })
	until(k.T, "the end of all deadlines", func() bool {
		page, err := d.api.Deadlines(k.Context(), client.DeadlineQuery{Pipeline: "waits"})
		return err == nil && len(page.Items) == 0
	})
	k.checkStarts(d)
	k.checkEnds(d)
	k.checkTicks(d)
	if n := len(k.acked["commands"]); n < 10 && !testing.Short() {
		k.Errorf("only %d periods were acknowledged: too few to test anything", n)
	}
}

// decide reports whether all periods of these pipelines are done. It also acts as the operator for
// held starts: only the target knows whether the job started.
func (k *killing) decide(d *daemon, ids ...string) bool {
	k.Helper()
	done := true
	runs := d.runs()
	for _, id := range ids {
		for _, date := range k.acked[id] {
			r, there := runs[id+"/stream/"+date]
			done = done && there && r.Status == client.Completed
			if r.Held == nil {
				continue
			}
			report := client.JobReport{Result: "fail", Category: "TRANSIENT", Message: "it never arrived"}
			k.mu.Lock()
			if k.called[fmt.Sprintf("%s/%d", r.Key(), r.Attempt)] > 0 {
				report = client.JobReport{Result: "success"}
			}
			k.mu.Unlock()
			report.Attempt = r.Attempt // otherwise the report could apply to the next attempt, opened meanwhile
			if _, err := d.api.Report(k.Context(), r.Key(), report); err != nil {
				k.Fatal(err)
			}
		}
	}
	return done
}

// checkStarts checks that no attempt was started twice, and that every COMPLETED run was started.
func (k *killing) checkStarts(d *daemon) {
	k.Helper()
	started := map[string]int{}
	text, err := os.ReadFile(k.path("started"))
	if err != nil {
		k.Fatal(err)
	}
	for _, id := range strings.Fields(string(text)) {
		started[id]++
	}
	for id, n := range started {
		if n != 1 {
			k.Errorf("command %s was started %d times", id, n)
		}
	}
	for id, n := range k.called {
		if n != 1 {
			k.Errorf("request %s was sent %d times", id, n)
		}
	}
	runs := d.runs()
	for _, date := range k.acked["commands"] {
		r := runs["commands/stream/"+date]
		if started[fmt.Sprintf("%s/%d", r.Key(), r.Attempt)] != 1 {
			k.Errorf("%s is %s in attempt %d, but its job was never started", r.Key(), r.Status, r.Attempt)
		}
	}
}

// checkEnds checks that each deadline of an acknowledged period has exactly one outcome, with one
// event.
func (k *killing) checkEnds(d *daemon) {
	k.Helper()
	told := map[string]int{}
	for _, e := range d.events() {
		told[fmt.Sprintf("%s %s/%s", e.Type, e.Detail.Pipeline, e.Detail.Date)]++
		switch e.Type {
		case "TRIGGER_STARTED", "JOB_TRIGGERED", "JOB_COMPLETED":
			told[fmt.Sprintf("%s %s/%s/%d", e.Type, e.Detail.Pipeline, e.Detail.Date, e.Detail.Attempt)]++
		}
	}
	for id, ends := range map[string][]string{"commands": {"SLA_MET", "JOB_COMPLETED"}, "requests": {"JOB_COMPLETED"}, "waits": {"RELATIVE_SLA_BREACH"}} {
		for _, date := range k.acked[id] {
			for _, kind := range ends {
				if n := told[fmt.Sprintf("%s %s/%s", kind, id, date)]; n != 1 {
					k.Errorf("%s of %s %s was reported %d times", kind, id, date, n)
				}
			}
		}
	}
	for what, n := range told {
		warning := strings.HasPrefix(what, "RELATIVE_SLA_WARNING") // no warning if the controller was down before the breach
		if (warning || strings.Count(what, "/") == 2) && n != 1 {
			k.Errorf("%s was reported %d times", what, n)
		}
	}
}

// checkTicks checks that every past minute has either a run or one event for the missed fire, not
// both.
func (k *killing) checkTicks(d *daemon) {
	k.Helper()
	now := time.Now()
	until(k.T, "the end of every fire", func() bool {
		runs, missed, accepted := k.ticks(d)
		for at := accepted.Truncate(time.Minute).Add(time.Minute); at.Before(now); at = at.Add(time.Minute) {
			date := at.UTC().Format("2006-01-02T15:04")
			_, opened := runs["ticks/cron/"+date]
			switch {
			case !opened && missed[date] == 0:
				return false
			case opened && missed[date] != 0, missed[date] > 1:
				k.Errorf("the fire of %s: has a run: %v; was reported as missed %d times", date, opened, missed[date])
			}
		}
		return true
	})
}

// ticks returns the outcomes of the fires: the runs, the number of missed events per fire, and when
// the pipeline was accepted.
func (k *killing) ticks(d *daemon) (runs map[string]client.Run, missed map[string]int, accepted time.Time) {
	k.Helper()
	missed = map[string]int{}
	for _, e := range d.events() {
		switch {
		case e.Type == "CONFIG_ACCEPTED" && e.Detail.Pipeline == "ticks":
			accepted = e.Time
		case e.Type == "SCHEDULE_MISSED":
			for _, date := range missedDates(k.T, e) {
				missed[date]++
			}
		}
	}
	return d.runs(), missed, accepted
}

func missedDates(t *testing.T, e client.Event) []string {
	t.Helper()
	var missed struct{ Detail struct{ Dates []string } }
	if err := json.Unmarshal(e.Raw, &missed); err != nil {
		t.Fatal(err)
	}
	return missed.Detail.Dates
}

// TestFireMissedInADowntimeIsReportedOnce makes a controller believe that it was down for ten
// minutes, and restarts it to check that it does not report the missed fires again.
func TestFireMissedInADowntimeIsReportedOnce(t *testing.T) {
	g := newGround(t, builtBinary(t), "watchdog: {interval: 1s}\n")
	t.Parallel()
	g.pipeline("ticks", "schedule: {cron: '* * * * *', period: minute, evaluation: {window: 2m, interval: 1m}}\njob: {type: command, config: {command: 'true'}}\n")
	g.start().kill()
	away := g.turnBack("ticks", 10*time.Minute)
	var missed []string
	for round := range 4 {
		d := g.start()
		until(t, "the fires that were missed", func() bool { return d.told("SCHEDULE_MISSED", "ticks") > 0 })
		until(t, "the fires whose window is open", func() bool { return len(d.runs()) > 0 })
		missed = nil
		for _, e := range d.events() {
			if e.Type == "SCHEDULE_MISSED" {
				missed = append(missed, missedDates(t, e)...)
			}
		}
		for date := range d.runs() {
			if slices.Contains(missed, strings.TrimPrefix(date, "ticks/cron/")) {
				t.Errorf("%s has a run and was reported as missed", date)
			}
		}
		if round%2 == 0 {
			d.kill()
		} else {
			d.stop()
		}
	}
	slices.Sort(missed)
	if n := len(slices.Compact(slices.Clone(missed))); n != len(missed) || n < 7 {
		t.Errorf("down since %s, reported as missed: %v", away.Format(time.TimeOnly), missed)
	}
}

// turnBack makes a pipeline look as if no fire had been handled for that long.
func (g *ground) turnBack(id string, d time.Duration) time.Time {
	g.Helper()
	s, err := sqlite.Open(g.Context(), g.path("data"), sqlite.Options{})
	if err != nil {
		g.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			g.Error(err)
		}
	}()
	rows, err := s.Pipelines(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(p store.Pipeline) bool { return string(p.ID) == id })
	next := rows[i]
	for _, at := range []*time.Time{&next.Horizon, &next.AcceptedAt, &next.FiredThrough} {
		*at = at.Add(-d)
	}
	b := store.Batch{ID: "turn back"}
	b.SwapPipeline(rows[i], next)
	if err := s.Commit(g.Context(), b, time.Now()); err != nil {
		g.Fatal(err)
	}
	return next.FiredThrough
}

// stop ends the controller with SIGTERM, as a service manager does.
func (d *daemon) stop() {
	d.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.Fatal(err)
	}
	if code := d.exit(); code != 0 {
		d.Errorf("exit code %d:\n%s", code, d.said())
	}
}

// TestKilledKeeperMeansALostAttempt kills the process between controller and command, which alone
// knows the command's result. The attempt must fail, its remaining processes must be ended, and the
// next attempt must start.
func TestKilledKeeperMeansALostAttempt(t *testing.T) {
	g := newGround(t, builtBinary(t), "")
	t.Parallel()
	script := fmt.Sprintf(`echo $$ > %s.$INTERLOCK_ATTEMPT; [ $INTERLOCK_ATTEMPT = 2 ] || exec sleep 600`, g.path("process"))
	g.pipeline("orders", "schedule: {trigger: {key: landed, check: exists}}\n"+
		fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s, maxRetries: 1, retryBackoff: 1s}\n", script))
	d := g.start()
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Running)
	var first int
	until(t, "the command's own process", func() bool {
		text, err := os.ReadFile(g.path("process.1"))
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(text), &first)
		return err == nil
	})
	keeper := g.keepers()["orders/stream/2026-03-03/1"]
	if keeper == 0 {
		t.Fatal("the attempt has no keeper")
	}
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := d.reaches("orders/stream/2026-03-03", client.Completed)
	if r.Attempt != 2 {
		t.Errorf("attempt %d", r.Attempt)
	}
	lost := slices.IndexFunc(r.JobLog, func(e client.JobEntry) bool { return e.Attempt == 1 && e.Event == "fail" })
	if lost < 0 || *r.JobLog[lost].Category != "TRANSIENT" || !strings.Contains(*r.JobLog[lost].Message, "lost") {
		t.Errorf("the first attempt: %+v", r.JobLog)
	}
	until(t, "the end of the lost command", func() bool { return gone(first) })
}
