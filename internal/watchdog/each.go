package watchdog

import (
	"sync"
	"sync/atomic"
)

// each looks at every pipeline, at several at once if there are workers for it, and counts what was found. It ends with the
// first that cannot be looked at.
func (w *Watchdog) each(p pass, look func(e watched) (int, error)) (int, error) {
	var next, found atomic.Int64
	var first error
	var once sync.Once
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(p.entries)); i = next.Add(1) - 1 {
			n, err := look(p.entries[i])
			found.Add(int64(n))
			if err != nil {
				next.Store(int64(len(p.entries)))
				once.Do(func() { first = err })
			}
		}
	}
	var others sync.WaitGroup
	for range w.Workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return int(found.Load()), first
}
