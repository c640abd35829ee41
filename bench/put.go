package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

const (
	putConnections = 64
	putKeys        = 10_000
	putTime        = 700 * time.Millisecond
	putRounds      = 9    // odd
	putLimit       = 0.35 // minimum ratio
)

// putRow compares durable sensor writes over HTTP with a no-op handler on a server with the same
// settings.
func putRow() (row, error) { return withStore(putRowWith) }

func putRowWith(db *sqlite.Store) (row, error) {
	a, err := putAPI(db)
	if err != nil {
		return row{}, err
	}
	writer, idle := api.Server(a, "", silent), api.Server(a, "", silent)
	idle.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\"version\":1}\n")
	})
	middle, err := compareRates(writer, idle)
	if err != nil {
		return row{}, err
	}
	writes, ceiling, ratio := middle.writes, middle.ceiling, middle.ratio()
	return row{
		name: "durable sensor PUT / handler that does nothing", ratio: ratio, limit: putLimit, atLeast: true,
		detail: fmt.Sprintf("%.0f and %.0f a second, %.0f and %.0f µs of CPU time, %d connections, %d keys",
			writes.rate, ceiling.rate, writes.cpu, ceiling.cpu, putConnections, putKeys),
		failed: ratio < putLimit,
	}, nil
}

var silent = slog.New(slog.DiscardHandler)

// putAPI returns the API over a store, with one pipeline.
func putAPI(db store.Store) (*api.API, error) {
	c := catalog.New(db, all.Kinds())
	files := catalog.Files{Pipelines: []pipeline.Source{{File: "bench.yaml", Data: []byte("pipeline: {id: bench, owner: bench}\n")}}}
	if _, err := c.Apply(context.Background(), files, time.Now()); err != nil {
		return nil, err
	}
	return api.New(api.Deps{Store: db, Catalog: c, Settings: api.Settings{Loopback: true}, Now: time.Now, Logger: silent}), nil
}

// pace is the answers per second, and the microseconds of processor time of client and server
// together per answer.
type pace struct{ rate, cpu float64 }

// rates is one round of both servers.
type rates struct{ writes, ceiling pace }

func (r rates) ratio() float64 { return r.writes.rate / r.ceiling.rate }

// compareRates alternates between both servers and returns the round with the median ratio.
func compareRates(writer, idle *http.Server) (middle rates, err error) {
	writerAddress, endWriter, err := serveOn(writer)
	if err != nil {
		return middle, err
	}
	defer endWriter()
	idleAddress, endIdle, err := serveOn(idle)
	if err != nil {
		return middle, err
	}
	defer endIdle()
	var turns []rates
	for range putRounds {
		var turn rates
		if turn.ceiling, err = rate(idleAddress, putConnections, putTime, putRequest(idleAddress)); err != nil {
			return middle, err
		}
		if turn.writes, err = rate(writerAddress, putConnections, putTime, putRequest(writerAddress)); err != nil {
			return middle, err
		}
		turns = append(turns, turn)
	}
	slices.SortFunc(turns, func(a, b rates) int { return cmp.Compare(a.ratio(), b.ratio()) })
	return turns[len(turns)/2], nil
}

// putRequest returns requests that write one reading each, spread over all keys.
func putRequest(address string) func(connection, n int) []byte {
	return func(connection, n int) []byte {
		body := fmt.Sprintf(`{"complete":true,"count":%d}`, n)
		return fmt.Appendf(nil, "PUT /api/v1/pipelines/bench/sensors/key-%d HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			(connection*7919+n*104729)%putKeys, address, len(body), body)
	}
}
