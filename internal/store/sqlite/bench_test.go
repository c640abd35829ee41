package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// parallel divides b.N calls among goroutines, and reports the rate, percentiles and CPU time per
// call.
func parallel(b *testing.B, goroutines int, call func(r *rand.Rand, g, n int) error) {
	var wg sync.WaitGroup
	took := make([][]time.Duration, goroutines)
	b.ResetTimer()
	used := processorTime(b)
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for n := g; n < b.N; n += goroutines {
				began := time.Now()
				if err := call(r, g, n); err != nil {
					b.Error(err)
					return
				}
				took[g] = append(took[g], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64((processorTime(b)-used).Nanoseconds())/1000/float64(b.N), "µs-cpu")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs-p99")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// processorTime shows the cost of a call even on a busy machine.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const benchBody = `{"at":"2026-03-03T12:00:00Z","fields":{"complete":true,"count":123456,"status":"ready"}}`

// sensorWrite returns the two ops of a sensor write: the current reading, and its history entry.
func sensorWrite(key string, read, version int64) []row.Op {
	now := noon.Add(time.Duration(version))
	return []row.Op{
		{If: read, Change: []byte(benchBody), Row: row.Row{
			Ref:     row.Ref{Kind: "sensor", Part: "orders", Key: key + "#" + row.Digits(0)},
			Version: version, Body: []byte(benchBody),
		}},
		{Row: row.Row{
			Ref:     row.Ref{Kind: "history", Part: "orders", Key: key + "#" + row.Digits(version)},
			Version: version, Body: []byte(benchBody),
			Places: [row.Indexes]row.Place{
				row.Aging: {List: "history", Key: store.Nanos(now) + "#" + row.Digits(version)},
			},
		}},
	}
}

// sensors are the keys that one goroutine writes, and their versions.
type sensors struct {
	versions map[string]int64
	last     *atomic.Int64
}

// next adds the ops that write a sensor that is not in tx yet.
func (s *sensors) next(r *rand.Rand, g, keys int, tx *row.Tx) {
	key := fmt.Sprintf("sensor-%d-%d", g, r.IntN(keys))
	version := s.last.Add(1)
	if len(tx.Ops) > 0 && s.versions[key] >= tx.Ops[0].Row.Version {
		return
	}
	tx.Ops = append(tx.Ops, sensorWrite(key, s.versions[key], version)...)
	s.versions[key] = version
}

func newSensors(n int) []sensors {
	all, last := make([]sensors, n), &atomic.Int64{}
	for i := range all {
		all[i] = sensors{map[string]int64{}, last}
	}
	return all
}

// BenchmarkApply measures the rate of durable sensor writes: 64 callers, 9,984 keys, two ops each.
func BenchmarkApply(b *testing.B) {
	e := opened(b, b.TempDir(), Options{})
	all := newSensors(64)
	parallel(b, 64, func(r *rand.Rand, g, _ int) error {
		var tx row.Tx
		all[g].next(r, g, 156, &tx)
		return e.Apply(b.Context(), tx, noon)
	})
}

// BenchmarkPut measures concurrent sensor writes as package record makes them: one Get of 40 rows
// and one Apply of 80 ops. A call is one of the 40 writes.
func BenchmarkPut(b *testing.B) {
	e := opened(b, b.TempDir(), Options{})
	all := newSensors(1)
	var tx row.Tx
	parallel(b, 1, func(r *rand.Rand, _, _ int) error {
		if all[0].next(r, 0, 10_000, &tx); len(tx.Ops) < 80 {
			return nil
		}
		var refs []row.Ref
		for i := 0; i < len(tx.Ops); i += 2 {
			refs = append(refs, tx.Ops[i].Row.Ref)
		}
		if _, err := e.Get(b.Context(), refs); err != nil {
			return err
		}
		err := e.Apply(b.Context(), tx, noon)
		tx.Ops = nil
		return err
	})
}

// BenchmarkApplyMany measures one transaction of 400 ops; a call is one of its 200 sensor writes.
func BenchmarkApplyMany(b *testing.B) {
	e := opened(b, b.TempDir(), Options{})
	all := newSensors(1)
	var tx row.Tx
	parallel(b, 1, func(r *rand.Rand, _, _ int) error {
		if all[0].next(r, 0, 10_000, &tx); len(tx.Ops) < 400 {
			return nil
		}
		err := e.Apply(b.Context(), tx, noon)
		tx.Ops = nil
		return err
	})
}

// BenchmarkApplyAlone measures one caller at a time: the duration of a commit.
func BenchmarkApplyAlone(b *testing.B) {
	e := opened(b, b.TempDir(), Options{})
	all := newSensors(1)
	parallel(b, 1, func(r *rand.Rand, _, _ int) error {
		var tx row.Tx
		all[0].next(r, 0, 10_000, &tx)
		return e.Apply(b.Context(), tx, noon)
	})
}

// BenchmarkBatch measures a decision with an ID: a run, a task, an event.
func BenchmarkBatch(b *testing.B) {
	e := opened(b, b.TempDir(), Options{})
	parallel(b, 64, func(_ *rand.Rand, _, n int) error {
		tx := opening(fmt.Sprint(n))
		tx.Ops[0].Row.Key = fmt.Sprint("cron/", n)
		tx.Ops[0].Row.Places[row.Ordered].Key = fmt.Sprint(n)
		tx.Ops[0].Row.Places[row.Pending].Key = fmt.Sprint(n)
		return e.Apply(b.Context(), tx, noon)
	})
}

// BenchmarkGet reads two rows, or 128, of 10,000.
func BenchmarkGet(b *testing.B) {
	e := opened(b, b.TempDir(), Options{})
	for n := range 50 {
		var ops []row.Op
		for i := range 200 {
			ops = append(ops, reading(sensorKey(200*n+i), 1))
		}
		put(b, e, ops...)
	}
	for _, size := range []int{2, 128} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			parallel(b, 4, func(r *rand.Rand, _, _ int) error {
				refs := make([]row.Ref, size)
				for i := range refs {
					refs[i] = reading(sensorKey(r.IntN(10_000)), 0).Row.Ref
				}
				_, err := e.Get(b.Context(), refs)
				return err
			})
		})
	}
}
