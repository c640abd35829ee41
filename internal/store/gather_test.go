package store_test

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
)

func TestConcurrentCallsAreBatchedWithinBounds(t *testing.T) {
	const underWay = 2
	g := store.NewGatherer(underWay, func(waiting []int) int { return min(3, len(waiting)) })
	release, groups := make(chan struct{}), make(chan []int, 10)
	do := func(calls []int) {
		groups <- calls
		<-release
	}
	for i := range underWay { // these do not wait
		g.Take(do, i)
		if got := <-groups; !slices.Equal(got, []int{i}) {
			t.Fatalf("batch %v, want the single call", got)
		}
	}
	g.Take(do, 2)
	g.Take(do, 3, 4, 5, 6)
	g.Take(do, 7, 8)
	release <- struct{}{}
	for _, want := range [][]int{{2, 3, 4}, {5, 6, 7}, {8}} {
		if got := <-groups; !slices.Equal(got, want) {
			t.Fatalf("batch %v, want %v", got, want)
		}
		release <- struct{}{}
	}
	release <- struct{}{}
}
