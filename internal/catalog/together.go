package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock/internal/store"
)

const (
	// many is how many commits are made one at a time, so that their events have a defined order. If there are more
	// (the first files of a large installation), they run concurrently and share fsyncs.
	many = 64
	// atOnce is how many then run at once, and how many versions are read at a time.
	atOnce = 32
)

// together calls f for 0..n-1 with that many workers, in order if there is one, and joins the
// errors. A failing call does not stop the others, unless the store is down. It returns when all
// calls have returned.
func together(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range min(workers, n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				err := f(int(i))
				if err == nil {
					continue
				}
				if errors.Is(err, store.ErrAway) || errors.Is(err, context.Canceled) {
					next.Store(int64(n))
				}
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(errs...)
}

// maxErrors is how many errors together lists.
const maxErrors = 5
