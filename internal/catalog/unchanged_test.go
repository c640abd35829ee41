package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

const warned = "pipeline: {id: warned, owner: tests}\nschedule: {cron: '@daily'}\nvalidation: {rules: [{key: ready, check: equals, field: status, value: done}]}\n"

func TestEditOfOneFileRereadsOnlyThatFile(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"], d.files["warned.yaml"] = orders, warned
	first := d.apply()
	before := d.Current()
	d.files["orders.yaml"] = orders + "dryRun: false\n"
	second := d.apply()
	if d.Current().Get("warned").Definition != before.Get("warned").Definition {
		t.Error("a file that did not change was read again")
	}
	if d.Current().Get("orders").Definition == before.Get("orders").Definition {
		t.Error("a file that changed was not read again")
	}
	if diff := cmp.Diff(first.Problems, second.Problems); diff != "" || len(second.Problems) != 1 {
		t.Errorf("warnings differ the second time (-first +second):\n%s", diff)
	}
}

func TestRestartReadsOnlyTheStoredVersions(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"], d.files["warned.yaml"] = orders, warned
	first := d.apply()
	d.Catalog = d.restarted()
	before := d.Current()
	second := d.apply()
	for _, e := range before.All() {
		if d.Current().Get(e.ID).Definition != e.Definition {
			t.Errorf("%s was read again", e.ID)
		}
	}
	if diff := cmp.Diff(first.Problems, second.Problems); diff != "" {
		t.Errorf("problems before and after the restart:\n%s", diff)
	}
}

func TestRenamedFileIsReadUnderItsName(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	delete(d.files, "orders.yaml")
	d.files["sales/orders.yaml"] = orders
	d.apply()
	if e := d.Current().Get("orders"); e.File != "sales/orders.yaml" {
		t.Errorf("active from %s", e.File)
	}
}

// failing is a store that rejects pipelines after a number of them.
type failing struct {
	*memory.Store
	left atomic.Int64
}

var errFull = errors.New("full")

func (f *failing) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if f.left.Add(-1) < 0 {
		return errFull
	}
	return f.Store.Commit(ctx, b, now)
}

func TestVeryManyFirstFilesAreAllAccepted(t *testing.T) {
	const n = 500
	var files catalog.Files
	for i := range n {
		text := fmt.Sprintf("pipeline: {id: p%03d, owner: tests}\n", i)
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	s := &failing{Store: memory.New()}
	s.left.Store(100)
	c := catalog.New(s, all.Kinds())
	report, err := c.Apply(ctx, files, morning)
	if !errors.Is(err, errFull) || len(report.Accepted) != 100 || len(c.Current().All()) != 100 {
		t.Errorf("the store accepted 100: %d accepted, %d active, %v", len(report.Accepted), len(c.Current().All()), err)
	}
	s.left.Store(n)
	report, err = c.Apply(ctx, files, morning)
	if err != nil || len(report.Accepted) != n-100 || len(c.Current().All()) != n {
		t.Errorf("the store accepted the rest: %d accepted, %d active, %v", len(report.Accepted), len(c.Current().All()), err)
	}
	for i, e := range c.Current().All() {
		if want := pipeline.ID(fmt.Sprintf("p%03d", i)); e.ID != want {
			t.Fatalf("pipeline %d is %s", i, e.ID)
		}
	}
}

// picky is a store that rejects all batches for one pipeline.
type picky struct{ *memory.Store }

func (p picky) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if strings.HasPrefix(b.ID, "config/accept/bad/") {
		return errFull
	}
	return p.Store.Commit(ctx, b, now)
}

func TestPipelineThatCannotBeStoredStopsNoOther(t *testing.T) {
	c := catalog.New(picky{memory.New()}, all.Kinds())
	report, err := c.Apply(ctx, catalog.Files{Pipelines: []pipeline.Source{
		{File: "a.yaml", Data: []byte("pipeline: {id: bad, owner: tests}\n")},
		{File: "b.yaml", Data: []byte(orders)},
	}}, morning)
	if !errors.Is(err, errFull) || !cmp.Equal(report.Accepted, []pipeline.ID{"orders"}) || c.Current().Get("orders") == nil {
		t.Errorf("accepted %v, %v", report.Accepted, err)
	}
}
