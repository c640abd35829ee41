package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// parallel shares b.N calls among so many goroutines and reports how long the slow ones took.
func parallel(b *testing.B, goroutines int, call func(r *rand.Rand, n int) error) {
	var wg sync.WaitGroup
	took := make([][]time.Duration, goroutines)
	b.ResetTimer()
	used := processorTime(b)
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for n := g; n < b.N; n += goroutines {
				began := time.Now()
				if err := call(r, n); err != nil {
					b.Error(err)
					return
				}
				took[g] = append(took[g], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-used).Nanoseconds())/1000/float64(b.N), "µs-cpu")
	all := slices.Sorted(func(yield func(time.Duration) bool) {
		for _, some := range took {
			for _, d := range some {
				if !yield(d) {
					return
				}
			}
		}
	})
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs-p99")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// processorTime tells how much a call costs, also on a machine that is busy with something else.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func randomWrite(r *rand.Rand) store.Write {
	return store.Write{
		Pipeline: pipeline.ID(fmt.Sprintf("pipeline-%d", r.IntN(1000))),
		Reading: sensor.Reading{
			Key:    sensor.Key(fmt.Sprintf("sensor-%d", r.IntN(10))),
			Fields: sensor.Fields{"complete": true, "count": r.Int64N(1e6), "date": "2026-03-03", "status": "ready"},
		},
	}
}

// The rate of durable writes: 64 callers, 10,000 keys.
func BenchmarkPutReadings(b *testing.B) {
	s := opened(b, b.TempDir(), Options{})
	parallel(b, 64, func(r *rand.Rand, _ int) error {
		_, err := s.PutReadings(b.Context(), []store.Write{randomWrite(r)}, noon)
		return err
	})
}

// The same with every write filed in its row at once, which is what folding is measured against.
func BenchmarkPutReadingsFoldedAtOnce(b *testing.B) {
	s := opened(b, b.TempDir(), Options{foldAfter: 1})
	parallel(b, 64, func(r *rand.Rand, _ int) error {
		_, err := s.PutReadings(b.Context(), []store.Write{randomWrite(r)}, noon)
		return err
	})
}

// One caller: a durable write and nothing else.
func BenchmarkPutReadingAlone(b *testing.B) {
	s := opened(b, b.TempDir(), Options{})
	parallel(b, 1, func(r *rand.Rand, _ int) error {
		_, err := s.PutReadings(b.Context(), []store.Write{randomWrite(r)}, noon)
		return err
	})
}

// What a step of an attempt costs: a run swapped, two events, its task moved.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := opened(b, b.TempDir(), Options{})
			parallel(b, callers, func(_ *rand.Rand, n int) error { return s.Commit(b.Context(), step(n), noon) })
		})
	}
}

func step(n int) store.Batch {
	key := keyOf(pipeline.ID(fmt.Sprintf("pipeline-%d", n)))
	b := opening(key)
	b.Emit(told(key, "another"))
	return b
}

// Reading what a gate with two rules looks at.
func BenchmarkReadings(b *testing.B) {
	s := opened(b, b.TempDir(), Options{foldAfter: 1000})
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		var writes []store.Write
		for range 1000 {
			writes = append(writes, randomWrite(r))
		}
		if _, err := s.PutReadings(b.Context(), writes, noon); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		w := randomWrite(r)
		queries := []store.ReadingQuery{
			{Pipeline: w.Pipeline, Key: w.Reading.Key, Period: day("2026-03-03")}, {Pipeline: w.Pipeline, Key: "sensor-0", Period: day("2026-03-03")},
		}
		if _, err := s.Readings(b.Context(), queries); err != nil {
			b.Fatal(err)
		}
	}
}
