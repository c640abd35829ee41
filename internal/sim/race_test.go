//go:build race

package sim

// raced says that the race detector is at work, under which everything takes ten times as long.
const raced = true
