package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// External workers: they claim attempts, often several at once, run their jobs, send heartbeats and
// report. They crash, fall silent for a while and come back late, and report on attempts that are
// over. They know only the answers that they got.

// heartbeat is how long a worker of the world's pipelines may be silent, beats how often it sends a
// heartbeat.
const (
	heartbeat = time.Minute
	beats     = 20 * time.Second
)

// shift is a claimed attempt from the worker's point of view.
type shift struct {
	key     run.Key
	attempt int
	claim   string // the request id of the claim
	worker  string
	dice    dice
	ends    time.Time
	silent  time.Time     // until then it sends nothing; zero: it is not silent
	dead    bool          // it never sends anything again
	over    bool          // it has reported, or was told that the attempt is over
	heard   time.Time     // when it last asked and was told that it holds the attempt: a worker counts from its request
	nextBy  time.Time     // until when it counts as alive after that
	seq     int64         // the number of its last heartbeat
	skew    time.Duration // the error of all clocks at that time
}

func (s *shift) id() run.AttemptID { return s.key.Attempt(s.attempt) }

// seekWork has some workers look for an attempt to claim, all for the same one.
func (p *plan) seekWork(at time.Time) *errand {
	d := p.own()
	name := fmt.Sprintf("claim %d", p.errands)
	return &errand{at: at, what: "workers look for work", do: func(w *World) {
		key, there := w.claimable(&d)
		if !there {
			return
		}
		for n := range one(&d, 1, 2, 3) {
			w.claim(key, fmt.Sprintf("worker-%d", d.under(2)), fmt.Sprintf("%s.%d", name, n), d.chance(0.3))
		}
	}}
}

// claimable returns an offered run, or sometimes any run that a worker may know of.
func (w *World) claimable(d *dice) (run.Key, bool) {
	var offered, all []run.Key
	for _, key := range w.watch.order {
		if r := w.watch.runs[key]; key.Pipeline == handed {
			all = append(all, key)
			if r.Offered() {
				offered = append(offered, key)
			}
		}
	}
	if len(offered) > 0 && d.chance(0.9) {
		return offered[d.under(len(offered))], true
	}
	if len(all) == 0 {
		return run.Key{}, false
	}
	return all[len(all)-1-d.under(min(len(all), 5))], true
}

// claim has a worker claim an attempt, and repeat the request until it is answered.
func (w *World) claim(key run.Key, worker, id string, keyless bool) {
	q := router.ClaimRequest{Key: key, Worker: worker, Once: id}
	if keyless {
		q.Once = ""
	}
	w.ask("the "+id+" of "+key.String(), 0, func(ctx context.Context, h *host) error {
		asked := w.now
		r, err := h.Router.Claim(ctx, q, h.clock())
		switch {
		case err == nil:
			w.granted(key, r.Attempt, worker, id, asked)
		case refused(err):
			return nil
		}
		return err
	})
}

// refused reports whether a worker's request was rejected.
func refused(err error) bool {
	return errors.As(err, new(*router.ClaimRefused)) || errors.As(err, new(*router.Refusal))
}

// granted has a worker run the job of an attempt.
func (w *World) granted(key run.Key, attempt int, worker, claim string, asked time.Time) {
	s := &shift{key: key, attempt: attempt, claim: claim, worker: worker, heard: asked, nextBy: asked.Add(heartbeat), skew: w.skew}
	for _, before := range w.shifts[s.id()] {
		if before.claim == claim {
			return // a repeated answer
		}
	}
	w.tracef("%s has %s", worker, s.id())
	w.shifts[s.id()] = append(w.shifts[s.id()], s)
	w.watch.claimedOnce(s)
	w.watch.claimedAlone(s)
	kind, d := w.chaos.decide(w.now, "worker "+string(s.id()), []odds{{WorkerDied, 1}, {WorkerSilent, 1}})
	s.dice, s.ends = d, w.now.Add(time.Second+d.span(one(&d, 30*time.Second, 5*time.Minute)))
	switch kind {
	case WorkerDied:
		s.dead = true
		return
	case WorkerSilent:
		s.silent = w.now.Add(heartbeat + d.span(4*heartbeat))
	}
	w.work(s)
}

