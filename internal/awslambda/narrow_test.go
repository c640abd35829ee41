package awslambda_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// counted counts the pipeline rows that a function reads.
type counted struct {
	*memory.Store
	reads int
}

func (c *counted) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	c.reads++
	return c.Store.Pipeline(ctx, id)
}

func (c *counted) Pipelines(ctx context.Context) ([]store.Pipeline, error) {
	rows, err := c.Store.Pipelines(ctx)
	c.reads += len(rows)
	return rows, err
}

func (c *counted) EachPipeline(ctx context.Context, do func(store.Pipeline) error) error {
	return c.Store.EachPipeline(ctx, func(p store.Pipeline) error {
		c.reads++
		return do(p)
	})
}

func (c *counted) Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error) {
	c.reads++
	return c.Store.Config(ctx, id, version)
}

// warm is an orchestrator on a store with the given number of pipelines, each of which waits for
// the one before it.
func warm(t *testing.T, pipelines int) (*awslambda.Host, *counted) {
	t.Helper()
	data := &counted{Store: memory.New()}
	var files catalog.Files
	for i := range pipelines {
		text := fmt.Sprintf("pipeline: {id: p%d, owner: data}\n", i)
		if i > 0 {
			text += fmt.Sprintf("schedule: {after: [p%d]}\n", i-1)
		}
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: fmt.Sprintf("p%d.yaml", i), Data: []byte(text)})
	}
	report, err := catalog.New(data.Store, all.Kinds()).Apply(t.Context(), files, dawn)
	if err != nil || len(report.Accepted) != pipelines {
		t.Fatalf("%d accepted, %v", len(report.Accepted), err)
	}
	some := awslambda.NewNarrow(data)
	return awslambda.NewHost(awslambda.Parts{
		Settings: awslambda.Settings{TimeLimit: 4 * time.Hour}, Store: data, Narrow: some, Catalog: catalog.New(some, all.Kinds()),
		Now: func() time.Time { return dawn }, Logger: slog.New(slog.DiscardHandler),
	}), data
}

// ask has the function take a step of a pipeline's run, and returns how many pipeline rows it read.
func ask(t *testing.T, h *awslambda.Host, data *counted, n int) int {
	t.Helper()
	before := data.reads
	in := awslambda.OrchestratorRequest{Mode: awslambda.Mode(lifecycle.Evaluate), Pipeline: fmt.Sprintf("p%d", n), Schedule: "stream", Date: "2026-03-03", Attempt: 1}
	if _, err := h.Orchestrate(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	known := h.Catalog.Current()
	if known.Get(pipeline.ID(in.Pipeline)) == nil || n > 0 && known.Get(pipeline.ID(fmt.Sprintf("p%d", n-1))) == nil {
		t.Fatalf("it does not know %s and the pipeline before it", in.Pipeline)
	}
	return data.reads - before
}

func TestWarmFunctionReadsAsMuchForTheThousandthPipelineAsForTheSecond(t *testing.T) {
	const pipelines = 1000
	h, data := warm(t, pipelines)
	ask(t, h, data, 0)
	second := ask(t, h, data, 1)
	for n := 2; n < pipelines; n++ {
		if got := ask(t, h, data, n); got > second {
			t.Fatalf("%d rows for pipeline %d, %d for the second", got, n+1, second)
		}
	}
}

func TestWarmFunctionRemembersABoundedNumberOfPipelines(t *testing.T) {
	const pipelines = 1000
	h, data := warm(t, pipelines)
	for n := range pipelines {
		ask(t, h, data, n)
	}
	if known := len(h.Catalog.Current().All()); known > 210 {
		t.Errorf("it remembers %d pipelines", known)
	}
	ask(t, h, data, 0) // an evicted one is read again
}

func TestWarmFunctionSeesANewVersion(t *testing.T) {
	h, data := warm(t, 2)
	ask(t, h, data, 1)
	before := h.Catalog.Current().Get("p0").Version
	files := catalog.Files{Pipelines: []pipeline.Source{
		{File: "p0.yaml", Data: []byte("pipeline: {id: p0, owner: finance}\n")},
		{File: "p1.yaml", Data: []byte("pipeline: {id: p1, owner: data}\nschedule: {after: [p0]}\n")},
	}}
	other := catalog.New(data.Store, all.Kinds())
	if err := other.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Apply(t.Context(), files, dawn.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ask(t, h, data, 1)
	if e := h.Catalog.Current().Get("p0"); e.Version == before || e.Owner != "finance" {
		t.Errorf("still version %s of %s", e.Version, e.Owner)
	}
}
