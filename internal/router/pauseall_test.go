package router_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// pauseAll pauses all pipelines and handles everything that follows.
func (w *world) pauseAll(p store.Pause) []pipeline.ID {
	w.Helper()
	p.By, p.Why = "bob", "maintenance"
	done, err := w.Router.PauseAll(ctx, p, w.Now())
	w.Check(err)
	w.Settle()
	return done
}

func (w *world) resumeAll() []pipeline.ID {
	w.Helper()
	done, err := w.Router.ResumeAll(ctx, "bob", "done", w.Now())
	w.Check(err)
	w.Settle()
	return done
}

// pauses lists who paused a pipeline.
func (w *world) pauses(id pipeline.ID) []string {
	w.Helper()
	row, err := w.Store.Pipeline(ctx, id)
	w.Check(err)
	by := []string{}
	for _, p := range row.Pauses() {
		by = append(by, p.By)
	}
	return by
}

func TestPauseOfAllNeitherReplacesNorEndsAPipelinesOwn(t *testing.T) {
	w := newWorld(t, plain, orders)
	w.pause("plain", store.Pause{Until: w.Now().Add(3 * time.Hour)})
	w.sleep(time.Minute)
	same(t, "paused", []pipeline.ID{"orders", "plain"}, w.pauseAll(store.Pause{}))
	same(t, "pauses of plain", []string{"ada", "bob"}, w.pauses("plain"))
	same(t, "pauses of orders", []string{"bob"}, w.pauses("orders"))
	w.Write("plain", "arrival", "status=ready")
	w.sleep(time.Minute)
	same(t, "resumed", []pipeline.ID{"orders"}, w.resumeAll())
	same(t, "pauses of plain", []string{"ada"}, w.pauses("plain"))
	w.expect(plainRun, "none")
	w.Pass(3 * time.Hour)
	same(t, "pauses of plain after its end", []string{}, w.pauses("plain"))
	w.expect(plainRun, "RUNNING 1")
}

func TestOwnPauseThatEndsDuringThePauseOfAllResumesNothing(t *testing.T) {
	for name, ownFirst := range map[string]bool{"its own began first": true, "that of all began first": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			own := func() { w.pause("plain", store.Pause{}) }
			all := func() { w.pauseAll(store.Pause{}) }
			if !ownFirst {
				own, all = all, own
			}
			own()
			w.sleep(time.Minute)
			w.Write("plain", "arrival", "status=ready") // before the second pause
			w.sleep(time.Minute)
			all()
			w.sleep(time.Minute)
			w.resume("plain")
			w.sleep(time.Minute)
			w.expect(plainRun, "none")
			w.resumeAll()
			w.expect(plainRun, "RUNNING 1")
		})
	}
}

func TestPauseOfAllCoversFilesThatAreAddedLater(t *testing.T) {
	w := newWorld(t, orders)
	w.pauseAll(store.Pause{})
	w.sleep(time.Minute)
	w.apply(plain)
	w.Write("plain", "arrival", "status=ready")
	same(t, "pauses", []string{"bob"}, w.pauses("plain"))
	same(t, "events", []event.Type{event.PipelinePaused}, w.types("plain"))
	w.expect(plainRun, "none")
	w.sleep(time.Minute)
	w.resumeAll()
	w.expect(plainRun, "RUNNING 1")
}

func TestFileThatReturnsIsPausedOnlyWhileAllAre(t *testing.T) {
	w := newWorld(t, plain, orders)
	w.pauseAll(store.Pause{})
	w.remove("plain")
	w.Settle()
	w.resumeAll()
	w.apply(plain)
	w.Settle()
	same(t, "pauses", []string{}, w.pauses("plain"))
	w.remove("plain")
	w.Settle()
	w.pauseAll(store.Pause{})
	w.apply(plain)
	w.Settle()
	same(t, "pauses", []string{"bob"}, w.pauses("plain"))
}

func TestPauseOfAllEndsAutomatically(t *testing.T) {
	w := newWorld(t, plain, orders)
	w.pause("orders", store.Pause{})
	w.pauseAll(store.Pause{Until: w.Now().Add(time.Hour), HoldSLA: true})
	w.Write("plain", "arrival", "status=ready")
	w.Pass(59 * time.Minute)
	w.expect(plainRun, "none")
	now := w.Now()
	w = newWorldOn(t, w.Store, plain, orders)
	w.Move(now)
	w.Pass(time.Minute)
	w.expect(plainRun, "RUNNING 1")
	same(t, "pauses of orders", []string{"ada"}, w.pauses("orders"))
	_, err := w.Router.ResumeAll(ctx, "bob", "", w.Now())
	refused(t, err, router.Conflict)
}

