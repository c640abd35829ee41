package engine

import "sync"

// crew runs functions concurrently on reused goroutines. Handlers need a deep stack, and a new goroutine for every
// change and task would have to grow its stack, copying it, each time.
type crew struct {
	next    chan func()
	running sync.WaitGroup // functions
	idle    sync.WaitGroup // goroutines
}

func newCrew() *crew { return &crew{next: make(chan func())} }

// begin runs f on an idle goroutine, or on a new one.
func (c *crew) begin(f func()) {
	c.running.Add(1)
	select {
	case c.next <- f:
	default:
		c.idle.Go(func() { c.work(f) })
	}
}

func (c *crew) work(f func()) {
	for more := true; more; f, more = <-c.next {
		f()
		c.running.Done()
	}
}

// end waits for all functions to return. begin must not be called after it.
func (c *crew) end() {
	c.running.Wait()
	close(c.next)
	c.idle.Wait()
}
