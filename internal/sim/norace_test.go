//go:build !race

package sim

// raced reports whether the race detector is enabled.
const raced = false
