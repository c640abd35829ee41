package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// Idle caches when the next task is due, until one is stored or finished. A process polls every
// second, for hours of a bubble's time in which nothing is due: a store that a test wraps can
// answer most polls from here. Its zero value is ready to use.
type Idle struct {
	mu      sync.Mutex
	due     time.Time
	changed <-chan struct{}
}

// Until reports that nothing is due yet, so that there is nothing to claim.
func (i *Idle) Until(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.known() && now.Before(i.due)
}

func (i *Idle) known() bool {
	if i.changed == nil || i.due.IsZero() {
		return false
	}
	select {
	case <-i.changed:
		return false
	default:
		return true
	}
}

// NextDue returns s.NextDue, or its cached value. All calls must use the same query.
func (i *Idle) NextDue(ctx context.Context, s store.Tasks, q store.ClaimQuery) (time.Time, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known() && time.Now().Before(i.due) { // a lease that ends then may have been renewed
		return i.due, nil
	}
	i.changed = s.TasksChanged()
	var err error
	i.due, err = s.NextDue(ctx, q)
	return i.due, err
}
