package scenario_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// loop is the simplest possible host: it does one thing after the other, changes first, then tasks
// in order of their due time.
type loop struct {
	*testing.T
	keeper
	jobs    *target
	parts   *parts
	every   time.Duration // watchdog interval
	watched time.Time     // time of the next watchdog pass
}

func (l *loop) start() {
	l.Helper()
	parts, err := newParts(l.Context(), l.open(), l.jobs)
	l.check(err)
	l.check(l.store().VoidLeases(l.Context()))
	l.parts = parts
	l.settle()
	l.watch()
}

func (l *loop) stop() { l.close() }

func (l *loop) apply(files catalog.Files) error { return l.parts.apply(l.Context(), files) }

func (l *loop) put(id pipeline.ID, key string, fields sensor.Fields) error {
	return l.parts.put(l.Context(), id, key, fields)
}

func (l *loop) operate(ask func(ctx context.Context, r *router.Router, now time.Time) error) error {
	return ask(l.Context(), l.parts.Router, time.Now())
}

func (*loop) now() time.Time { return time.Now() }

func (l *loop) check(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *loop) watch() {
	l.Helper()
	l.check(l.parts.watch(l.Context(), time.Now()))
	l.watched = time.Now().Add(l.every)
	l.settle()
}

// until advances from one due instant to the next.
func (l *loop) until(at time.Time) {
	l.Helper()
	for l.running() {
		l.settle()
		next := at
		due, err := l.store().NextDue(l.Context(), store.ClaimQuery{Replica: replica})
		l.check(err)
		for _, other := range []time.Time{due, l.watched} {
			if !other.IsZero() && other.Before(next) {
				next = other
			}
		}
		time.Sleep(time.Until(next)) // the bubble's clock
		l.settle()
		if !time.Now().Before(l.watched) {
			l.watch()
		}
		if !time.Now().Before(at) {
			return
		}
	}
	time.Sleep(time.Until(at))
}

// settle does all due work.
func (l *loop) settle() {
	l.Helper()
	for l.running() && (l.followed() || l.worked()) {
	}
}

// followed handles a change, if there is one.
func (l *loop) followed() bool {
	l.Helper()
	n, _, err := l.store().Backlog(l.Context(), group)
	l.check(err)
	if n == 0 {
		return false
	}
	changes, err := l.store().Receive(l.Context(), group, replica, 1)
	l.check(err)
	for _, c := range changes {
		l.check(l.parts.Router.Handle(l.Context(), c, time.Now()))
	}
	l.check(l.store().Done(l.Context(), group, changes))
	return true
}

// worked carries out a task, if one is due.
func (l *loop) worked() bool {
	l.Helper()
	claims, err := l.store().Claim(l.Context(), store.ClaimQuery{Replica: replica, Limit: 1, Lease: lease}, time.Now())
	l.check(err)
	for _, c := range claims {
		l.check(l.parts.Perform(l.Context(), c))
	}
	return len(claims) > 0
}
