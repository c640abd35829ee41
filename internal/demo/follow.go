package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// patience is how long an event is waited for. It is far more than any takes: whoever waits so long waits in vain.
const patience = 30 * time.Second

// follower reads the events of a store one after the other.
type follower struct {
	store events
	at    store.Position
	read  []store.StoredEvent
}

// next is the next event, when it comes.
func (f *follower) next(ctx context.Context) (event.Event, error) {
	for len(f.read) == 0 {
		changed := f.store.EventsChanged() // before reading, so that nothing falls in between
		read, err := f.store.EventsAfter(ctx, f.at, 100)
		if err != nil {
			return event.Event{}, err
		}
		if f.read = read; len(read) > 0 {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return event.Event{}, ctx.Err()
		}
	}
	e := f.read[0]
	f.read, f.at = f.read[1:], e.Position
	return e.Event, nil
}

// want is an event that the story cannot go on without. Fields that are zero may be anything.
type want struct {
	kind     event.Type
	pipeline pipeline.ID
	period   period.Period
	attempt  int
}

func (w want) is(e event.Event) bool {
	d := e.Detail
	return w.kind == e.Type && w.pipeline == d.Pipeline &&
		(w.period.IsZero() || w.period == d.Date) && (w.attempt == 0 || w.attempt == d.Attempt)
}

func (w want) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s of %s %s", w.kind, w.pipeline, w.period))
}

// await tells what happens until all that is wanted has happened.
func (s *story) await(ctx context.Context, wanted ...want) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for len(wanted) > 0 {
		e, err := s.log.next(within)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return fmt.Errorf("waited %s for %s, and it did not come", patience, list(wanted))
		}
		if err != nil {
			return err
		}
		s.event(ctx, e)
		if i := slices.IndexFunc(wanted, func(w want) bool { return w.is(e) }); i >= 0 {
			wanted = slices.Delete(slices.Clone(wanted), i, i+1)
		}
	}
	return nil
}

func list(wanted []want) string {
	var words []string
	for _, w := range wanted {
		words = append(words, w.String())
	}
	return strings.Join(words, " and ")
}

// completed wants an attempt to complete.
func completed(id pipeline.ID, p period.Period, attempt int) want {
	return want{event.JobCompleted, id, p, attempt}
}
