package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// bury stores a dead letter: an alert that the sink rejected. It works under the lease of the
// process that sent it.
func (n *Notifier) bury(ctx context.Context, name string, lease *store.Lease, a sink.Alert, tries int, why error, now time.Time) error {
	letter := store.DeadLetter{Sink: name, Event: a.Event, Reason: why.Error(), Tries: tries, At: period.Instant(now)}
	if a.Count > 1 {
		letter.Count, letter.Since = a.Count, a.Since
	}
	b := store.Batch{ID: fmt.Sprintf("bury/%s/%s/%d/%d", name, a.Event.ID, tries, now.UnixNano()), Lease: lease, Dead: []store.DeadLetter{letter}}
	if err := n.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("store dead letter %s of sink %s: %w", a.Event.ID, name, takenOver(err))
	}
	return nil
}

// DeadQuery selects dead letters. Empty fields match any.
type DeadQuery struct {
	Sink   string
	Events []string // event ids
}

// dead lists the dead letters that match q, oldest first.
func (n *Notifier) dead(ctx context.Context, q DeadQuery) ([]store.DeadLetter, error) {
	letters, err := n.store.Dead(ctx, q.Sink)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return slices.DeleteFunc(letters, func(d store.DeadLetter) bool {
		return len(q.Events) > 0 && !slices.Contains(q.Events, d.Event.ID)
	}), nil
}

// Retried is the result of sending a dead letter again.
type Retried struct {
	Letter store.DeadLetter
	Error  string // why it was not sent; "" on success
}

// Retry sends dead letters again, sink by sink and oldest first, and removes those that the sink
// accepts. If several calls run at once, only one of them sends the letters of a sink. A sink that
// cannot be reached is tried once, not once per letter.
func (n *Notifier) Retry(ctx context.Context, q DeadQuery, now func() time.Time) ([]Retried, error) {
	letters, err := n.dead(ctx, q)
	if err != nil {
		return nil, err
	}
	bySink := map[string][]store.DeadLetter{}
	for _, d := range letters {
		bySink[d.Sink] = append(bySink[d.Sink], d)
	}
	var done []Retried
	for _, name := range slices.Sorted(maps.Keys(bySink)) {
		some, err := n.retrySink(ctx, name, bySink[name], q.Events, now)
		done = append(done, some...)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// retrySink sends the dead letters of one sink again.
func (n *Notifier) retrySink(ctx context.Context, name string, letters []store.DeadLetter, events []string, now func() time.Time) ([]Retried, error) {
	s := n.find(name)
	if s == nil {
		return unsent(letters, fmt.Sprintf("sink %s was removed from the server's file; `interlock alerts discard` deletes its dead letters", name)), nil
	}
	held, err := n.holdRetries(ctx, name, now())
	if err != nil {
		return nil, err
	}
	if held == nil {
		return unsent(letters, "not sent: another retry of this sink's dead letters is running"), nil
	}
	defer n.releaseRetries(ctx, held, now)
	if letters, err = n.dead(ctx, DeadQuery{Sink: name, Events: events}); err != nil { // an earlier retry may have sent some
		return nil, err
	}
	var done []Retried
	for i, letter := range letters {
		sent, err := n.retry(ctx, s, letter, held, now)
		if err != nil {
			return done, err
		}
		if done = append(done, Retried{letter, text(sent)}); sent != nil && !errors.As(sent, new(*sink.Refused)) {
			return append(done, unsent(letters[i+1:], "not sent: the sink does not accept alerts")...), nil
		}
	}
	return done, nil
}

// unsent returns letters as not sent, all for the same reason.
func unsent(letters []store.DeadLetter, why string) []Retried {
	var all []Retried
	for _, d := range letters {
		all = append(all, Retried{d, why})
	}
	return all
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// retry sends one letter. The first error is from the sink, the second from the store.
func (n *Notifier) retry(ctx context.Context, s sink.Sink, letter store.DeadLetter, lease *store.Lease, now func() time.Time) (sent, _ error) {
	kept, err := n.store.Renew(ctx, []store.Lease{*lease}, retryTerm, now()) // for one more letter
	if err == nil && len(kept) == 0 {
		err = ErrTakenOver
	}
	if err != nil {
		return nil, err
	}
	a := n.alert(letter.Event, max(letter.Count, 1), letter.Event.Time)
	if !letter.Since.IsZero() {
		a.Since = letter.Since
	}
	call, cancel := context.WithTimeout(ctx, retryLimit)
	defer cancel()
	if sent = n.sendLate(call, s, a); sent != nil {
		return sent, n.bury(ctx, letter.Sink, lease, a, letter.Tries+1, sent, now())
	}
	return nil, n.unbury(ctx, letter, lease, now())
}

// unbury removes a dead letter.
func (n *Notifier) unbury(ctx context.Context, letter store.DeadLetter, lease *store.Lease, now time.Time) error {
	b := store.Batch{
		ID:    fmt.Sprintf("unbury/%s/%s/%d/%d", letter.Sink, letter.Event.ID, letter.Tries, letter.At.UnixNano()),
		Lease: lease, Buried: []store.DeadLetter{letter},
	}
	if err := n.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("remove dead letter %s of sink %s: %w", letter.Event.ID, letter.Sink, err)
	}
	return nil
}

// Discard removes dead letters without sending them, and returns those it removed.
func (n *Notifier) Discard(ctx context.Context, q DeadQuery, now time.Time) ([]store.DeadLetter, error) {
	letters, err := n.dead(ctx, q)
	if err != nil {
		return nil, err
	}
	for i, letter := range letters {
		if err := n.unbury(ctx, letter, nil, now); err != nil {
			return letters[:i], err
		}
	}
	return letters, nil
}

const (
	retryLimit = time.Minute     // timeout for sending one letter
	retryTerm  = 5 * time.Minute // duration of the lease on a sink's dead letters
)

// holdRetries claims the dead letters of a sink; nil if another call holds them.
func (n *Notifier) holdRetries(ctx context.Context, name string, now time.Time) (*store.Lease, error) {
	id := "retry/" + name
	b := store.Batch{ID: id + "/" + rand.Text()}
	b.Schedule(store.Task{ID: id, Kind: store.Turn, Due: now.AddDate(100, 0, 0)}) // only ever claimed by id
	if err := n.store.Commit(ctx, b, now); err != nil {
		return nil, fmt.Errorf("retry the dead letters of sink %s: %w", name, err)
	}
	claims, err := n.store.Claim(ctx, store.ClaimQuery{Task: id, Limit: 1, Lease: retryTerm}, now)
	if err != nil {
		return nil, fmt.Errorf("retry the dead letters of sink %s: %w", name, err)
	}
	if len(claims) == 0 {
		return nil, nil
	}
	return &claims[0].Lease, nil
}

// releaseRetries finishes the task, even if the caller's context has ended. If that fails, the
// lease expires by itself.
func (n *Notifier) releaseRetries(ctx context.Context, lease *store.Lease, now func() time.Time) {
	b := store.Batch{ID: "end-" + lease.Task + "/" + rand.Text(), Lease: lease}
	b.Finish(lease.Task)
	_ = n.store.Commit(context.WithoutCancel(ctx), b, now())
}

// ErrNoRoute means that the named route does not exist.
var ErrNoRoute = errors.New("there is no such route")

// Tested is a sink's result for a test alert.
type Tested struct {
	Sink  string
	Error string // why the sink did not accept it; "" on success
}

// Test sends a test alert to each sink of a route once. It returns ErrNoRoute if there is no route
// of that name.
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
