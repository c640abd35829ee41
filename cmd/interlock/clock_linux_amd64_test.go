package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// falseClock replaces clock_gettime in the vDSO of one process, which is where Go reads the time: the
// process calls the kernel and adds the eight bytes that follow the code to CLOCK_REALTIME. As on a
// machine whose clock is set, the monotonic clock and the clocks of other processes stay right.
var falseClock = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228 (clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi (CLOCK_REALTIME is 0)
	0x75, 0x0a, // jne ret
	0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov rcx, [rip+6]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3,       // ret
	0x90, 0x90, // the seconds are aligned
}

// machineClock is the wall clock of a controller.
type machineClock struct {
	t       *testing.T
	memory  *os.File
	seconds int64 // their address
}

// set moves the clock ahead of the real one, or behind it.
func (c *machineClock) set(ahead time.Duration) {
	c.t.Helper()
	seconds := binary.LittleEndian.AppendUint64(nil, uint64(ahead/time.Second))
	if _, err := c.memory.WriteAt(seconds, c.seconds); err != nil {
		c.t.Fatal(err)
	}
}

// startWithClock starts a controller whose clock the test can set.
func (g *ground) startWithClock() (*daemon, *machineClock) {
	g.Helper()
	runtime.LockOSThread() // only the thread that started a traced process can let it continue
	defer runtime.UnlockOSThread()
	g.attributes = &syscall.SysProcAttr{Ptrace: true}
	d := g.launch()
	g.attributes = nil
	pid := d.cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		g.Fatalf("the traced controller: %v %v", status, err)
	}
	c := &machineClock{t: g.T}
	c.replace(pid)
	if err := syscall.PtraceDetach(pid); err != nil {
		g.Fatal(err)
	}
	if !d.ready() {
		g.Fatalf("the controller exited:\n%s", d.said())
	}
	return d, c
}

// replace puts falseClock into a process that has not run its first instruction.
func (c *machineClock) replace(pid int) {
	c.t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	check := func() {
		if err != nil {
			c.t.Helper()
			c.t.Fatal(err)
		}
	}
	check()
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &from, &to)
			check()
		}
	}
	c.memory, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	check()
	c.t.Cleanup(func() { c.memory.Close() })
	image := make([]byte, to-from)
	_, err = c.memory.ReadAt(image, from)
	check()
	vdso, err := elf.NewFile(bytes.NewReader(image))
	check()
	symbols, err := vdso.DynamicSymbols()
	check()
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && int(s.Size) >= len(falseClock)+8 {
			at := from + int64(s.Value)
			_, err = c.memory.WriteAt(append(bytes.Clone(falseClock), make([]byte, 8)...), at)
			check()
			c.seconds = at + int64(len(falseClock))
			return
		}
	}
	c.t.Fatalf("the vDSO has no clock_gettime that can be replaced: %v", symbols)
}

// aheads is how often the clock of TestClockThatJumpsByAnHourLosesAndDoublesNothing is set an hour ahead.
const aheads = 2

// jumping is a controller whose clock is set while it is busy, and what can be seen from outside.
type jumping struct {
	*daemon
	clock *machineClock
	held  client.RunKey // a worker has claimed it for the whole test
	claim client.Claim
	steps int

	mu       sync.Mutex
	called   map[string]int // http jobs, by idempotency key
	sent     strings.Builder
	followed map[string]int // events of the stream, by id
}

// TestClockThatJumpsByAnHourLosesAndDoublesNothing sets the clock of the real binary an hour ahead, an
// hour back, and again. Whatever the clock says, readings are stored, jobs start and end, a healthy
// worker keeps its attempt, and alerts are sent. Nothing starts twice, each fire is decided whenever the
// clock passes it, and a deadline has one outcome.
func TestClockThatJumpsByAnHourLosesAndDoublesNothing(t *testing.T) {
	j := &jumping{called: map[string]int{}, followed: map[string]int{}}
	target := httptest.NewServer(http.HandlerFunc(j.job))
	t.Cleanup(target.Close)
	hook := httptest.NewServer(http.HandlerFunc(j.alert))
	t.Cleanup(hook.Close)
	g := newGround(t, builtBinary(t), fmt.Sprintf("egress: {allow: [127.0.0.1]}\nwatchdog: {interval: 1s}\n"+
		"alerts: {webhooks: [{name: hook, url: %q}], default: {severity: info, sinks: [hook]}}\n", hook.URL))
	t.Parallel()
	job := fmt.Sprintf("job: {type: http, config: {url: %q, timeout: 30s}}\n", target.URL)
	g.pipeline("ticks", "schedule: {cron: '* * * * *', period: minute, evaluation: {window: 1s, interval: 1s}}\n")
	g.pipeline("loads", "schedule: {cron: '*/5 * * * *', period: minute}\n"+job)
	g.pipeline("orders", job)
	g.pipeline("held", "schedule: {trigger: {key: landed, check: exists}}\nsla: {maxDuration: 30m}\njob: {type: external, config: {heartbeat: 10m}, jobPollWindowSeconds: 86400}\n")
	j.daemon, j.clock = g.startWithClock()
	ctx, stop := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() { followed <- j.api.Follow(ctx, client.Following{Since: "24h"}, j.follow) }()
	j.work()
	last, corrections := time.Duration(0), 0
	for _, ahead := range []time.Duration{time.Hour, 0, -time.Hour, 0, time.Hour} {
		j.clock.set(ahead)
		j.work()
		j.firesAreHandled(time.Now().Add(ahead))
		if ahead == time.Hour {
			until(t, "the breach", func() bool { return j.told("RELATIVE_SLA_BREACH", "held") == 1 })
		}
		if ahead < last {
			corrections++
			until(t, "the correction", func() bool { return j.corrections() == corrections })
		}
		last = ahead
	}
	j.reported()
	j.all()
	stop()
	<-followed
	j.daemon.stop()
	j.daemon = g.start() // with the right clock
	j.work()
	j.once()
}

