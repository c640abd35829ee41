// Command simulate plays seeds of package sim on all cores and prints a summary. If a seed breaks a
// promise, it shrinks the seed to the fewest faults that still break it, and prints the command
// that replays them with their history.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/sim"
)

func main() {
	debug.SetGCPercent(1000) // worlds are small and short: time matters more than memory
	os.Exit(run(os.Args[1:], os.Stdout))
}

// everything stands for all faults and errands of a seed.
const everything = "all"

type settings struct {
	from, seeds uint64
	replay      bool
	only        string
	shrinks     int
}

func run(args []string, out io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Func("from", "the first `seed`, or \"random\" (default 0)", s.setFrom)
	flags.Uint64Var(&s.seeds, "seeds", 1000, "how many seeds")
	flags.BoolVar(&s.replay, "replay", false, "play only the first seed, and print its history")
	flags.StringVar(&s.only, "only", everything, "with -replay: the faults and errands that happen, by id, separated by commas")
	flags.IntVar(&s.shrinks, "shrink", 400, "how often a seed that fails is played to find the fewest faults; 0 for not at all")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if s.replay {
		return replay(s, out)
	}
	return s.sweep(out)
}

// setFrom parses the first seed. Random seeds stay short enough to be typed.
func (s *settings) setFrom(text string) (err error) {
	if text == "random" {
		s.from = rand.Uint64N(1e12)
		return nil
	}
	s.from, err = strconv.ParseUint(text, 10, 64)
	return err
}

// replay plays one seed and prints its history.
func replay(s settings, out io.Writer) int {
	r := sim.Replay{Trace: out}
	if s.only != everything {
		r.Only = strings.Split(s.only, ",")
	}
	o := sim.Play(s.from, r)
	for _, v := range o.Broken {
		fmt.Fprintln(out, v)
	}
	fmt.Fprintf(out, "seed %d: %d invariants broken, %d faults, %s of virtual time\n", o.Seed, len(o.Broken), len(o.Faults), o.Virtual.Round(time.Second))
	return min(len(o.Broken), 1)
}

// sweep plays many seeds.
func (s settings) sweep(out io.Writer) int {
	fmt.Fprintf(out, "seeds %d to %d\n", s.from, s.from+s.seeds-1)
	t := newTally(s.seeds)
	next := make(chan uint64)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for seed := range next {
				t.add(sim.Play(seed, sim.Replay{}), out)
			}
		})
	}
	for seed := s.from; seed < s.from+s.seeds; seed++ {
		next <- seed
	}
	close(next)
	workers.Wait()
	t.print(out)
	for _, o := range t.failed {
		s.explain(o, out)
	}
	return min(len(t.failed), 1)
}

// explain shrinks a seed that failed, and prints how to replay it.
func (s settings) explain(o sim.Outcome, out io.Writer) {
	fmt.Fprintf(out, "\nseed %d\n", o.Seed)
	for _, v := range o.Broken {
		fmt.Fprintf(out, "  %s\n", v)
	}
	command := fmt.Sprintf("go run ./internal/sim/simulate -replay -from %d", o.Seed)
	if s.shrinks > 0 {
		shrunk, keep := sim.Shrink(o.Seed, o.Broken[0].Invariant, sim.Replay{}, s.shrinks)
		if keep != nil {
			fmt.Fprintf(out, "  with %d of %d faults and errands:\n", len(keep), len(o.Happened))
			for _, f := range shrunk.Faults {
				fmt.Fprintf(out, "    %s: %s\n", f.ID, f.Kind)
			}
			command += fmt.Sprintf(" -only '%s'", strings.Join(keep, ","))
		}
	}
	fmt.Fprintf(out, "  %s\n", command)
}
