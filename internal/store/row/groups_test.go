package row_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/store/row"
)

// gapped is a log whose positions have gaps.
type gapped []int64

func (l gapped) ChangesAfter(_ context.Context, position int64, limit int) (changes []row.Change, _ error) {
	for _, at := range l {
		if at > position && len(changes) < limit {
			changes = append(changes, row.Change{Position: at})
		}
	}
	return changes, nil
}

func (l gapped) CountAfter(ctx context.Context, position int64) (int, error) {
	changes, err := l.ChangesAfter(ctx, position, len(l))
	return len(changes), err
}

func receive(t *testing.T, g *row.Groups, limit int) (positions []int64) {
	t.Helper()
	changes, err := g.Receive(t.Context(), "router", "one", limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		positions = append(positions, c.Position)
	}
	return positions
}

func ack(t *testing.T, g *row.Groups, positions ...int64) {
	t.Helper()
	var changes []row.Change
	for _, at := range positions {
		changes = append(changes, row.Change{Position: at})
	}
	if err := g.Ack(t.Context(), "router", changes); err != nil {
		t.Fatal(err)
	}
}

func TestProgressPassesGaps(t *testing.T) {
	log := gapped{3, 7, 8, 20}
	var saved row.Progress
	g := row.NewGroups(log, func(_ string, p row.Progress) { saved = p })
	if at, exists := g.Passed(); exists {
		t.Errorf("without a group %d was passed", at)
	}
	got := receive(t, g, 3)
	if want := []int64{3, 7, 8}; !slices.Equal(got, want) {
		t.Fatalf("received %d, want %d", got, want)
	}
	for _, step := range []struct {
		ack    int64
		want   row.Progress
		passed int64
	}{
		{7, row.Progress{Through: 8, Open: []int64{3, 8}}, 2},
		{3, row.Progress{Through: 8, Open: []int64{8}}, 7},
		{8, row.Progress{Through: 8}, 8},
		{20, row.Progress{Through: 20}, 20},
		{99, row.Progress{Through: 20}, 20},
	} {
		ack(t, g, step.ack)
		if diff := cmp.Diff(step.want, saved); diff != "" {
			t.Errorf("progress after %d: want -, got +\n%s", step.ack, diff)
		}
		if at, exists := g.Passed(); at != step.passed || !exists {
			t.Errorf("passed %d after %d, want %d", at, step.ack, step.passed)
		}
	}
}

func TestRestoredGroupReceivesWhatIsOpen(t *testing.T) {
	log := gapped{3, 7, 8, 20, 21}
	g := row.NewGroups(log, func(string, row.Progress) {})
	if err := g.Restore(t.Context(), "router", row.Progress{Through: 10, Open: []int64{3, 5, 8}}); err != nil {
		t.Fatal(err)
	}
	if n, oldest, err := g.Backlog(t.Context(), "router"); n != 4 || oldest.Position != 3 || err != nil {
		t.Errorf("backlog of %d since %+v, error %v", n, oldest, err)
	}
	other := g.Open()
	if got, want := receive(t, other, 1), []int64{3}; !slices.Equal(got, want) {
		t.Errorf("received %d, want %d", got, want)
	}
	if got, want := receive(t, g, 2), []int64{8, 20}; !slices.Equal(got, want) {
		t.Errorf("received %d, want %d", got, want)
	}
	other.Close()
	if got, want := receive(t, g, 9), []int64{3, 21}; !slices.Equal(got, want) {
		t.Errorf("after the other handle was closed: received %d, want %d", got, want)
	}
}
