package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// The actions of people and producers. They send requests to a running controller, and repeat a
// request that got no answer.

// patience is how long a client waits for an answer.
const patience = 90 * time.Second

// ask repeats an external request until it is answered. A rejection is an answer.
func (w *World) ask(what string, try int, do func(ctx context.Context, h *host) error) {
	answered := false
	if h := w.reachable(what, try); h != nil {
		h.do(what, func(ctx context.Context) {
			err := do(ctx, h)
			var refusal *router.Refusal
			if err != nil && !errors.As(err, &refusal) {
				w.tracef("%s had no answer: %v", what, err)
				return
			}
			if err != nil {
				w.tracef("%s is refused: %v", what, err)
			}
			answered = true
		})
	}
	w.chaos.plan(&errand{at: w.now.Add(patience), what: "did " + what + " have an answer?", again: true, do: func(w *World) {
		if !answered {
			w.ask(what, try+1, do)
		}
	}})
}

// reachable returns a working controller; nil if there is none.
func (w *World) reachable(what string, try int) *host {
	var there []*host
	for _, h := range w.hosts {
		if h.works() {
			there = append(there, h)
		}
	}
	if len(there) == 0 {
		return nil
	}
	d := throw(w.chaos.seed, what, try)
	return there[d.under(len(there))]
}

// sensor is a write: in time, late, early, repeated, flapping, malformed, or for another period.
func (p *plan) sensor(at time.Time) *errand {
	d := p.own()
	return &errand{at: at, what: "a producer writes", do: func(w *World) {
		w.produce(p.choice(w, p.templates[d.under(len(p.templates))], &d))
	}}
}

// part is a write to a pipeline with rules over time, which need more writes than others.
func (p *plan) part(at time.Time, timed []template) *errand {
	d := p.own()
	return &errand{at: at, what: "a producer writes a part", do: func(w *World) {
		w.produce(p.choice(w, timed[d.under(len(timed))], &d))
	}}
}

// produce has a producer write a reading.
func (w *World) produce(owner pipeline.ID, key string, fields sensor.Fields) {
	what := fmt.Sprintf("the write of %s to %s (%v) of %s", key, owner, fields, w.now.Format(time.TimeOnly))
	write, err := reading(owner, key, fields)
	if err != nil {
		w.tracef("%s is refused: %v", what, err)
		return
	}
	w.ask(what, 0, func(ctx context.Context, h *host) error {
		_, err := h.line.PutReadings(ctx, []store.Write{write}, h.clock())
		return err
	})
}

// choice returns a producer's next write.
func (p *plan) choice(w *World, t template, d *dice) (pipeline.ID, string, sensor.Fields) {
	counted := sensor.Fields{"count": d.under(9)}
	switch d.under(24) {
	case 0:
		return pipeline.ID(t.id), "rows", sensor.Fields{"count": 7, "date": "2026-13-45"} // malformed
	case 1:
		counted = sensor.Fields{"count": one[any](d, "many", nil, []any{1}, "7")} // of another type
	case 2:
		counted = sensor.Fields{} // without its field
	}
	switch t.id {
	case "nightly", "hourly":
		return pipeline.ID(t.id), "ready" + p.suffix(w, d, sliceOf[t.id]), sensor.Fields{"status": one(d, "done", "done", "done", "pending")}
	case "noted":
		return "noted", "asked" + p.suffix(w, d, period.Hour), counted
	case "fires", "web", "listed", handed:
		suffix := one(d, "", "", p.suffix(w, d, period.Day))
		return pipeline.ID(t.id), "rows" + suffix, counted
	case "settles":
		return "settles", one(d, "rows", "rows", "extra") + one(d, "", p.suffix(w, d, period.Day)), counted
	case "gathers":
		if d.chance(0.5) {
			return "gathers", "extra" + p.suffix(w, d, period.Day), counted
		}
	case "sums", "daily", "weekly", "monthly":
		switch d.under(4) {
		case 0:
			return pipeline.ID(t.id), "closed" + p.suffix(w, d, sliceOf[t.id]), sensor.Fields{"status": one(d, "done", "done", "pending")}
		case 1:
			return pipeline.ID(t.id), "extra" + p.suffix(w, d, sliceOf[t.id]), counted
		}
		return pipeline.ID(t.id), "part" + p.suffix(w, d, one(d, period.Hour, period.Hour, period.Day)), counted
	case "lands":
		if d.chance(0.3) {
			return "lands", "loaded" + p.suffix(w, d, period.Hour), counted
		}
	}
	return "lands", "landed" + p.suffix(w, d, period.Hour), counted
}

