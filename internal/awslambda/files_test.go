package awslambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// fileset is pipeline files, and functions that receive the record of each change, one at a time.
type fileset struct {
	scripted
	*testing.T
	data     store.Store
	files    map[pipeline.ID]string
	unlisted map[pipeline.ID]bool // not in the list yet
	looks    int
}

func newFileset(t *testing.T) *fileset {
	return &fileset{T: t, data: memory.New(), files: map[pipeline.ID]string{}, unlisted: map[pipeline.ID]bool{}}
}

func (d *fileset) source(id pipeline.ID) pipeline.Source {
	return pipeline.Source{File: "pipeline/" + string(id), Data: []byte(d.files[id])}
}

func (d *fileset) Files(context.Context) (f dynamo.Files, err error) {
	d.looks++
	for id := range d.files {
		if !d.unlisted[id] {
			f.Pipelines = append(f.Pipelines, d.source(id))
		}
	}
	return f, nil
}

func (d *fileset) Notice(r awslambda.Record) (dynamo.Notice, error) {
	id := pipeline.ID(strings.TrimPrefix(r.Change.Keys.PK.S, "PIPELINE#"))
	f := d.source(id)
	return dynamo.Notice{Pipeline: id, File: &f}, nil
}

// function returns one of the functions that handle records, each like a separate process.
func (d *fileset) function() *awslambda.Router {
	host := awslambda.NewHost(awslambda.Parts{
		Store: d.data, Catalog: catalog.New(d.data, all.Kinds()), Now: func() time.Time { return dawn }, Logger: slog.New(slog.DiscardHandler),
	})
	return &awslambda.Router{Relay: &awslambda.Relay{Host: host}, Streams: d}
}

func (d *fileset) hears(r *awslambda.Router, event string, id pipeline.ID) {
	d.Helper()
	got, err := r.Route(d.Context(), fmt.Appendf(nil, `{"Records": [{"eventName": %q, "dynamodb": {"SequenceNumber": "1", "Keys": {"PK": {"S": "PIPELINE#%s"}, "SK": {"S": "CONFIG"}}}}]}`, event, id))
	must(d.T, err)
	if text, _ := json.Marshal(got); string(text) != `{"batchItemFailures":[]}` {
		d.Fatalf("answered %s", text)
	}
}

// put writes a file and delivers its record to one function.
func (d *fileset) put(r *awslambda.Router, id pipeline.ID, owner string) {
	d.Helper()
	d.files[id] = strings.NewReplacer("orders,", string(id)+",", "owner: data", "owner: "+owner).Replace(onLanding)
	d.hears(r, "MODIFY", id)
}

func (d *fileset) remove(r *awslambda.Router, id pipeline.ID) {
	d.Helper()
	delete(d.files, id)
	d.hears(r, "REMOVE", id)
}

// active returns the active version of a pipeline, or "".
func (d *fileset) active(id pipeline.ID) string {
	d.Helper()
	row, err := d.data.Pipeline(d.Context(), id)
	must(d.T, err)
	return row.Config
}

func TestRemovedFileIsGoneForAFunctionThatNeverSawIt(t *testing.T) {
	d := newFileset(t)
	one, other := d.function(), d.function()
	d.put(one, "orders", "data")
	d.put(other, "events", "data")
	d.remove(one, "events")
	if version := d.active("events"); version != "" {
		t.Errorf("version %s is active although its file was removed", version)
	}
}

func TestRestoredFileIsActiveAgain(t *testing.T) {
	d := newFileset(t)
	one, other := d.function(), d.function()
	d.put(one, "orders", "data")
	first := d.active("orders")
	d.put(other, "orders", "sales")
	if d.active("orders") == first {
		t.Fatal("the second version is not active")
	}
	d.put(one, "orders", "data")
	if version := d.active("orders"); version != first {
		t.Errorf("version %s is active, want %s", version, first)
	}
}

func TestUnlistedFileIsGoneOnceItIsRemoved(t *testing.T) {
	d := newFileset(t)
	one := d.function()
	d.unlisted["events"] = true
	d.put(one, "events", "data")
	d.put(one, "orders", "data")
	d.remove(one, "events")
	if version := d.active("events"); version != "" {
		t.Errorf("version %s is active although its file was removed", version)
	}
}

func TestFileAppliedWithAnotherIsNotAppliedAgain(t *testing.T) {
	d := newFileset(t)
	one := d.function()
	d.put(one, "events", "data")
	d.put(one, "orders", "data")
	for _, id := range []pipeline.ID{"events", "orders"} {
		d.hears(one, "MODIFY", id)
	}
	if d.looks != 2 {
		t.Errorf("applied files %d times, want 2", d.looks)
	}
}
