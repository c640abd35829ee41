package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

const (
	ingestRounds     = 7   // odd
	ingestLimit      = 0.6 // at least
	manySources      = 1000
	fewSources       = 10
	manySourcesLimit = 1.5
	mapTime          = 300 * time.Millisecond
)

// ingestRows measures CloudEvents ingestion, and the cost of many sources that do not match.
func ingestRows() ([]row, error) {
	events, err := cloudEventRow()
	if err != nil {
		return nil, err
	}
	many, err := manySourcesRow()
	return []row{events, many}, err
}

// benchSources returns n sources, each for its own event type; the first one matches.
func benchSources(n int) []pipeline.Source {
	files := make([]pipeline.Source, n)
	for i := range files {
		files[i] = pipeline.Source{File: fmt.Sprintf("sources/%d.yaml", i), Data: fmt.Appendf(nil, `source: {id: source-%d, owner: bench, format: cloudevents}
match:
  - {path: $.type, equals: com.example.type%d}
  - {path: $.subject, matches: '^orders/(?P<key>key-\d+)$'}
write:
  - {pipeline: bench, key: "${key}", fields: {complete: true, count: {path: $.data.rows}}}
`, i, i)}
	}
	return files
}

// cloudEventRow compares CloudEvents, which are mapped, stored and deduplicated by id, with plain
// durable sensor writes of the same readings on one server.
func cloudEventRow() (row, error) { return withStore(cloudEventRowWith) }

func cloudEventRowWith(db *sqlite.Store) (row, error) {
	c := catalog.New(db, all.Kinds())
	files := catalog.Files{Pipelines: []pipeline.Source{{File: "bench.yaml", Data: []byte("pipeline: {id: bench, owner: bench}\n")}}, Sources: benchSources(fewSources)}
	if _, err := c.Apply(context.Background(), files, time.Now()); err != nil {
		return row{}, err
	}
	a := api.New(api.Deps{Store: db, Catalog: c, Settings: api.Settings{Loopback: true}, Now: time.Now, Logger: silent})
	address, end, err := serveOn(api.Server(a, "", silent))
	if err != nil {
		return row{}, err
	}
	defer end()
	var turns []rates
	for round := range ingestRounds {
		var turn rates
		if turn.ceiling, err = rate(address, putConnections, putTime, putRequest(address)); err != nil {
			return row{}, err
		}
		if turn.writes, err = rate(address, putConnections, putTime, eventRequest(address, round)); err != nil {
			return row{}, err
		}
		turns = append(turns, turn)
	}
	slices.SortFunc(turns, func(a, b rates) int { return cmp.Compare(a.ratio(), b.ratio()) })
	middle := turns[len(turns)/2]
	return row{
		name: "CloudEvent, mapped and stored / durable sensor PUT", ratio: middle.ratio(), limit: ingestLimit, atLeast: true,
		detail: fmt.Sprintf("%.0f and %.0f a second, %.0f and %.0f µs of processor, %d connections",
			middle.writes.rate, middle.ceiling.rate, middle.writes.cpu, middle.ceiling.cpu, putConnections),
		failed: middle.ratio() < ingestLimit,
	}, nil
}

// eventRequest returns requests in binary mode, each event with a unique id.
func eventRequest(address string, round int) func(connection, n int) []byte {
	return func(connection, n int) []byte {
		body := fmt.Sprintf(`{"rows":%d}`, n)
		return fmt.Appendf(nil, "POST /api/v1/cloudevents HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nce-specversion: 1.0\r\nce-id: %d-%d-%d\r\nce-source: /bench\r\nce-type: com.example.type0\r\nce-subject: orders/key-%d\r\nContent-Length: %d\r\n\r\n%s",
			address, round, connection, n, (connection*7919+n*104729)%putKeys, len(body), body)
	}
}

// manySourcesRow compares the cost of mapping an event with a thousand sources and with ten; one
// source matches in each.
func manySourcesRow() (row, error) {
	event, err := source.DecodeEvent([]byte(`{"specversion":"1.0","id":"1","source":"/bench","type":"com.example.type0","subject":"orders/key-1","data":{"rows":7}}`))
	if err != nil {
		return row{}, err
	}
	many, few := source.NewSet(source.Load(benchSources(manySources), source.Options{}).Definitions), source.NewSet(source.Load(benchSources(fewSources), source.Options{}).Definitions)
	if n, m := len(many.Map(source.CloudEvents, event)), len(few.Map(source.CloudEvents, event)); n != 1 || m != 1 {
		return row{}, fmt.Errorf("%d of the many sources and %d of the few match the event", n, m)
	}
	var ratios []float64
	var last [2]float64
	for range ingestRounds {
		last = [2]float64{mapCost(many, event), mapCost(few, event)}
		ratios = append(ratios, last[0]/last[1])
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	return row{
		name: fmt.Sprintf("mapping an event, %d sources / %d", manySources, fewSources), ratio: ratio, limit: manySourcesLimit,
		detail: fmt.Sprintf("%.0f and %.0f ns", last[0], last[1]), failed: ratio > manySourcesLimit,
	}, nil
}

// mapCost returns the nanoseconds that it takes to map an event.
func mapCost(set *source.Set, event map[string]any) float64 {
	began, n := time.Now(), 0
	for ; time.Since(began) < mapTime; n += 100 {
		for range 100 {
			set.Map(source.CloudEvents, event)
		}
	}
	return float64(time.Since(began).Nanoseconds()) / float64(n)
}
