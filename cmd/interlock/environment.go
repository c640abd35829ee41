package main

import "sync"

// environment is the process's environment without the secrets that were taken out of it.
type environment struct {
	read  func(name string) string
	unset func(name string) error

	mu    sync.Mutex
	taken map[string]string
}

// get returns a variable, also one that was taken.
func (e *environment) get(name string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if value, taken := e.taken[name]; taken {
		return value
	}
	return e.read(name)
}

// take removes variables from the process's environment, so that no program started with it sees them. Only get still
// returns them.
func (e *environment) take(names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range names {
		value := e.read(name)
		if value == "" || e.unset(name) != nil {
			continue
		}
		if e.taken == nil {
			e.taken = map[string]string{}
		}
		e.taken[name] = value
	}
}
