package scenario_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sensor"
)

// process is the host of the binary: the engine, with all its goroutines, in a bubble.
type process struct {
	*testing.T
	keeper
	jobs   *target
	every  time.Duration // watchdog interval
	parts  *parts
	cancel context.CancelFunc
	ended  chan struct{}
}

func (p *process) start() {
	p.Helper()
	parts, err := newParts(p.Context(), p.open(), p.jobs)
	if err != nil {
		p.Fatal(err)
	}
	p.parts = parts
	host := engine.New(engine.Options{
		Store: p.store(), Logger: slog.New(slog.DiscardHandler), Replica: replica, Workers: 4, Lease: lease, LostAfter: 10 * time.Minute, Alone: true,
		Handlers: engine.Handlers{
			Change: parts.Router.Handle, Task: parts.Perform,
			Ticks: []engine.Tick{{Name: "watchdog", Every: p.every, First: true, Do: parts.watch}},
		},
	})
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan struct{})
	p.cancel, p.ended = cancel, ended
	go func() {
		defer close(ended)
		if err := host.Run(ctx, 0); err != nil {
			p.Error(err)
		}
	}()
	synctest.Wait()
}

func (p *process) stop() {
	if !p.running() {
		return
	}
	p.cancel()
	<-p.ended
	p.close()
}

func (p *process) apply(files catalog.Files) error { return p.parts.apply(p.Context(), files) }

func (p *process) put(id pipeline.ID, key string, fields sensor.Fields) error {
	return p.parts.put(p.Context(), id, key, fields)
}

func (p *process) operate(ask func(ctx context.Context, r *router.Router, now time.Time) error) error {
	return ask(p.Context(), p.parts.Router, time.Now())
}

func (*process) now() time.Time { return time.Now() }

func (*process) until(at time.Time) {
	time.Sleep(time.Until(at)) // the bubble's clock
	synctest.Wait()
}
