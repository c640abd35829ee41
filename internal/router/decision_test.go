package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// undecided is a store that commits nothing and records what it was asked to commit.
type undecided struct {
	*memory.Store
	batches []store.Batch
}

func (u *undecided) Commit(_ context.Context, b store.Batch, _ time.Time) error {
	u.batches = append(u.batches, b)
	return store.ErrAway
}

// decide returns the batch that a replica would commit now.
func (w *world) decide(act func(*router.Router) error) store.Batch {
	w.Helper()
	u := &undecided{Store: w.Store}
	r := router.New(router.Deps{Store: u, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps})
	if err := act(r); !errors.Is(err, store.ErrAway) || len(u.batches) != 1 {
		w.Fatalf("%d batches, %v", len(u.batches), err)
	}
	return u.batches[0]
}

// changed writes a reading, and returns what handles the write.
func (w *world) changed(id, key, pair string) func(*router.Router) error {
	w.Helper()
	w.sleep(time.Second)
	w.Put(id, key, pair)
	all := w.Changes()
	return func(r *router.Router) error { return r.Handle(ctx, all[len(all)-1], w.Now()) }
}

// Two replicas decide on the same versions. If the second decision counted as a repeat of the
// first, its caller would be told that it was carried out.
func TestTwoDecisionsOnTheSameVersionsConflict(t *testing.T) {
	pause := func(w *world, why string) store.Batch {
		return w.decide(func(r *router.Router) error {
			_, err := r.Pause(ctx, "plain", store.Pause{By: "ada", Why: why}, w.Now())
			return err
		})
	}
	resume := func(w *world, why string) store.Batch {
		return w.decide(func(r *router.Router) error { return r.Resume(ctx, "plain", "ada", why, w.Now()) })
	}
	resumeAll := func(w *world, why string) store.Batch {
		return w.decide(func(r *router.Router) error {
			_, err := r.ResumeAll(ctx, "ada", why, w.Now())
			return err
		})
	}
	for name, decide := range map[string]func(t *testing.T) (*world, [2]store.Batch){
		"pauses for two reasons": func(t *testing.T) (*world, [2]store.Batch) {
			w := newWorld(t, plain)
			return w, [2]store.Batch{pause(w, "maintenance"), pause(w, "incident")}
		},
		"resumes for two reasons": func(t *testing.T) (*world, [2]store.Batch) {
			w := newWorld(t, plain)
			w.pause("plain", store.Pause{})
			return w, [2]store.Batch{resume(w, "maintenance is over"), resume(w, "incident is over")}
		},
		"resumes of all pipelines for two reasons": func(t *testing.T) (*world, [2]store.Batch) {
			w := newWorld(t, plain)
			w.pauseAll(store.Pause{})
			return w, [2]store.Batch{resumeAll(w, "maintenance is over"), resumeAll(w, "incident is over")}
		},
		"clock corrections at two instants": func(t *testing.T) (*world, [2]store.Batch) {
			w := newWorld(t, plain)
			rewind := func(now time.Time) store.Batch {
				return w.decide(func(r *router.Router) error { return r.Rewind(ctx, "plain", func() time.Time { return now }) })
			}
			return w, [2]store.Batch{rewind(w.Now().Add(-time.Hour)), rewind(w.Now().Add(-2 * time.Hour))}
		},
		"drifts of two sensors": func(t *testing.T) (*world, [2]store.Batch) {
			w := newWorld(t, strings.Replace(audited(""), "rules: [", "rules: [{key: scan, check: gte, field: count, value: 0}, ", 1))
			w.Write("audited", "arrival", "n=1")
			w.Write("audited", "audit", "count=100")
			w.Write("audited", "scan", "count=100")
			w.succeed(auditedRun)
			first := w.decide(w.changed("audited", "audit", "count=200"))
			return w, [2]store.Batch{first, w.decide(w.changed("audited", "scan", "count=200"))}
		},
		"baselines of a dry run": func(t *testing.T) (*world, [2]store.Batch) {
			w := newWorld(t, dry)
			w.Write("dry", "arrival", "status=ready")
			w.Write("dry", "quality", "verdict=good")
			first := w.decide(w.changed("dry", "audit", "count=100"))
			return w, [2]store.Batch{first, w.decide(w.changed("dry", "audit", "count=200"))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, decided := decide(t)
			w.Check(w.Store.Commit(ctx, decided[0], w.Now()))
			if err := w.Store.Commit(ctx, decided[1], w.Now()); !errors.Is(err, store.ErrConflict) {
				t.Errorf("the second decision: %v, want a conflict", err)
			}
		})
	}
}

// The value of an open attempt's post-run sensor returns to what it was before the attempt started.
func TestDriftInFlightIsReportedAgainstWhatTheAttemptStartedOn(t *testing.T) {
	w := newWorld(t, strings.Replace(audited("validation: {rules: [{key: quality, check: equals, field: verdict, value: good}]}\n"),
		"rules: [{key: audit", "rules: [{key: audit, check: gte, field: rows, value: 0}, {key: audit", 1))
	w.Write("audited", "quality", "verdict=good")
	w.Write("audited", "audit", "count=100", "rows=10")
	w.Write("audited", "arrival", "n=1")
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("audited", "quality", "verdict=bad")
	w.rerun(router.RerunRequest{ID: "r", Pipeline: "audited", Period: w.Period("2026-03-03"), By: "ada", Reason: "tested", Force: true})
	w.expect(auditedRun, "PENDING 2")
	w.Write("audited", "audit", "count=100", "rows=50")
	same(t, "rows since the completion", 1, w.count(event.PostRunDriftInflight))
	w.Write("audited", "audit", "count=300", "rows=50")
	same(t, "count and rows since the completion", 3, w.count(event.PostRunDriftInflight))
	w.Write("audited", "quality", "verdict=good")
	w.expect(auditedRun, "RUNNING 2")
	w.Write("audited", "audit", "count=100", "rows=50")
	same(t, "count since the start", 4, w.count(event.PostRunDriftInflight))
}

// During a pause the interval of the post-run rules is taken out of the file, which ends the task,
// and is put back.
func TestPostRunRulesAreEvaluatedAgainOnceTheirIntervalIsBack(t *testing.T) {
	const interval = "evaluation: {window: 6h, interval: 30m}"
	file := audited("  " + interval)
	w := newWorld(t, file)
	w.Write("audited", "audit", "count=100")
	w.Write("audited", "arrival", "n=1")
	w.pause("audited", store.Pause{})
	w.succeed(auditedRun)
	w.apply(strings.Replace(file, interval, "", 1))
	w.Pass(40 * time.Minute)
	if _, err := w.Store.Task(ctx, "post-run/"+auditedRun); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("without an interval the task is there: %v", err)
	}
	w.apply(file)
	w.resume("audited")
	w.Pass(time.Minute)
	same(t, "passed", 1, w.count(event.PostRunPassed))
}
