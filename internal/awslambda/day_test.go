package awslambda_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// noon is when a deployment that was made at dawn is measured.
var noon = dawn.Truncate(24 * time.Hour).Add(12 * time.Hour)

// The pipelines of a deployment are of these kinds, in turn; each of the last kind has one of the
// first kind as its upstream.
var kinds = []string{
	"schedule: {trigger: {key: landed, check: equals, field: status, value: ready}}\n",
	"schedule: {cron: \"0 3 * * *\"}\nsla: {deadline: \"23:00\"}\n",
	"schedule: {trigger: {key: landed, check: equals, field: status, value: ready, deadline: \"20:00\"}}\nsla: {deadline: \"23:00\"}\n" +
		"postRun: {rules: [{key: audit, check: exists}], sensorTimeout: 1h}\n",
	"schedule: {after: [%s]}\n",
}

// nth returns the id of a pipeline.
func nth(i int) pipeline.ID { return pipeline.ID(fmt.Sprintf("p%d", i)) }

// quiet is a store whose tasks are done and whose events are published at once.
type quiet struct{ *dynamo.Store }

func (q quiet) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	b.Tasks, b.Events = nil, nil
	return q.Store.Commit(ctx, b, now)
}

// applyFiles activates many pipelines.
func applyFiles(b *testing.B, data *dynamo.Store, pipelines int) *catalog.Catalog {
	b.Helper()
	var files catalog.Files
	for i := range pipelines {
		text := kinds[i%len(kinds)]
		if i%len(kinds) == len(kinds)-1 {
			text = fmt.Sprintf(text, nth(i-i%len(kinds)))
		}
		text = fmt.Sprintf("pipeline: {id: %s, owner: data}\n", nth(i)) + text
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: string(nth(i)) + ".yaml", Data: []byte(text)})
	}
	known := catalog.New(quiet{data}, all.Kinds())
	if _, err := known.Apply(context.Background(), files, dawn); err != nil {
		b.Fatal(err)
	}
	return known
}

// liveThrough stores what a morning leaves behind for each pipeline: landed sensors, completed runs
// with their follow-ups, and the deadline of the next day.
func liveThrough(b *testing.B, data *dynamo.Store, known *catalog.Catalog) {
	b.Helper()
	var writes []store.Write
	for _, e := range known.Current().All() {
		for _, key := range []sensor.Key{"landed", "audit"} {
			if e.Start != nil && (key == "landed" || e.PostRun != nil) {
				r := sensor.Reading{Key: key, Period: day(b, dawn), Fields: sensor.Fields{"status": "ready"}}
				writes = append(writes, store.Write{Pipeline: e.ID, Reading: r})
			}
		}
	}
	inParallel(b, (len(writes)+dynamo.MaxWrites-1)/dynamo.MaxWrites, func(i int) error {
		some := writes[i*dynamo.MaxWrites : min((i+1)*dynamo.MaxWrites, len(writes))]
		_, err := data.PutReadings(context.Background(), some, dawn.Add(2*time.Hour))
		return err
	})
	inParallel(b, len(known.Current().All()), func(i int) error {
		return data.Commit(context.Background(), morning(b, known.Current().All()[i]), dawn.Add(time.Hour))
	})
}

// morning returns what a morning leaves behind for one pipeline.
func morning(b *testing.B, e *catalog.Entry) store.Batch {
	b.Helper()
	at := dawn.Add(time.Hour)
	batch := store.Batch{ID: "morning/" + string(e.ID)}
	if e.SLA.Deadline != nil {
		d := store.Deadline{Key: run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: day(b, dawn.Add(24*time.Hour))}, Kind: store.Absolute, Config: e.Version, ArmedAt: at}
		d.State, d.BreachAt = "ARMED", noon.Add(35*time.Hour)
		batch.SwapDeadline(store.Deadline{}, d)
	}
	if e.Opens == pipeline.ByStream {
		r := completed(b, run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: day(b, dawn)}, at)
		batch.Create(r)
		batch.Append(store.JobEntry{Key: r.Key, Attempt: r.Attempt, At: at, Event: store.JobSuccess})
	}
	return batch
}

func day(b *testing.B, at time.Time) period.Period {
	b.Helper()
	p, err := period.Parse(at.Format(time.DateOnly))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// completed returns a completed run.
func completed(b *testing.B, key run.Key, at time.Time) run.Run {
	b.Helper()
	r, err := run.New(key, run.Opening{Cause: run.CauseCondition, At: at, Limits: run.Limits{Window: time.Hour, Interval: time.Minute}})
	for _, step := range []func() (run.Run, error){
		func() (run.Run, error) { return r.Evaluated(true, at) },
		func() (run.Run, error) { return r.Trigger(run.Start{Snapshot: "s"}, at) },
		func() (run.Run, error) { return r.Started("", at) },
		func() (run.Run, error) {
			return r.Reported(run.Outcome{Key: key, Attempt: 1, Report: run.Report{Result: run.ResultSuccess}}, at)
		},
		func() (run.Run, error) { return r.Complete(at) },
	} {
		if err == nil {
			r, err = step()
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// inParallel calls do n times, several at once.
func inParallel(b *testing.B, n int, do func(i int) error) {
	b.Helper()
	next := make(chan int)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	if b.Failed() {
		b.FailNow()
	}
}
