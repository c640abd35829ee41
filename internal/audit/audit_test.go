package audit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var (
	ctx  = context.Background()
	noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
)

const year = 365 * 24 * time.Hour

// add stores an entry and fails the test if that is not possible.
func add(t *testing.T, l *audit.Log, e audit.Entry, at time.Time) {
	t.Helper()
	if err := l.Add(ctx, e, at); err != nil {
		t.Fatal(err)
	}
}

// actions lists the actions that a query finds, newest first, page by page.
func actions(t *testing.T, l *audit.Log, q audit.Query) []string {
	t.Helper()
	found := []string{}
	for {
		page, err := l.List(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			found = append(found, e.Action)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return found
		}
	}
}

func TestEntriesAreListedNewestFirst(t *testing.T) {
	s := memory.New()
	replicas := []*audit.Log{audit.New(s, year), audit.New(s, year)}
	for i := range 7 {
		e := audit.Entry{Actor: []string{"ann", "bob"}[i%2], Action: fmt.Sprint(i), Outcome: audit.Done}
		if i == 4 {
			e.Pipeline, e.Outcome, e.RequestedBy = "orders", audit.Refused, "carl"
		}
		add(t, replicas[i%2], e, noon.Add(time.Duration(i)*7*time.Hour)) // over three days
	}
	for name, c := range map[string]struct {
		query audit.Query
		want  string
	}{
		"all":       {audit.Query{}, "[6 5 4 3 2 1 0]"},
		"in pages":  {audit.Query{Limit: 2}, "[6 5 4 3 2 1 0]"},
		"actor":     {audit.Query{Actor: "bob"}, "[5 3 1]"},
		"person":    {audit.Query{Actor: "carl"}, "[4]"},
		"action":    {audit.Query{Action: "3"}, "[3]"},
		"pipeline":  {audit.Query{Pipeline: "orders"}, "[4]"},
		"outcome":   {audit.Query{Outcome: audit.Refused}, "[4]"},
		"since":     {audit.Query{Since: noon.Add(28 * time.Hour)}, "[6 5 4]"},
		"until":     {audit.Query{Until: noon.Add(14 * time.Hour)}, "[1 0]"},
		"filtered":  {audit.Query{Actor: "ann", Limit: 1}, "[6 4 2 0]"},
		"different": {audit.Query{Actor: "nobody"}, "[]"},
	} {
		if got := fmt.Sprint(actions(t, replicas[0], c.query)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestEntryIsThereBeforeItsActionEnds(t *testing.T) {
	s := memory.New()
	l := audit.New(s, year)
	e, err := l.Begin(ctx, audit.Entry{Actor: "ann", Action: "pause", Pipeline: "orders"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	page, err := l.List(ctx, audit.Query{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Outcome != audit.Unknown {
		t.Fatalf("got %+v (%v)", page, err)
	}
	if events, err := s.Events(ctx, store.EventQuery{}); err != nil || len(events.Items) != 0 {
		t.Errorf("it was announced before its outcome was known: %v (%v)", events.Items, err)
	}
	e.Outcome = audit.Done
	if err := l.End(ctx, e, noon.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	page, err = l.List(ctx, audit.Query{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Outcome != audit.Done || !page.Items[0].At.Equal(noon) {
		t.Errorf("got %+v (%v)", page, err)
	}
	events, err := s.Events(ctx, store.EventQuery{Type: event.Audit, Pipeline: "orders"})
	if err != nil || len(events.Items) != 1 || events.Items[0].Validate() != nil {
		t.Errorf("announced %v (%v)", events.Items, err)
	}
	e.Outcome = audit.Refused
	err = l.End(ctx, e, noon)
	if page, listed := l.List(ctx, audit.Query{}); listed != nil || page.Items[0].Outcome != audit.Done {
		t.Errorf("a completed entry was changed: %+v (%v, %v)", page, err, listed)
	}
}

func TestEntriesGoAfterTheirRetention(t *testing.T) {
	s := memory.New()
	l := audit.New(s, 48*time.Hour)
	add(t, l, audit.Entry{Action: "old"}, noon)
	add(t, l, audit.Entry{Action: "new"}, noon.Add(24*time.Hour))
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{47 * time.Hour, "[new old]"}, {50 * time.Hour, "[new]"}, {240 * time.Hour, "[]"}} {
		if _, err := s.Trim(ctx, store.Retention{}, noon.Add(c.after)); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(actions(t, l, audit.Query{})); got != c.want {
			t.Errorf("after %s: got %s, want %s", c.after, got, c.want)
		}
	}
	if days, err := s.Notes(ctx, store.AuditNote); err != nil || len(days) != 0 {
		t.Errorf("the index still has %v (%v)", days, err)
	}
}