// failing is a store that rejects every commit after the first ones.
type failing struct {
	*memory.Store
	commits int // how many it accepts
}

func (f *failing) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if f.commits--; f.commits < 0 {
		return store.ErrAway
	}
	return f.Store.Commit(ctx, b, now)
}

// interrupted returns a router that fails after its first commit.
func interrupted(w *world) *router.Router {
	return router.New(router.Deps{Store: &failing{w.Store, 1}, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps})
}

func TestPauseOfAllThatIsInterruptedIsCompleted(t *testing.T) {
	w := newWorld(t, plain, orders)
	for _, step := range []struct {
		ask  func(r *router.Router) error
		want []string
	}{
		{func(r *router.Router) error {
			_, err := r.PauseAll(ctx, store.Pause{By: "bob", Why: "maintenance"}, w.Now())
			return err
		}, []string{"bob"}},
		{func(r *router.Router) error { _, err := r.ResumeAll(ctx, "bob", "done", w.Now()); return err }, []string{}},
	} {
		if err := step.ask(interrupted(w)); err == nil {
			t.Fatal("it was not interrupted")
		}
		w.Settle()
		same(t, "pauses of plain", step.want, w.pauses("plain"))
		same(t, "pauses of orders", step.want, w.pauses("orders"))
		w.sleep(time.Minute)
	}
	same(t, "events", []event.Type{event.PipelinePaused, event.PipelineResumed}, w.types("plain"))
	same(t, "who resumed", "resumed with all pipelines by bob: done", w.events()[len(w.events())-1].Detail.Message)
}

func TestPauseOfAllDuringAnEvaluationStartsNothing(t *testing.T) {
	w := newWorld(t, orders)
	w.Put("orders", "quality", "verdict=good")
	w.Put("orders", "arrival", "status=ready")
	w.handleChanges()
	w.duringCommit(day3, func() { w.pauseAll(store.Pause{}) })
	w.expect(day3, "PENDING 1")
	same(t, "started", 0, len(w.jobs.started))
	w.resumeAll()
	w.expect(day3, "RUNNING 1")
}

// Two operators pause and resume all pipelines at once: the later request is carried out between the
// two commits of the earlier one, and everything that follows from it.
func TestLaterOfTwoRequestsForAllPipelinesWins(t *testing.T) {
	resume := func(r *router.Router, w *world) error {
		_, err := r.ResumeAll(ctx, "bob", "done", w.Now())
		return err
	}
	pause := func(r *router.Router, w *world) error {
		_, err := r.PauseAll(ctx, store.Pause{By: "bob", Why: "maintenance"}, w.Now())
		return err
	}
	for name, c := range map[string]struct {
		paused         bool
		earlier, later func(*router.Router, *world) error
		want           []string
	}{
		"a resume during a pause": {false, pause, resume, []string{}},
		"a pause during a resume": {true, resume, pause, []string{"bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			if c.paused {
				w.pauseAll(store.Pause{})
				w.sleep(time.Minute)
			}
			first, m := twins(w)
			m.others = []func(){func() {}, func() {
				w.Check(c.later(w.Router, w))
				w.Settle()
			}}
			w.Check(c.earlier(first, w))
			w.Settle()
			same(t, "pauses", c.want, w.pauses("plain"))
		})
	}
}

func TestRefusalsNameThePauseOfAll(t *testing.T) {
	w := newWorld(t, plain)
	w.pauseAll(store.Pause{})
	err := w.Router.Resume(ctx, "plain", "ada", "", w.Now())
	refused(t, err, router.Conflict)
	same(t, "refusal", "pipeline plain is not paused individually; `interlock resume --all` ends the pause of all pipelines by bob", err.Error())
	_, err = w.Router.PauseAll(ctx, store.Pause{By: "bob"}, w.Now())
	refused(t, err, router.Invalid)
	_, err = w.Router.PauseAll(ctx, store.Pause{By: "bob", Why: "tested", Until: w.Now()}, w.Now())
	refused(t, err, router.Invalid)
}