// sliceOf is the period size that producers of some pipelines write for.
var sliceOf = map[string]period.Size{
	"nightly": period.Day, "hourly": period.Hour, "sums": period.Hour, "daily": period.Day, "weekly": period.Week, "monthly": period.Month,
}

// suffix returns the date suffix of a key: for now, a slice before or after, or none.
func (p *plan) suffix(w *World, d *dice, size period.Size) string {
	zone, err := period.LoadZone(p.folder.place.zone)
	if err != nil {
		panic(err) // the zones are embedded
	}
	if d.chance(0.3) {
		return ""
	}
	slice := period.At(w.Now(), size, zone).Add(one(d, 0, 0, 0, -1, -1, -2, 1, -7), zone)
	return "#" + slice.String()
}

// rival acts on a run while a controller decides on it, or on one of the latest runs: a producer
// writes a sensor that it reads, or a person cancels, reports, reruns or pauses.
func (p *plan) rival(w *World, about run.Key, d *dice) {
	r, there := w.watch.runs[about]
	if !there {
		r, there = w.some(d)
	}
	if !there {
		return
	}
	switch d.under(12) {
	case 0:
		w.cancel(d)
	case 1:
		w.report(d)
	case 2:
		w.rerun(fmt.Sprintf("rival %d", w.steps), d)
	case 3:
		w.pause(string(r.Pipeline), store.Pause{By: "ada", Why: "tested", Until: w.Now().Add(time.Minute)}, d)
	default:
		p.writeFor(w, r, d)
	}
}

// writeFor writes a sensor that a run reads, for its period.
func (p *plan) writeFor(w *World, r run.Run, d *dice) {
	def := w.watch.definition(r.Pipeline, r.Progress.Opening.ConfigVersion)
	if def == nil {
		return
	}
	refs := slices.Clone(def.Gate.Refs())
	if def.Start != nil {
		refs = append(refs, def.Start.Gate.Refs()...)
	}
	if def.PostRun != nil {
		refs = append(refs, def.PostRun.Gate.Refs()...)
	}
	if len(refs) == 0 {
		return
	}
	ref := refs[d.under(len(refs))]
	owner := r.Pipeline
	if ref.From != "" {
		owner = pipeline.ID(ref.From)
	}
	slice := r.Period
	if all := gate.Slices(def.Schedule, ref.Over, slice); ref.Over != (rule.Range{}) && len(all) > 0 && d.chance(0.7) {
		slice = all[d.under(len(all))]
	}
	w.produce(owner, string(ref.Key)+"#"+slice.String(), sensor.Fields{"count": d.under(9), "status": one(d, "done", "done", "pending")})
}

// wish is a person's request.
func (p *plan) wish(at time.Time) *errand {
	d := p.own()
	id := fmt.Sprintf("wish %d", p.errands)
	return &errand{at: at, what: "an operator sends a request", do: func(w *World) {
		t := p.templates[d.under(len(p.templates))]
		switch d.under(12) {
		case 0, 1:
			w.pause(t.id, store.Pause{By: "ada", Why: "tested", HoldSLA: d.chance(0.3)}, &d)
		case 2, 3:
			w.resume(t.id)
			if d.chance(0.5) {
				w.resumeAll()
			}
		case 4:
			p.trigger(w, t.id, id, &d)
		case 5:
			w.cancel(&d)
		case 6, 7, 8:
			w.report(&d)
		default:
			w.rerun(id, &d)
		}
	}}
}

func (w *World) pause(id string, p store.Pause, d *dice) {
	if d.chance(0.6) {
		p.Until = w.Now().Add(time.Minute + d.span(2*time.Hour))
	}
	if d.chance(0.15) {
		w.ask("the pause of all pipelines", 0, func(ctx context.Context, h *host) error {
			_, err := h.Router.PauseAll(ctx, p, h.clock())
			return err
		})
		return
	}
	w.ask(fmt.Sprintf("the pause of %s", id), 0, func(ctx context.Context, h *host) error {
		_, err := h.Router.Pause(ctx, pipeline.ID(id), p, h.clock())
		return err
	})
}

