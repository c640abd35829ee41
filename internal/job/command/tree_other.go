//go:build unix && !linux

package command

import "github.com/interlock-go/interlock/internal/program"

// adoptOrphans is left to the system's first process here.
func adoptOrphans() {}

// endAll ends the command's process group: it asks, and after the grace it kills. A process that has left the group cannot be
// found here.
func (k *keeper) endAll(<-chan struct{}) {
	program.EndGroup(k.group, k.Grace, func() {}) // reap waits for its processes
}
