package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/sim"
)

// tally counts the outcomes of seeds.
type tally struct {
	seeds uint64
	began time.Time

	mu      sync.Mutex
	played  uint64
	virtual time.Duration
	steps   int
	faults  map[sim.Kind]int
	failed  []sim.Outcome
	printed time.Time
}

func newTally(seeds uint64) *tally {
	return &tally{seeds: seeds, began: time.Now(), printed: time.Now(), faults: map[sim.Kind]int{}}
}

// add counts one seed, and prints the progress from time to time.
func (t *tally) add(o sim.Outcome, out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.played++
	t.virtual += o.Virtual
	t.steps += o.Steps
	for _, f := range o.Faults {
		t.faults[f.Kind]++
	}
	if len(o.Broken) > 0 {
		t.failed = append(t.failed, o)
		fmt.Fprintf(out, "seed %d: %s\n", o.Seed, o.Broken[0])
	}
	if time.Since(t.printed) > 2*time.Second {
		t.printed = time.Now()
		fmt.Fprintln(out, t.line())
	}
}

const day = 24 * time.Hour

func (t *tally) line() string {
	days := float64(t.virtual) / float64(day)
	return fmt.Sprintf("%d of %d seeds, %.0f virtual days, %.1f a second, %d failed", t.played, t.seeds, days, days/time.Since(t.began).Seconds(), len(t.failed))
}

// print prints the summary.
func (t *tally) print(out io.Writer) {
	fmt.Fprintln(out, t.line())
	total := 0
	kinds := slices.SortedFunc(maps.Keys(t.faults), func(a, b sim.Kind) int {
		return cmp.Or(cmp.Compare(t.faults[b], t.faults[a]), cmp.Compare(a, b))
	})
	for _, kind := range kinds {
		total += t.faults[kind]
		fmt.Fprintf(out, "%9d  %s\n", t.faults[kind], kind)
	}
	fmt.Fprintf(out, "%9d  faults, %d steps, %s\n", total, t.steps, time.Since(t.began).Round(time.Second/10))
	slices.SortFunc(t.failed, func(a, b sim.Outcome) int { return cmp.Compare(a.Seed, b.Seed) })
}
