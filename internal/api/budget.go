package api

import (
	"sync/atomic"

	"github.com/interlock-go/interlock/internal/source"
)

// The memory that request bodies may use at once, in all requests of a process together. The
// garbage collector lets the heap grow to about twice what is in use.
const (
	bodyBudget = 64 << 20
	// jobBudget is for claims, heartbeats and reports alone: a flood of other requests must not make
	// a healthy job miss its heartbeat.
	jobBudget = 16 << 20
	// loginBudget is for logins alone, which need no token.
	loginBudget = 4 << 20
	// smallBody is what a body may cost to use the last quarter of a budget, which large bodies must
	// leave free: readings get through while large bodies fill the rest.
	smallBody = 256 << 10
)

// What a body costs: its text in buffers and copies, and the Go values that it becomes. A map with
// one entry needs about 350 bytes, and a part of them once more while it is decoded.
const (
	costPerByte   = 3
	costPerValue  = 64
	costPerObject = 480
	// costPerText is for text that a source may decode as JSON once more, up to maxNestedCost.
	costPerText   = 8
	maxNestedCost = source.MaxNested * (costPerValue + costPerObject) / 2
)

// budget limits the memory of the bodies that are being read and handled.
type budget struct {
	size int64
	used atomic.Int64
}

// most returns how much of the budget may be in use with a body of that cost.
func (b *budget) most(cost int64) int64 {
	if cost > smallBody {
		return b.size - b.size/4
	}
	return b.size
}

// never reports whether a body costs more than the budget ever has.
func (b *budget) never(cost int64) bool { return cost > b.most(cost) }

// room reports whether the budget has room for a body of that cost now.
func (b *budget) room(cost int64) bool { return b.used.Load()+cost <= b.most(cost) }

// reserve adds n to what a body has reserved so far, or returns false if the budget has no room.
func (b *budget) reserve(n, sofar int64) bool {
	for {
		used := b.used.Load()
		if used+n > b.most(sofar+n) {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (b *budget) release(n int64) { b.used.Add(-n) }
