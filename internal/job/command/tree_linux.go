package command

import (
	"time"

	"github.com/interlock-go/interlock/internal/program"
)

const (
	// endsSoon is how long the descendants have to end by themselves once the command has.
	endsSoon = 10 * time.Millisecond
	// killTime is how long a killed process has to disappear. One that hangs in the kernel does
	// not.
	killTime = 30 * time.Second
)

// endAll ends the command and all its descendants: it sends SIGTERM, and SIGKILL after the grace
// period. Another attempt, or a job that waits for this one, may follow at once, so no descendant
// may remain. none is closed when none is left.
func (k *keeper) endAll(none <-chan struct{}) {
	if closedWithin(none, endsSoon) {
		return
	}
	tree := program.Tree{Group: k.command, Kill: k.group.Kill}
	tree.End(k.Grace, none)
}

// closedWithin reports whether a channel is closed within the limit.
func closedWithin(c <-chan struct{}, limit time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(limit):
		return false
	}
}
