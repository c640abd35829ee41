package trend

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Windows are the time windows, in days, over which deadlines are counted.
var Windows = [...]int{7, 30, 90}

// Tally counts deadlines by outcome.
type Tally struct {
	Met       int // completed in time
	Warned    int // of those, after the warning
	Breached  int
	Cancelled int
	Longest   time.Duration // maximum lateness
	Late      [len(Bins) + 2]int
}

// Bins are the limits of the lateness histogram; negative values are before the deadline. The first
// entry of Late counts completions before the first limit, the last one runs that never completed.
var Bins = [...]time.Duration{-4 * time.Hour, -time.Hour, -15 * time.Minute, 0, 15 * time.Minute, time.Hour, 4 * time.Hour}

func (t *Tally) count(d store.Deadline) {
	switch d.State {
	case sla.Met:
		t.Met++
		if d.Warned {
			t.Warned++
		}
	case sla.Breached:
		t.Breached++
	case sla.Cancelled:
		t.Cancelled++
		return
	default:
		return
	}
	if d.DoneAt.IsZero() {
		if d.State == sla.Breached {
			t.Late[len(t.Late)-1]++
		}
		return
	}
	off := d.DoneAt.Sub(d.BreachAt)
	t.Longest = max(t.Longest, off)
	at := 0
	for at < len(Bins) && off > Bins[at] {
		at++
	}
	t.Late[at]++
}

// Add adds the counts of another tally.
func (t *Tally) Add(o Tally) {
	t.Met, t.Warned, t.Breached, t.Cancelled = t.Met+o.Met, t.Warned+o.Warned, t.Breached+o.Breached, t.Cancelled+o.Cancelled
	t.Longest = max(t.Longest, o.Longest)
	for i, n := range o.Late {
		t.Late[i] += n
	}
}

// Kept is a pipeline's tally for each of Windows.
type Kept [len(Windows)]Tally

// Add adds another Kept, window by window.
func (k *Kept) Add(o Kept) {
	for i := range k {
		k[i].Add(o[i])
	}
}

// Ledger counts deadlines. It caches days that are long past, so that a dashboard page that stays
// open does not read three months again and again.
type Ledger struct {
	store reader

	mu   sync.Mutex
	days map[time.Time]counted
}

// counted is a day's tallies, and when they were counted.
type counted struct {
	at    time.Time
	tally map[pipeline.ID]Tally
}

// NewLedger returns a Ledger over s.
func NewLedger(s reader) *Ledger { return &Ledger{store: s, days: map[time.Time]counted{}} }

const (
	// settled is the age from which a day hardly changes any more, although a run may still
	// complete late.
	settled = 3 * day
	// trusted is how long the cached counts of such a day are used.
	trusted = 10 * time.Minute
	// ahead is how far in the future deadlines are read: they may have ended early.
	ahead = 7 * day
)

// Compliance returns the tallies of each pipeline, by the UTC day of the breach time: for the
// windows up to now, including today and deadlines that ended early.
func (l *Ledger) Compliance(ctx context.Context, now time.Time) (map[pipeline.ID]Kept, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := map[pipeline.ID]Kept{}
	first, today := Since(now, Windows[len(Windows)-1]), midnight(now)
	for at := first; !at.After(today); at = at.Add(day) {
		until := at.Add(day)
		if at.Equal(today) {
			until = until.Add(ahead)
		}
		tallies, err := l.count(ctx, at, until, now)
		if err != nil {
			return nil, err
		}
		for id, t := range tallies {
			k := kept[id]
			for i, days := range Windows {
				if !at.Before(Since(now, days)) {
					k[i].Add(t)
				}
			}
			kept[id] = k
		}
	}
	// No window covers these days any more.
	maps.DeleteFunc(l.days, func(at time.Time, _ counted) bool { return at.Before(first) })
	return kept, nil
}

// count counts the deadlines of one day, or returns the cached counts.
func (l *Ledger) count(ctx context.Context, from, to, now time.Time) (map[pipeline.ID]Tally, error) {
	old := now.Sub(to) >= settled
	if c, ok := l.days[from]; ok && old && now.Sub(c.at) < trusted {
		return c.tally, nil
	}
	tally := map[pipeline.ID]Tally{}
	q := store.DeadlineQuery{From: from, To: to, Limit: store.MaxPage}
	for {
		page, err := l.store.Deadlines(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("count deadlines of %s: %w", from.Format(time.DateOnly), err)
		}
		for _, d := range page.Items {
			t := tally[d.Key.Pipeline]
			t.count(d)
			tally[d.Key.Pipeline] = t
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if old {
		l.days[from] = counted{now, tally}
	}
	return tally, nil
}
