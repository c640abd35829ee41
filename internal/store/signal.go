package store

import "sync"

// Signal wakes all goroutines that wait for something to happen in a store. Its zero value is ready
// to use.
type Signal struct {
	mu      sync.Mutex
	waiting chan struct{}
}

// Next returns a channel that is closed when the signal is raised after this call.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = make(chan struct{})
	}
	return s.waiting
}

// Raise wakes all waiting goroutines.
func (s *Signal) Raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}