func (j *jumping) job(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the content does not matter
	j.mu.Lock()
	defer j.mu.Unlock()
	j.called[r.Header.Get("Idempotency-Key")]++
}

func (j *jumping) alert(_ http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body) // an incomplete alert names no event, so the error does not matter
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent.Write(text)
}

func (j *jumping) follow(e client.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.followed[e.ID]++
	return nil
}

// work does what clients do at any time: a reading replaces the last one, a run is started, runs its
// job and is reported, and a worker sends a heartbeat.
func (j *jumping) work() {
	j.Helper()
	j.steps++
	j.put("orders", "landed", map[string]any{"n": j.steps})
	if got, err := j.api.Sensor(j.Context(), "orders", "landed", ""); err != nil || fmt.Sprint(got.Data["n"]) != fmt.Sprint(j.steps) {
		j.Errorf("reading %d was acknowledged, and the server has %v: %v", j.steps, got.Data, err)
	}
	day := fmt.Sprintf("2026-03-%02d", j.steps)
	_, err := j.api.Trigger(j.Context(), client.TriggerRequest{Pipeline: "orders", Date: day})
	j.check(err)
	j.reaches("orders/manual/"+day, client.Completed)
	until(j.T, "the alert of "+day, func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return strings.Contains(j.sent.String(), day)
	})
	switch j.steps {
	case 1:
		j.put("held", "landed#"+day, map[string]any{"n": 1})
		j.held, err = client.ParseRunKey("held/stream/" + day)
		j.check(err)
		until(j.T, "the claim", func() bool {
			j.claim, err = j.api.Claim(j.Context(), j.held, "worker")
			return err == nil
		})
	case 7: // the worker has reported
	default:
		_, err = j.api.Heartbeat(j.Context(), j.held, "so far", client.Permit(j.claim.Permit))
		j.check(err)
	}
}

// corrections counts the alarms about a clock that was ahead.
func (j *jumping) corrections() (n int) {
	j.Helper()
	for _, e := range j.events() {
		if e.Type == "INFRA_ALARM" && strings.Contains(string(e.Raw), "the clock ran ahead") {
			n++
		}
	}
	return n
}

// fires returns how many runs and reports of a missed fire each period has.
func (j *jumping) fires() (runs, missed map[string]int) {
	j.Helper()
	runs, missed = map[string]int{}, map[string]int{}
	for key := range j.runs() {
		if id, date, found := strings.Cut(key, "/cron/"); found {
			runs[id+" "+date]++
		}
	}
	for _, e := range j.events() {
		if e.Type == "SCHEDULE_MISSED" {
			for _, date := range missedDates(j.T, e) {
				missed[e.Detail.Pipeline+" "+date]++
			}
		}
	}
	return runs, missed
}

// firesAreHandled waits until each fire since the pipelines were accepted has a run or a report.
func (j *jumping) firesAreHandled(now time.Time) {
	j.Helper()
	until(j.T, "the end of every fire", func() bool {
		runs, missed := j.fires()
		for id, every := range map[string]time.Duration{"ticks": time.Minute, "loads": 5 * time.Minute} {
			for at := j.accepted(id).Truncate(every).Add(every); at.Before(now); at = at.Add(every) {
				if date := id + " " + at.UTC().Format("2006-01-02T15:04"); runs[date]+missed[date] == 0 {
					return false
				}
			}
		}
		return true
	})
}

// accepted returns when a pipeline was accepted.
func (j *jumping) accepted(id string) (at time.Time) {
	j.Helper()
	for _, e := range j.events() {
		if e.Type == "CONFIG_ACCEPTED" && e.Detail.Pipeline == id {
			at = e.Time
		}
	}
	return at
}

// reported reports the result of the worker that was there all the time.
func (j *jumping) reported() {
	j.Helper()
	_, err := j.api.Report(j.Context(), j.held, client.JobReport{Result: "success"}, client.Permit(j.claim.Permit))
	j.check(err)
	if r := j.reaches(j.held.String(), client.Completed); len(r.Attempts) != 1 {
		j.Errorf("the worker lost its attempt: %+v", r)
	}
}

// all waits until the follower has every event, and checks that it has none twice.
func (j *jumping) all() {
	j.Helper()
	until(j.T, "the follower to get all events", func() bool {
		events := j.events()
		j.mu.Lock()
		defer j.mu.Unlock()
		return len(events) == len(j.followed)
	})
	for id, n := range j.followed {
		if n != 1 {
			j.Errorf("event %s was sent %d times", id, n)
		}
	}
}

// once checks that no job was started twice, and that no fire was reported as missed more often than the
// clock has passed it: a correction makes what was ahead a future fire again.
func (j *jumping) once() {
	j.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for key, n := range j.called {
		if n != 1 {
			j.Errorf("job %s was started %d times", key, n)
		}
	}
	_, missed := j.fires()
	for date, n := range missed {
		if n > aheads {
			j.Errorf("the fire of %s was reported as missed %d times", date, n)
		}
	}
	if n := j.told("RELATIVE_SLA_BREACH", "held"); n != 1 || len(missed) == 0 || len(j.called) < 12 {
		j.Errorf("%d breaches, %d missed fires, %d jobs", n, len(missed), len(j.called))
	}
}
