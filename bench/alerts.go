package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

const (
	queuedAlerts     = 10_000
	alertPipelines   = 100
	alertConcurrency = 32
	alertTime        = 50 * time.Millisecond // the sink's time per alert
	alertLimit       = 0.8
	alertHeapLimit   = 2.0
)

// slowSink takes alertTime for each alert and counts them.
type slowSink struct {
	taken atomic.Int64
	all   chan struct{} // closed when every alert has arrived
}

func (*slowSink) Name() string { return "slow" }

func (s *slowSink) Send(context.Context, sink.Alert) error {
	time.Sleep(alertTime)
	if s.taken.Add(1) == queuedAlerts {
		close(s.all)
	}
	return nil
}

// alertRows measures how fast the engine delivers queued alerts, as a share of the sink's own
// throughput, and how much memory that needs.
func alertRows() (_ []row, err error) {
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := queueAlerts(db); err != nil {
		return nil, err
	}
	s := &slowSink{all: make(chan struct{})}
	before := heap()
	took, most, err := drain(db, s)
	if err != nil {
		return nil, err
	}
	ceiling := float64(alertConcurrency) / alertTime.Seconds()
	rate := queuedAlerts / took.Seconds()
	grown := float64(most) / float64(before)
	return []row{
		{
			name: fmt.Sprintf("alerts a second to a %s sink, %d at once / its ceiling", alertTime, alertConcurrency), ratio: rate / ceiling, limit: alertLimit, atLeast: true,
			detail: fmt.Sprintf("%.0f and %.0f a second; %d alerts in %s", rate, ceiling, queuedAlerts, took.Round(10*time.Millisecond)),
			failed: rate/ceiling < alertLimit,
		},
		{
			name: "heap while they are delivered / before", ratio: grown, limit: alertHeapLimit,
			detail: fmt.Sprintf("%.1f MiB at most, %.1f MiB before, %.1f MiB after", mib(most), mib(before), mib(heap())),
			failed: grown > alertHeapLimit,
		},
	}, nil
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// queueAlerts stores events that have not been sent to any sink.
func queueAlerts(db *sqlite.Store) error {
	const atOnce = 500
	now := time.Now()
	for first := 0; first < queuedAlerts; first += atOnce {
		b := store.Batch{ID: fmt.Sprintf("queue %d", first)}
		for i := first; i < first+atOnce; i++ {
			about := event.About{
				Pipeline: pipeline.ID(fmt.Sprintf("p%d", i%alertPipelines)), Schedule: pipeline.ByCron, Which: fmt.Sprint(i), At: now,
			}
			b.Emit(event.New(event.JobFailed, about, "the job failed: exit code 1", event.Finished{}))
		}
		if err := db.Commit(context.Background(), b, now); err != nil {
			return err
		}
	}
	return nil
}

// drain runs an engine until the sink has every alert. It returns how long that took and the peak
// heap size.
func drain(db *sqlite.Store, s *slowSink) (took time.Duration, most uint64, err error) {
	e := engine.New(engine.Options{
		Store: db, Logger: slog.New(slog.DiscardHandler), Replica: "bench", Workers: 1, Lease: 30 * time.Second, LostAfter: time.Minute, Alone: true,
		Notifier: notify.New(notify.Options{Store: db, Sinks: []sink.Sink{s}, Concurrency: alertConcurrency}),
		Handlers: engine.Handlers{Change: func(context.Context, store.Change, time.Time) error { return nil }},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- e.Run(ctx, 10*time.Second) }()
	looks := time.NewTicker(time.Second)
	defer looks.Stop()
	for done := false; !done; {
		select {
		case <-s.all:
			took, done = time.Since(began), true
		case <-looks.C:
			most = max(most, heap())
		case err := <-ended:
			stop()
			return 0, 0, errors.Join(errors.New("the engine stopped early"), err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		return 0, 0, err
	}
	if n := s.taken.Load(); n != queuedAlerts {
		return 0, 0, fmt.Errorf("the sink received %d alerts, want %d", n, queuedAlerts)
	}
	return took, most, nil
}
