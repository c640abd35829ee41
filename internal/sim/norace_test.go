//go:build !race

package sim

// raced says that the race detector is at work.
const raced = false
