package promise_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

// faults are the faults between a controller and its store, besides its crash. The numbers are
// probabilities.
type faults struct {
	seed    uint64
	repeats float64 // an old change is delivered again
	loses   float64 // a commit succeeds and its answer is lost
	stalls  float64 // the controller sleeps, for up to twice its lease, right after a store call
	refuses float64 // a commit fails

	lag time.Duration // the longest delay of a commit, before and after it takes effect

	drops func(store.Change) bool // changes that never reach the controller
	skew  *atomic.Int64           // the error of its clock
	nods  *atomic.Bool            // the next controller to make a start call sleeps first, for two leases
}

func (f faults) skewed() time.Duration {
	if f.skew == nil {
		return 0
	}
	return time.Duration(f.skew.Load())
}

// errFault is the error that a controller sees.
var errFault = errors.New("the store does not answer")

// line is one controller's connection to the store.
type line struct {
	store.Store
	faults faults
	idle   storetest.Idle

	mu    sync.Mutex
	rand  *rand.Rand
	seen  []store.Change
	wakes time.Time // until then the controller sleeps
}

func newLine(s store.Store, f faults) *line {
	return &line{Store: s, faults: f, rand: rand.New(rand.NewPCG(f.seed, 1))}
}

func (l *line) happens(probability float64) bool {
	if probability == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rand.Float64() < probability
}

// stall sometimes suspends the whole controller, perhaps for longer than its lease.
func (l *line) stall() {
	if l.happens(l.faults.stalls) {
		l.mu.Lock()
		l.wakes = time.Now().Add(time.Duration(l.rand.Int64N(int64(2 * lease))))
		l.mu.Unlock()
	}
	l.rest()
}

// rest waits while the controller sleeps.
func (l *line) rest() {
	l.mu.Lock()
	d := time.Until(l.wakes)
	l.mu.Unlock()
	time.Sleep(d) // the bubble's clock
}

// take delays a commit.
func (l *line) take() {
	if l.faults.lag == 0 {
		return
	}
	l.mu.Lock()
	d := time.Duration(l.rand.Int64N(int64(l.faults.lag)))
	l.mu.Unlock()
	time.Sleep(d) // the bubble's clock
}

func (l *line) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	l.rest()
	if l.happens(l.faults.refuses) {
		return errFault
	}
	l.take()
	err := l.Store.Commit(ctx, b, now)
	l.take()
	if err == nil && l.happens(l.faults.loses) {
		err = errFault
	}
	if err == nil && len(b.Snapshots) > 0 && l.faults.nods != nil && l.faults.nods.CompareAndSwap(true, false) {
		l.mu.Lock()
		l.wakes = time.Now().Add(2 * lease)
		l.mu.Unlock()
	}
	l.stall()
	return err
}

// Receive redelivers old changes among the new ones, and drops some.
func (l *line) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	changes, err := l.Store.Receive(ctx, group, consumer, limit)
	if err != nil {
		return nil, err
	}
	var given []store.Change
	for _, c := range changes {
		if l.faults.drops != nil && l.faults.drops(c) {
			if err := l.Store.Done(ctx, group, []store.Change{c}); err != nil {
				return nil, err
			}
			continue
		}
		given = append(given, c)
		l.mu.Lock()
		l.seen = append(l.seen, c)
		l.mu.Unlock()
		if l.happens(l.faults.repeats) {
			l.mu.Lock()
			given = append(given, l.seen[l.rand.IntN(len(l.seen))])
			l.mu.Unlock()
		}
	}
	if len(given) == 0 {
		return l.Receive(ctx, group, consumer, limit)
	}
	return given, nil
}

// The controller's clock may be wrong wherever it passes the time to the store.

func (l *line) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	l.rest()
	now = now.Add(l.faults.skewed())
	if l.idle.Until(now) {
		return nil, nil
	}
	claims, err := l.Store.Claim(ctx, q, now)
	if len(claims) > 0 {
		l.stall()
	}
	return claims, err
}

func (l *line) Renew(ctx context.Context, leases []store.Lease, d time.Duration, now time.Time) ([]store.Lease, error) {
	l.stall()
	return l.Store.Renew(ctx, leases, d, now.Add(l.faults.skewed()))
}

func (l *line) Release(ctx context.Context, leases []store.Lease, now time.Time) error {
	return l.Store.Release(ctx, leases, now.Add(l.faults.skewed()))
}

func (l *line) NextDue(ctx context.Context, q store.ClaimQuery) (time.Time, error) {
	due, err := l.idle.NextDue(ctx, l.Store, q)
	if !due.IsZero() {
		due = due.Add(-l.faults.skewed())
	}
	return due, err
}
