//go:build race

package sim

// raced reports whether the race detector is enabled, which makes everything ten times slower.
const raced = true
