package catalog

import (
	"sync"
	"sync/atomic"
)

const (
	// many is how many commits are made one after the other, so that what they tell is told in a known order. Where there
	// are more, the first files of a large installation, they share fsyncs instead.
	many = 64
	// atOnce is how many are then on their way, and how many versions are read at a time.
	atOnce = 32
)

// together calls f for 0..n-1 with so many workers, in order if that is one, until one call fails. It returns when all
// have ended: nothing goes on behind the caller's back.
func together(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var first error
	var once sync.Once
	for range min(workers, n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := f(int(i)); err != nil {
					next.Store(int64(n))
					once.Do(func() { first = err })
				}
			}
		})
	}
	wg.Wait()
	return first
}
