package sqlite

import "sync"

// signal wakes everybody who waits for something to be committed.
type signal struct {
	mu      sync.Mutex
	waiting chan struct{}
}

// next is closed when the signal is raised after this call.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = make(chan struct{})
	}
	return s.waiting
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}
