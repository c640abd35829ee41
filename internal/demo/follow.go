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

// patience is the timeout for an event. No event takes nearly that long.
const patience = 30 * time.Second

// follower reads the events of a store one after the other.
type follower struct {
	store events
	at    store.Position
	read  []store.StoredEvent
}

// next waits for and returns the next event.
func (f *follower) next(ctx context.Context) (event.Event, error) {
	for len(f.read) == 0 {
		changed := f.store.EventsChanged() // before reading, so that no event is missed
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

// want is an event that the story needs. Zero fields match anything.
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

// await narrates events until all wanted ones have happened.
func (s *story) await(ctx context.Context, wanted ...want) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for len(wanted) > 0 {
		e, err := s.log.next(within)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return fmt.Errorf("timed out after %s waiting for %s", patience, list(wanted))
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

// completed returns the want for a completed attempt.
func completed(id pipeline.ID, p period.Period, attempt int) want {
	return want{event.JobCompleted, id, p, attempt}
}
