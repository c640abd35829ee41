package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// ran stores runs of a pipeline, one a day, that ended with a status.
func ran(t *testing.T, s store.Store, n int, first time.Time, status run.Status) {
	t.Helper()
	for i := range n {
		r := opened(t)
		var err error
		r.Period, err = period.Parse(first.AddDate(0, 0, i).Format(time.DateOnly))
		check(t, err)
		r.Status = status
		b := store.Batch{ID: fmt.Sprint(status, i)}
		b.Create(r)
		check(t, s.Commit(t.Context(), b, noon))
	}
}

func TestRunsOfARareStatusAreFoundWithoutReadingAll(t *testing.T) {
	s := deployed(t, 1)[0]
	ran(t, s, 120, noon, run.Completed)
	ran(t, s, 2, noon.AddDate(-1, 0, 0), run.FailedFinal)
	ran(t, s, 2, noon.AddDate(-2, 0, 0), run.Failed)
	for _, status := range []run.Status{run.FailedFinal, run.Failed, run.Cancelled} {
		for _, q := range []store.RunQuery{{Status: status}, {Status: status, Pipeline: "orders"}} {
			rows := s.CountRows()
			page, err := s.Runs(t.Context(), q)
			check(t, err)
			if want := 2; len(page.Items) != want && status != run.Cancelled || rows.Load() > 10 {
				t.Errorf("%s of %q: found %d runs in %d rows", status, q.Pipeline, len(page.Items), rows.Load())
			}
		}
	}
}
