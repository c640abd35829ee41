package engine

import "sync"

// crew runs functions side by side, each on a goroutine that is used again afterwards: what handlers call needs a deep stack,
// and a new goroutine would grow one, copying all of it each time, for every change and every task.
type crew struct {
	next    chan func()
	running sync.WaitGroup // functions
	idle    sync.WaitGroup // goroutines
}

func newCrew() *crew { return &crew{next: make(chan func())} }

// begin has f run.
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

// end waits for what was begun. Nothing may be begun after it.
func (c *crew) end() {
	c.running.Wait()
	close(c.next)
	c.idle.Wait()
}