func (w *World) resume(id string) {
	w.ask(fmt.Sprintf("the end of the pause of %s", id), 0, func(ctx context.Context, h *host) error {
		return h.Router.Resume(ctx, pipeline.ID(id), "ada", "tested", h.clock())
	})
}

func (w *World) resumeAll() {
	w.ask("the end of the pause of all pipelines", 0, func(ctx context.Context, h *host) error {
		_, err := h.Router.ResumeAll(ctx, "ada", "tested", h.clock())
		return err
	})
}

func (p *plan) trigger(w *World, pipelineID, id string, d *dice) {
	q := router.TriggerRequest{ID: id, Pipeline: pipeline.ID(pipelineID), By: "ada", Reason: "tested", Force: d.chance(0.3), BypassGate: d.chance(0.3)}
	w.ask("the trigger of "+pipelineID, 0, func(ctx context.Context, h *host) error {
		_, err := h.Router.Trigger(ctx, q, h.clock())
		return err
	})
}

// some returns one of the latest runs.
func (w *World) some(d *dice) (run.Run, bool) {
	keys := w.watch.order
	if len(keys) == 0 {
		return run.Run{}, false
	}
	last := min(len(keys), 20)
	return w.watch.runs[keys[len(keys)-1-d.under(last)]], true
}

func (w *World) cancel(d *dice) {
	if r, there := w.some(d); there {
		w.ask("the cancel of "+r.Key.String(), 0, func(ctx context.Context, h *host) error {
			_, err := h.Router.Cancel(ctx, r.Key, "ada", "tested", h.clock())
			return err
		})
	}
}

// report reports the result of some attempt, which may be an old one.
func (w *World) report(d *dice) {
	r, there := w.some(d)
	if !there || r.Attempt == 0 {
		return
	}
	o := run.Outcome{Key: r.Key, Attempt: 1 + d.under(r.Attempt), Report: run.Report{Result: one(d, run.ResultSuccess, run.ResultFail), By: "ada"}}
	if o.Result == run.ResultFail {
		o.Category = one(d, run.Transient, run.Permanent, run.Unknown)
	}
	w.watch.said(r.Key.Attempt(o.Attempt), o.Result)
	if w.bugs.report != nil {
		o = w.bugs.report(o)
	}
	w.ask(fmt.Sprintf("the report of %s for attempt %d of %s", o.Result, o.Attempt, o.Key), 0, func(ctx context.Context, h *host) error {
		_, err := h.Router.Report(ctx, o, h.clock())
		return err
	})
}

func (w *World) rerun(id string, d *dice) {
	r, there := w.some(d)
	if !there {
		return
	}
	q := router.RerunRequest{
		ID: id, Pipeline: r.Pipeline, Schedule: r.Schedule, Period: r.Period, By: "ada", Reason: "tested",
		Force: d.chance(0.15), BypassGate: d.chance(0.1),
	}
	w.ask("the rerun "+id+" of "+r.Key.String(), 0, func(ctx context.Context, h *host) error {
		answer, err := h.Router.Rerun(ctx, q, h.clock())
		if err == nil {
			w.watch.answered(answer)
		}
		return err
	})
}

// edit changes a file: to another variant, an invalid one, or none for a while.
func (p *plan) edit(at time.Time) *errand {
	d := p.own()
	return &errand{at: at, what: "a file is edited", do: func(w *World) {
		t := p.templates[d.under(len(p.templates))]
		back := func() {
			variant := d.under(len(t.variants))
			w.chaos.plan(&errand{at: w.now.Add(time.Minute + d.span(time.Hour)), what: "the file of " + t.id + " is written", again: true, do: func(w *World) {
				p.folder.set(t, variant)
				w.SetFiles(p.folder.files())
			}})
		}
		switch d.under(6) {
		case 0:
			w.tracef("the file of %s is gone", t.id)
			delete(p.folder.texts, t.id)
			if d.chance(0.7) {
				back()
			}
		case 1:
			w.tracef("the file of %s is bad", t.id)
			p.folder.texts[t.id] = "pipeline: {id: " + t.id + "}\nschedule: {cron: 'never'}\n"
			back()
		default:
			p.folder.set(t, d.under(len(t.variants)))
		}
		w.SetFiles(p.folder.files())
	}}
}
