package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// bury stores a dead letter: an alert that a sink rejects. It works under the lease of the process that sent it.
func (n *Notifier) bury(ctx context.Context, name string, lease *store.Lease, a sink.Alert, tries int, why error, now time.Time) error {
	letter := store.DeadLetter{Sink: name, Event: a.Event, Reason: why.Error(), Tries: tries, At: now.Round(0).UTC()}
	if a.Count > 1 {
		letter.Count, letter.Since = a.Count, a.Since
	}
	b := store.Batch{ID: fmt.Sprintf("bury/%s/%s/%d/%d", name, a.Event.ID, tries, now.UnixNano()), Lease: lease, Dead: []store.DeadLetter{letter}}
	if err := n.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("store dead letter %s of sink %s: %w", a.Event.ID, name, takenOver(err))
	}
	return nil
}

// RetryQuery says which dead letters are to be sent again. Empty fields mean any.
type RetryQuery struct {
	Sink   string
	Events []string // their ids
}

// Retried is what became of a dead letter that was sent again.
type Retried struct {
	Letter store.DeadLetter
	Error  string // why it was not taken; "" if it was
}

// Retry sends dead letters once more, oldest first, and takes out those that are taken now. A sink that cannot be reached
// is asked once, not for each of its letters.
func (n *Notifier) Retry(ctx context.Context, q RetryQuery, now func() time.Time) ([]Retried, error) {
	letters, err := n.store.Dead(ctx, q.Sink)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	var done []Retried
	away := map[string]string{}
	for _, letter := range letters {
		if len(q.Events) > 0 && !slices.Contains(q.Events, letter.Event.ID) {
			continue
		}
		if why, known := away[letter.Sink]; known {
			done = append(done, Retried{letter, why})
			continue
		}
		sent, err := n.retry(ctx, letter, now)
		if err != nil {
			return done, err
		}
		if sent != nil && !errors.As(sent, new(*sink.Refused)) {
			away[letter.Sink] = "not tried: the sink does not take alerts"
		}
		done = append(done, Retried{letter, text(sent)})
	}
	return done, nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// retry sends one letter. The first error is the sink's, the second that the store did not answer.
func (n *Notifier) retry(ctx context.Context, letter store.DeadLetter, now func() time.Time) (sent, _ error) {
	s := n.find(letter.Sink)
	if s == nil {
		return fmt.Errorf("there is no sink %s in the server's file", letter.Sink), nil
	}
	a := n.alert(letter.Event, max(letter.Count, 1), letter.Event.Time)
	if !letter.Since.IsZero() {
		a.Since = letter.Since
	}
	if sent = s.Send(ctx, a); sent != nil {
		return sent, n.bury(ctx, letter.Sink, nil, a, letter.Tries+1, sent, now())
	}
	b := store.Batch{ID: fmt.Sprintf("unbury/%s/%s/%d/%d", letter.Sink, letter.Event.ID, letter.Tries, letter.At.UnixNano()), Buried: []store.DeadLetter{letter}}
	if err := n.store.Commit(ctx, b, now()); err != nil {
		return nil, fmt.Errorf("take out dead letter %s: %w", letter.Event.ID, err)
	}
	return nil, nil
}

// ErrNoRoute says that there is no such route.
var ErrNoRoute = errors.New("there is no such route")

// Tested is what a sink said to a sample.
type Tested struct {
	Sink  string
	Error string // why it was not taken; "" if it was
}

// Test sends a sample through the sinks of a route, each once. It is ErrNoRoute where there is none of that name.
func (n *Notifier) Test(ctx context.Context, route, by string, now time.Time) ([]Tested, error) {
	i := slices.IndexFunc(n.routes, func(r Route) bool { return r.Name == route })
	if i < 0 {
		return nil, fmt.Errorf("%.60q: %w", route, ErrNoRoute)
	}
	e := n.routes[i].sample(by, now)
	var said []Tested
	for _, name := range n.routes[i].Sinks {
		if s := n.find(name); s != nil {
			said = append(said, Tested{name, text(s.Send(ctx, n.alert(e, 1, e.Time)))})
		}
	}
	return said, nil
}
