package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// hasty notes what it is asked, and puts a mark into what opens a run.
type hasty struct {
	notes  []string
	refuse bool
}

func (h *hasty) Ahead(_ context.Context, b *store.Batch, row store.Pipeline, _ time.Time) func(error) {
	h.notes = append(h.notes, fmt.Sprintf("asked for %s of %s", b.Runs[0].Next.Key, row.ID))
	if h.refuse {
		return nil
	}
	b.SetMark("hasty", time.Time{})
	return func(sent error) {
		switch {
		case sent == nil:
			h.notes = append(h.notes, "goes on")
		case errors.Is(sent, store.ErrConflict):
			h.notes = append(h.notes, "gives way")
		default:
			h.notes = append(h.notes, "finds out")
		}
	}
}

// flaky fails some commits: each error counts for one of them, after the commit had its effect.
type flaky struct {
	*memory.Store
	h    *hasty
	errs []error
}

func (f *flaky) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	f.h.notes = append(f.h.notes, "commit")
	err := f.Store.Commit(ctx, b, now)
	if len(f.errs) > 0 {
		err, f.errs = errors.Join(err, f.errs[0]), f.errs[1:]
	}
	return err
}

func TestStartThatIsPutIntoAnOpeningGoesOnOnceThatWasSent(t *testing.T) {
	asked := "asked for plain/stream/2026-03-03 of plain"
	lost := errors.New("the answer is lost")
	for name, c := range map[string]struct {
		refuse bool
		errs   []error
		want   []string
		fails  bool
	}{
		"stored":             {want: []string{asked, "commit", "goes on"}},
		"nothing to start":   {refuse: true, want: []string{asked, "commit"}},
		"answer lost":        {errs: []error{lost}, want: []string{asked, "commit", "commit", "goes on"}},
		"answer lost twice":  {errs: []error{lost, lost}, want: []string{asked, "commit", "commit", "finds out"}, fails: true},
		"somebody was first": {errs: []error{store.ErrConflict}, want: []string{asked, "commit", "gives way"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			h := &hasty{refuse: c.refuse}
			r := router.New(router.Deps{
				Store: &flaky{w.Store, h, c.errs}, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps, Starter: h,
				Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
			})
			w.Put("plain", "arrival", "status=ready")
			for _, change := range w.Changes() {
				if err := r.Handle(ctx, change, w.Now()); (err != nil) != c.fails {
					t.Errorf("error %v", err)
				}
			}
			if !slices.Equal(h.notes, c.want) {
				t.Errorf("%q, want %q", h.notes, c.want)
			}
			w.expect("plain/stream/2026-03-03", "PENDING 1")
			marked, err := w.Store.Marked(ctx, []string{"hasty"})
			w.Check(err)
			if marked["hasty"] == c.refuse {
				t.Errorf("what the starter adds is stored: %v", marked["hasty"])
			}
		})
	}
}
