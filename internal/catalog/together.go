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
	// many is how many commits are made one after the other, so that what they tell is told in a known order. Where there
	// are more, the first files of a large installation, they share fsyncs instead.
	many = 64
	// atOnce is how many are then on their way, and how many versions are read at a time.
	atOnce = 32
)

// together calls f for 0..n-1 with so many workers, in order if that is one, and joins the errors of
// the calls that fail. No call keeps the others from being made, unless it finds the store away. It
// returns when all calls have.
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

// maxErrors is how many errors together spells out.
const maxErrors = 5
