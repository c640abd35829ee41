package watchdog

import (
	"sync"
	"sync/atomic"
)

// each looks at every one of all, at several at once if there are workers for it, and counts what was found. It ends with the
// first that cannot be looked at.
func each[T any](workers int, all []T, look func(one T) (int, error)) (int, error) {
	var next, found atomic.Int64
	var first error
	var once sync.Once
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
			n, err := look(all[i])
			found.Add(int64(n))
			if err != nil {
				next.Store(int64(len(all)))
				once.Do(func() { first = err })
			}
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return int(found.Load()), first
}
