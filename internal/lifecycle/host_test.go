package lifecycle_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	maxLate    = 40 * time.Minute // how late a host may take a step
	maxWakes   = 5
	maxSlots   = 4 // how often an attempt finds no free slot
	maxFurther = 3 // further attempts after failures
)

// host simulates a platform: it takes the steps that Next returns, late and with random outcomes.
type host struct {
	t        *rapid.T
	r        run.Run
	now      time.Time
	verdict  time.Time // time of the last open verdict that no start has consumed
	wakes    int
	slots    int
	further  int
	steps    int
	standing time.Duration // time spent waiting for slots in this attempt
}

func (h *host) chance(percent int, what string) bool {
	return rapid.IntRange(1, 100).Draw(h.t, what) <= percent
}

func (h *host) set(r run.Run, err error) {
	if err != nil {
		h.t.Fatalf("at %s in %s: %v", h.now, h.r.Status, err)
	}
	h.r = r
}

// take calls Next, checks the step against the laws and takes it. It returns false at the end.
func (h *host) take() bool {
	step := lifecycle.Next(h.r, h.now)
	lawful(h.t, h.r, h.now, step)
	h.bounded(step)
	switch step.Kind {
	case lifecycle.None:
		if h.r.Status != run.Failed {
			return false
		}
		h.happen() // the router handles it
	case lifecycle.Wait:
		h.wait(step)
	case lifecycle.Evaluate:
		h.evaluate()
	case lifecycle.Trigger:
		h.trigger()
	case lifecycle.CheckJob:
		h.checkJob()
	case lifecycle.ValidationExhausted:
		h.set(h.r.Exhausted(step.Reason, run.NothingLeft, h.now))
	case lifecycle.JobPollExhausted:
		h.set(h.r.PollExhausted(run.JobMayRun, h.now))
	case lifecycle.CompleteTrigger:
		if h.r.Status == run.JobPollExhausted {
			h.set(h.r.GiveUp(step.Reason, h.now))
		} else {
			h.set(h.r.Complete(h.now))
		}
	case lifecycle.InfraFailure:
		h.set(h.r.TimeOut(run.JobMayRun, h.now))
	default:
		h.t.Fatalf("unknown step %q", step.Kind)
	}
	if h.chance(10, "slow") {
		h.now = h.now.Add(time.Duration(rapid.IntRange(0, int(maxLate/time.Second)).Draw(h.t, "late")) * time.Second)
	}
	return true
}

// bounded checks that the attempt is within its limits: of time, apart from the host's lateness,
// and of steps.
func (h *host) bounded(step lifecycle.Step) {
	p := h.r.Progress
	waiting := !p.WaitingSince.IsZero()
	if h.r.Status.Open() && !waiting && h.now.After(p.LimitAt.Add(3*maxLate)) {
		h.t.Fatalf("%s asks for %s at %s, limit was %s", h.r.Status, step.Kind, h.now, p.LimitAt)
	}
	if want := p.WindowStart.Add(p.Opening.Limits.TimeLimit() + h.standing); !waiting && !p.LimitAt.Equal(want) {
		h.t.Fatalf("the limit moved to %s, want %s", p.LimitAt, want)
	}
	l := p.Opening.Limits
	most := int(2*l.TimeLimit()/l.Interval) + 10*l.StartTries + 4*(maxWakes+maxSlots) + 50
	if l.PollInterval > 0 {
		most += int(2 * l.TimeLimit() / l.PollInterval)
	}
	if h.steps++; h.steps > most {
		h.t.Fatalf("%d steps in one attempt, now %s in %s", h.steps, step.Kind, h.r.Status)
	}
}

func (h *host) evaluate() {
	open := h.chance(30, "open")
	if since := h.r.Progress.WaitingSince; !open && !since.IsZero() {
		h.standing += h.now.Sub(since)
	}
	h.set(h.r.Evaluated(open, h.now))
	h.verdict = time.Time{}
	if open {
		h.verdict = h.now
	}
}

func (h *host) trigger() {
	p := h.r.Progress
	if h.verdict.IsZero() || h.now.Sub(h.verdict) > p.Opening.Limits.Interval {
		h.t.Fatalf("start requested at %s, last unused verdict %s", h.now, h.verdict)
	}
	h.verdict = time.Time{}
	if h.r.Status == run.Pending && h.slots < maxSlots && h.chance(20, "no slot") {
		h.slots++
		h.set(h.r.WaitForSlot(h.now))
		return
	}
	if !p.WaitingSince.IsZero() {
		h.standing += h.now.Sub(p.WaitingSince)
	}
	h.set(h.r.Trigger(run.Start{Snapshot: "s"}, h.now))
	switch rapid.SampledFrom([]string{"taken", "refused", "lost", "answered"}).Draw(h.t, "start") {
	case "taken":
		h.set(h.r.Started("h", h.now))
	case "refused":
		h.set(h.r.Refused(run.Report{Category: h.category()}, h.now))
	case "answered":
		h.report()
	}
}

func (h *host) checkJob() {
	if h.r.Status == run.Triggering {
		switch rapid.SampledFrom([]string{"found", "not there", "held"}).Draw(h.t, "find") {
		case "found":
			h.set(h.r.Started("h", h.now))
		case "not there":
			h.set(h.r.Refused(run.Report{Category: run.Transient}, h.now))
		case "held":
			h.set(h.r.Hold("no answer", h.now))
		}
		return
	}
	if h.chance(10, "result") {
		h.report()
		return
	}
	h.set(h.r.Polled(h.now))
}

func (h *host) report() {
	result := rapid.SampledFrom([]run.Result{run.ResultSuccess, run.ResultFail, run.ResultTimeout}).Draw(h.t, "result")
	h.set(h.r.Reported(run.Outcome{Key: h.r.Key, Attempt: h.r.Attempt, Report: run.Report{Result: result, Category: h.category()}}, h.now))
}

func (h *host) category() run.Category {
	return rapid.SampledFrom([]run.Category{run.Permanent, run.Transient, run.Timeout, run.Unknown}).Draw(h.t, "category")
}

// wait makes something happen before the step is due, or else advances the clock until a little
// after that.
func (h *host) wait(step lifecycle.Step) {
	span := step.Due.Sub(h.now)
	if h.chance(20, "something happens") {
		h.now = h.now.Add(time.Duration(rapid.Int64Range(0, int64(span)-1).Draw(h.t, "when")))
		h.happen()
		return
	}
	h.now = step.Due
	if h.chance(20, "late") {
		h.now = h.now.Add(time.Duration(rapid.Int64Range(0, int64(maxLate)).Draw(h.t, "by")))
	}
}

func (h *host) happen() {
	switch h.r.Status {
	case run.Pending:
		if h.wakes < maxWakes {
			h.wakes++
			h.set(h.r.Wake(h.now))
		}
	case run.Triggering, run.Running:
		if h.chance(30, "reported") {
			h.report()
		}
	case run.Failed:
		if h.further >= maxFurther || h.chance(20, "spent") {
			h.set(h.r.GiveUp("budget spent", h.now))
			return
		}
		h.further++
		h.wakes, h.slots, h.steps, h.standing, h.verdict = 0, 0, 0, 0, time.Time{}
		backoff := time.Duration(rapid.IntRange(0, 900).Draw(h.t, "backoff")) * time.Second
		h.set(h.r.NextAttempt(run.Opening{
			Cause: h.r.Progress.Report.Category.Cause(), Limits: h.r.Progress.Opening.Limits, At: h.now, From: h.now.Add(backoff),
		}))
	}
}
