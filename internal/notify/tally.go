package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// clockSlack is how far the clocks of replicas may differ. Events are ordered by commit, so their times may be out of
// order by this much.
const clockSlack = time.Hour

// tallies counts the alerts that silences have suppressed. It remembers its position, so that it reads each event
// once for all silences, and none from before the first silence.
type tallies struct {
	mu sync.Mutex
	of map[string]*tally
}

type tally struct {
	count   int
	through store.Position // events up to this position are counted
	over    bool           // no later event can be covered
}

// suppressed returns how many alerts each silence has suppressed, by id.
func (n *Notifier) suppressed(ctx context.Context, silences []Silence) (map[string]int, error) {
	t := &n.tallies
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*tally{}
	}
	var open []Silence
	from := store.Position(-1)
	for _, s := range silences {
		one := t.of[s.ID]
		if one == nil {
			at, err := n.store.PositionAt(ctx, s.Since.Add(-clockSlack))
			if err != nil {
				return nil, fmt.Errorf("count the alerts that silence %s held back: %w", s.ID, err)
			}
			one = &tally{through: at}
			t.of[s.ID] = one
		}
		if !one.over {
			open = append(open, s)
			if from < 0 || one.through < from {
				from = one.through
			}
		}
	}
	if err := n.count(ctx, open, from); err != nil {
		return nil, fmt.Errorf("count the alerts that silences held back: %w", err)
	}
	counts := map[string]int{}
	for _, s := range silences {
		counts[s.ID] = t.of[s.ID].count
	}
	return counts, nil
}

// forget drops the tallies of silences that are no longer stored.
func (t *tallies) forget(remembered []Silence) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.of, func(id string, _ *tally) bool {
		return !slices.ContainsFunc(remembered, func(s Silence) bool { return s.ID == id })
	})
}

// count reads the events after a position, as long as one of the silences may cover them.
func (n *Notifier) count(ctx context.Context, open []Silence, from store.Position) error {
	for len(open) > 0 {
		events, err := n.store.EventsAfter(ctx, from, store.MaxPage)
		if err != nil {
			return err
		}
		var still []Silence
		for _, s := range open {
			if one := n.tallies.of[s.ID]; n.add(one, s, events) {
				still = append(still, s)
			}
		}
		if len(events) < store.MaxPage {
			return nil
		}
		open, from = still, events[len(events)-1].Position
	}
	return nil
}

// add counts the events that were not counted yet, and reports whether the silence may cover later ones.
func (n *Notifier) add(one *tally, s Silence, events []store.StoredEvent) bool {
	for _, e := range events {
		if e.Position <= one.through {
			continue
		}
		one.through = e.Position
		if s.Covers(e.Event) && n.alerts(e.Event) {
			one.count++
		}
		if one.over = e.Event.Time.After(s.End().Add(clockSlack)); one.over {
			return false
		}
	}
	return true
}