// work has a worker send its next heartbeat, or its result.
func (w *World) work(s *shift) {
	at := w.now.Add(beats)
	if s.silent.After(at) {
		at = s.silent
	}
	w.chaos.plan(&errand{at: at, what: "", again: true, do: func(w *World) {
		switch {
		case s.over:
		case w.now.Before(s.silent):
			w.work(s)
		case !w.now.Before(s.ends):
			w.finish(s)
		default:
			w.beat(s)
			w.work(s)
		}
	}})
}

func (w *World) beat(s *shift) {
	what := "the heartbeat of " + string(s.id())
	h := w.reachable(what, w.steps)
	if h == nil {
		return
	}
	s.seq++
	beat := router.Heartbeat{Heartbeat: run.Heartbeat{Seq: s.seq}}
	if s.dice.chance(0.1) {
		beat.Within = 2*heartbeat + s.dice.span(20*heartbeat)
	}
	h.do(what, func(ctx context.Context) {
		asked := w.now
		r, err := h.Router.Heartbeat(ctx, s.key, s.attempt, beat, h.clock())
		switch {
		case err == nil && beat.Seq < s.seq: // a later one counts
		case err == nil:
			s.heard, s.nextBy, s.skew = asked, asked.Add(r.Progress.NextBy().Sub(r.Progress.Offer.Heartbeat)), w.skew
			if beat.Within > 0 { // it is silent for as long as it may be
				s.silent = s.nextBy.Add(-beats)
			}
		case refused(err):
			s.over = true
			w.tracef("%s learns that %s is over: %v", s.worker, s.id(), err)
		}
	})
}

// finish has a worker report its result, even if the attempt is over by now.
func (w *World) finish(s *shift) {
	s.over = true
	o := run.Outcome{Key: s.key, Attempt: s.attempt, Report: run.Report{Result: one(&s.dice, run.ResultSuccess, run.ResultSuccess, run.ResultFail), By: s.worker}}
	w.watch.said(s.id(), o.Result)
	w.ask(fmt.Sprintf("the report of %s for %s", o.Result, s.id()), 0, func(ctx context.Context, h *host) error {
		_, err := h.Router.Report(ctx, o, h.clock())
		return err
	})
}

// S2, for workers: at most one of them gets an attempt.
func (w *watch) claimedOnce(s *shift) {
	if all := w.world.shifts[s.id()]; len(all) > 1 {
		w.fail(AtMostOneStart, "attempt %s was given to %s and to %s", s.id(), all[0].worker, s.worker)
	}
}

// claimedAlone is AttemptsDoNotOverlap for workers: no attempt is granted while the worker of an
// earlier one still reports, or is within the silence that it announced.
func (w *watch) claimedAlone(s *shift) {
	if w.runs[s.key].Progress.Opening.Forced {
		return
	}
	for n := max(w.notes.forced[s.key], 1); n < s.attempt; n++ {
		for _, earlier := range w.world.shifts[s.key.Attempt(n)] {
			reports := !earlier.over && earlier.skew == w.world.skew && w.world.now.Before(earlier.nextBy)
			if reports && len(w.notes.said[earlier.id()]) == 0 {
				w.fail(AttemptsDoNotOverlap, "%s is given to %s while %s reports on %s", s.id(), s.worker, earlier.worker, earlier.id())
			}
		}
	}
}

// heardIsKept is AttemptsDoNotOverlap for the end of an attempt: no worker is given up that was heard
// in time, or is within the silence that it announced.
func (w *watch) heardIsKept(before, after run.Run) {
	r := after.Progress.Report
	if !before.Claimed() || !after.GivenUp() || r.Category != run.Timeout {
		return
	}
	for _, s := range w.world.shifts[before.ID()] {
		if !s.over && s.skew == w.world.skew && w.world.now.Before(s.nextBy) {
			w.fail(AttemptsDoNotOverlap, "%s is given up: %s; but it may be silent until %s", s.id(), r.Message, s.nextBy)
		}
	}
}
