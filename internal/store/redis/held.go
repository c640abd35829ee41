package redis

import (
	"slices"
	"sync"

	"github.com/interlock-go/interlock/internal/store"
)

// held is what this Store has been given of the feed and has not finished, by group. Redis knows it too, but for an answer that
// was lost: then Redis takes something for given that nobody has heard of. What it was stands beside its position: a failover that
// lost the last changes gives their positions to others.
type held struct {
	mu     sync.Mutex
	groups map[string]map[store.Position]store.Change
	unsure map[string]bool // consumers that asked and had no answer
}

// maxPending is how many changes one consumer is asked about at once: more than anybody holds.
const maxPending = 10000

func consumerName(group, consumer string) string { return group + "/" + consumer }

// doubt notes that an answer was lost, or that one came.
func (h *held) doubt(consumer string, is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unsure == nil {
		h.unsure = map[string]bool{}
	}
	h.unsure[consumer] = is
}

func (h *held) doubts(consumer string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unsure[consumer]
}

// take leaves out what is held already, and holds the rest.
func (h *held) take(group string, changes []store.Change) []store.Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.groups == nil {
		h.groups = map[string]map[store.Position]store.Change{}
	}
	if h.groups[group] == nil {
		h.groups[group] = map[store.Position]store.Change{}
	}
	holds := h.groups[group]
	changes = slices.DeleteFunc(changes, func(c store.Change) bool { return holds[c.Position] == c })
	for _, c := range changes {
		holds[c.Position] = c
	}
	return changes
}

// own leaves out those in whose place another is held by now, which is not finished with them.
func (h *held) own(group string, changes []store.Change) []store.Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	var own []store.Change
	for _, c := range changes {
		if is, held := h.groups[group][c.Position]; !held || is == c {
			own = append(own, c)
		}
	}
	return own
}

func (h *held) drop(group string, changes []store.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range changes {
		delete(h.groups[group], c.Position)
	}
}
