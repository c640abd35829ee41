package store

import "sync"

// Signal wakes everybody who waits for something to happen in a store. Its zero value is ready to use.
type Signal struct {
	mu      sync.Mutex
	waiting chan struct{}
}

// Next is closed when the signal is raised after this call.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = make(chan struct{})
	}
	return s.waiting
}

// Raise wakes those who wait.
func (s *Signal) Raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}
