package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

const (
	idleFew, idleMany = 10, 10_000
	idleWrites        = 50
	idleRounds        = 40
	idleLimit         = 1.2
)

// idleRow compares the cost of a sensor write that starts nothing, up to the router having handled
// it, with few and with many pipelines loaded. Both write to the same few pipelines.
func idleRow() (_ row, err error) {
	few, err := newListener(idleFew)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, few.close()) }()
	many, err := newListener(idleMany)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, many.close()) }()
	fewest, most := time.Duration(1<<62), time.Duration(1<<62)
	for round := range idleRounds {
		for _, side := range []struct {
			*listener
			best *time.Duration
		}{{few, &fewest}, {many, &most}} {
			took, err := side.writeAll(round)
			if err != nil {
				return row{}, err
			}
			*side.best = min(*side.best, took)
		}
	}
	ratio := float64(most) / float64(fewest)
	return row{
		name: fmt.Sprintf("sensor write that starts nothing, %d pipelines / %d", idleMany, idleFew), ratio: ratio, limit: idleLimit,
		detail: fmt.Sprintf("%s and %s a write", round(most/idleWrites), round(fewest/idleWrites)),
		failed: ratio > idleLimit,
	}, nil
}

// listener is a controller that only accepts sensor writes and routes them.
type listener struct {
	dir     string
	store   *sqlite.Store
	end     func()
	conn    net.Conn
	in      *bufio.Reader
	stop    context.CancelFunc
	handled atomic.Int64
	failed  chan error // receives the error of a goroutine that stopped
	looked  chan struct{}
}

func newListener(pipelines int) (_ *listener, err error) {
	l := &listener{failed: make(chan error, 1), looked: make(chan struct{}, 1)}
	if l.dir, err = os.MkdirTemp("", "interlock-bench-"); err != nil {
		return nil, err
	}
	if l.store, err = sqlite.Open(context.Background(), l.dir, sqlite.Options{}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.dir))
	}
	c := catalog.New(l.store, all.Kinds())
	if _, err := c.Apply(context.Background(), catalog.Files{Pipelines: waiting(pipelines)}, time.Now()); err != nil {
		return nil, errors.Join(err, l.store.Close(), os.RemoveAll(l.dir))
	}
	routes := controller.New(controller.Parts{Store: l.store, Catalog: c, Now: time.Now}).Router
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.failed <- l.follow(ctx, routes) }()
	return l, errors.Join(l.serve(c), l.await(int64(pipelines))) // accepting a pipeline is a change
}

// waiting returns n pipelines that wait for a sensor.
func waiting(n int) []pipeline.Source {
	var files []pipeline.Source
	for i := range n {
		text := fmt.Sprintf("pipeline: {id: p%d, owner: bench}\nschedule: {trigger: {key: ready, check: equals, field: status, value: done}}\n", i)
		files = append(files, pipeline.Source{File: fmt.Sprintf("p%d.yaml", i), Data: []byte(text)})
	}
	return files
}

func (l *listener) serve(c *catalog.Catalog) (err error) {
	logger := slog.New(slog.DiscardHandler)
	a := api.New(api.Deps{Store: l.store, Catalog: c, Settings: api.Settings{Loopback: true}, Now: time.Now, Logger: logger})
	address, end, err := serveOn(api.Server(a, "", logger))
	if err != nil {
		return err
	}
	l.end = end
	if l.conn, err = net.Dial("tcp", address); err != nil {
		return err
	}
	l.in = bufio.NewReader(l.conn)
	return nil
}

// follow routes every change, as the engine does.
func (l *listener) follow(ctx context.Context, routes *router.Router) error {
	for {
		changes, err := l.store.Receive(ctx, controller.Group, "bench", 256)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if err := routes.Handle(ctx, c, time.Now()); err != nil {
				return err
			}
		}
		if err := l.store.Done(ctx, controller.Group, changes); err != nil {
			return err
		}
		l.handled.Add(int64(len(changes)))
		select {
		case l.looked <- struct{}{}:
		default:
		}
	}
}

// await waits until n changes have been routed.
func (l *listener) await(n int64) error {
	for l.handled.Load() < n {
		select {
		case <-l.looked:
		case err := <-l.failed:
			return fmt.Errorf("route a change: %w", err)
		}
	}
	return nil
}

// writeAll writes readings one after the other and waits until all have been routed.
func (l *listener) writeAll(round int) (time.Duration, error) {
	before, began := l.handled.Load(), time.Now()
	for i := range idleWrites {
		body := fmt.Sprintf(`{"status":"waiting","count":%d}`, round*idleWrites+i)
		request := fmt.Appendf(nil, "PUT /api/v1/pipelines/p%d/sensors/ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", i%idleFew, len(body), body)
		if _, err := l.conn.Write(request); err != nil {
			return 0, err
		}
		if err := readAnswer(l.in); err != nil {
			return 0, err
		}
	}
	err := l.await(before + idleWrites)
	return time.Since(began), err
}

func (l *listener) close() error {
	l.stop()
	err := <-l.failed
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	l.end()
	return errors.Join(err, l.conn.Close(), l.store.Close(), os.RemoveAll(l.dir))
}
