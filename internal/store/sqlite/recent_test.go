package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestWhatWasReadBeforeAWriteIsNotRemembered(t *testing.T) {
	c := newRecent[string, int]()
	_, before := c.get("a")
	c.wrote("a", plain(2))
	for i := range 3 * recentSize { // until it has been let go of
		c.wrote(fmt.Sprint(i), plain(0))
	}
	if got, err := c.read("a", "1", before).give(); got != 1 || err != nil {
		t.Errorf("the reader got %d, %v", got, err)
	}
	if held, _ := c.get("a"); held != nil {
		t.Error("a record is remembered that was overtaken while it was read")
	}
}

func TestNoMoreIsRememberedThanTwiceTheSize(t *testing.T) {
	c := newRecent[int, int]()
	for i := range 10 * recentSize {
		c.wrote(i, stored[int]("1"))
	}
	if n := len(c.young) + len(c.old); n > 2*recentSize {
		t.Errorf("%d records are held, want at most %d", n, 2*recentSize)
	}
	if held, _ := c.get(10*recentSize - recentSize); held == nil {
		t.Error("one of the last records is gone")
	}
}

// A record that is remembered is the one in the file, for whoever asks, and each may do with it as he likes.
func TestRememberedRecordIsTheOneInTheFile(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{})
	if _, err := s.Run(t.Context(), orders); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("got %v before it was opened", err)
	}
	b := opening(orders)
	b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "orders", Slots: []run.AttemptID{"a", "b"}, Horizon: noon})
	check(t, s.Commit(t.Context(), b, noon))
	held := recordsOf(t, s)
	held.pipeline.Slots[0] = "changed by its owner"
	held = recordsOf(t, s)
	check(t, s.Close())
	if diff := cmp.Diff(recordsOf(t, opened(t, dir, Options{})), held, cmp.AllowUnexported(records{}, period.Period{})); diff != "" {
		t.Errorf("what was remembered differs from the file (-file +remembered):\n%s", diff)
	}
}

type records struct {
	run      run.Run
	pipeline store.Pipeline
}

func recordsOf(t *testing.T, s *Store) (r records) {
	t.Helper()
	var err error
	r.run, err = s.Run(t.Context(), orders)
	check(t, err)
	r.pipeline, err = s.Pipeline(t.Context(), pipeline.ID("orders"))
	check(t, err)
	return r
}

func TestRefusedBatchIsNotRemembered(t *testing.T) {
	s := opened(t, empty(t), Options{})
	b := opening(orders)
	b.SwapPipeline(store.Pipeline{Version: 7}, store.Pipeline{ID: "orders", Version: 8})
	if err := s.Commit(t.Context(), b, noon); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if _, err := s.Run(t.Context(), orders); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run of a refused batch is there: %v", err)
	}
}
