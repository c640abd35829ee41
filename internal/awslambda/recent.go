package awslambda

import "sync"

// recent remembers names for the lifetime of the function and forgets the oldest when there are too many. Its zero
// value is ready to use.
type recent struct {
	mu    sync.Mutex
	names map[string]bool
	order []string
}

const maxRecent = 4096

func (r *recent) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[name]
}

func (r *recent) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]bool{}
	}
	if r.names[name] {
		return
	}
	r.names[name] = true
	if r.order = append(r.order, name); len(r.order) > maxRecent {
		delete(r.names, r.order[0])
		r.order = r.order[1:]
	}
}
