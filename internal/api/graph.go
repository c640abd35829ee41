package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Graph is the transitive upstream and downstream pipelines of a pipeline.
type Graph struct {
	Pipeline  string  `json:"pipeline"`
	Nodes     []Node  `json:"nodes" doc:"Pipelines by distance, upstream first."`
	Edges     []Edge  `json:"edges"`
	Blocks    []Block `json:"blocks" doc:"Open runs that wait for another pipeline, oldest period first."`
	Truncated bool    `json:"truncated" doc:"Whether the graph was cut off."`
}

// Node is a pipeline in a graph.
type Node struct {
	Pipeline string  `json:"pipeline"`
	Distance int     `json:"distance" doc:"Steps downstream; negative is upstream, 0 is the pipeline itself."`
	State    string  `json:"state" enum:"ok,paused,degraded,rejected,removed,unknown" doc:"unknown: a file names this pipeline, but it does not exist."`
	Date     *string `json:"date" doc:"The latest period with a run."`
	Schedule *string `json:"schedule"`
	Status   *string `json:"status" doc:"The status of that run."`
	Phase    *string `json:"phase" doc:"The phase of that run, more specific than its status."`
}

// Edge connects a pipeline with one that waits for it.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to" doc:"The pipeline that waits."`
	Kind string `json:"kind" enum:"after,sensor" doc:"after: waits for its run. sensor: reads its sensors."`
}

// Block is an open run whose gate another pipeline keeps closed.
type Block struct {
	Pipeline string     `json:"pipeline"`
	Schedule string     `json:"schedule"`
	Date     string     `json:"date"`
	By       string     `json:"by" doc:"The pipeline that the run waits for."`
	Reason   string     `json:"reason"`
	Since    *time.Time `json:"since" doc:"When the run was opened."`
}

// The limits of a graph.
const (
	maxNodes   = 200
	maxWaiting = 100 // open runs whose gates are evaluated
)

func (a *API) getGraph(ctx context.Context, in *OfPipeline) (*output[Graph], error) {
	e, p := a.entry(ctx, pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	current, who := a.catalog.Current(), whoOf(ctx)
	w := &walk{current: current, sees: who.sees, at: map[pipeline.ID]int{e.ID: 0}}
	w.spread(e.ID, -1, w.upstreams)
	waiting := current.Waiting()
	w.spread(e.ID, 1, func(id pipeline.ID) []pipeline.ID { return waiting[id] })
	out := Graph{Pipeline: in.ID, Nodes: []Node{}, Edges: w.edges(), Truncated: w.full}
	for _, id := range w.sorted() {
		n, err := a.node(ctx, id, w.at[id])
		if err != nil {
			return nil, err
		}
		out.Nodes = append(out.Nodes, n)
	}
	var err error
	if out.Blocks, err = a.blocks(ctx, w, &out.Truncated); err != nil {
		return nil, err
	}
	return answer(out), nil
}

// walk finds the neighbourhood of a pipeline.
type walk struct {
	current *catalog.Snapshot
	sees    func(pipeline.ID) bool
	at      map[pipeline.ID]int // the distance of each pipeline
	full    bool
}

func (w *walk) add(id pipeline.ID, distance int) bool {
	if _, known := w.at[id]; known || !w.sees(id) {
		return false
	}
	if len(w.at) >= maxNodes {
		w.full = true
		return false
	}
	w.at[id] = distance
	return true
}

// upstreams lists the pipelines that a pipeline waits for.
func (w *walk) upstreams(id pipeline.ID) []pipeline.ID {
	e := w.current.Get(id)
	if e == nil {
		return nil
	}
	return sortedIDs(e.WaitsFor())
}

// spread adds the neighbours of a pipeline, theirs, and so on. Each is one step further away.
func (w *walk) spread(from pipeline.ID, step int, neighbours func(pipeline.ID) []pipeline.ID) {
	for next, far := []pipeline.ID{from}, step; len(next) > 0; far += step {
		var further []pipeline.ID
		for _, id := range next {
			for _, other := range neighbours(id) {
				if w.add(other, far) {
					further = append(further, other)
				}
			}
		}
		next = further
	}
}

func (w *walk) sorted() []pipeline.ID {
	ids := sortedIDs(w.at)
	slices.SortStableFunc(ids, func(a, b pipeline.ID) int { return w.at[a] - w.at[b] })
	return ids
}

func (w *walk) edges() []Edge {
	out := []Edge{}
	for _, id := range w.sorted() {
		e := w.current.Get(id)
		if e == nil {
			continue
		}
		for up, kind := range e.WaitsFor() {
			if _, there := w.at[up]; there {
				out = append(out, Edge{From: string(up), To: string(id), Kind: kind})
			}
		}
	}
	slices.SortFunc(out, func(a, b Edge) int { return strings.Compare(a.From+" "+a.To, b.From+" "+b.To) })
	return out
}

func (a *API) node(ctx context.Context, id pipeline.ID, distance int) (Node, error) {
	n := Node{Pipeline: string(id), Distance: distance, State: "unknown"}
	row, err := a.store.Pipeline(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("read pipeline %s: %w", id, err)
	}
	n.State = string(a.stateOf(row))
	last, err := a.store.Runs(ctx, store.RunQuery{Pipeline: id, Limit: 1})
	if err != nil {
		return n, fmt.Errorf("read runs of %s: %w", id, err)
	}
	for _, r := range last.Items { // at most one
		n.Date, n.Schedule, n.Status = date(r.Period), text(r.Schedule), text(r.Status)
		n.Phase = text(r.Phase(a.now()))
	}
	return n, nil
}

// blocks evaluates the gates of pending runs and lists those that another pipeline keeps closed.
func (a *API) blocks(ctx context.Context, w *walk, truncated *bool) ([]Block, error) {
	out, looked := []Block{}, 0
	for _, id := range w.sorted() {
		e := w.current.Get(id)
		if e == nil || len(e.WaitsFor()) == 0 {
			continue
		}
		open, err := a.store.OpenRuns(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("read open runs of %s: %w", id, err)
		}
		for _, r := range open {
			if r.Status != run.Pending {
				continue
			}
			if looked++; looked > maxWaiting {
				*truncated = true
				return out, nil
			}
			view, err := gate.Evaluate(ctx, a.store, gate.Question{Definition: e.Definition, Upstream: w.current.Definition, Period: r.Period, Opened: r.Progress.WindowStart}, a.now())
			if err != nil {
				return nil, err
			}
			out = append(out, slices.DeleteFunc(blockedBy(e, r, view), func(b Block) bool { return !w.sees(pipeline.ID(b.By)) })...)
		}
	}
	return out, nil
}

// blockedBy lists the other pipelines whose runs or sensors prevent the start of r.
func blockedBy(e *catalog.Entry, r run.Run, view gate.View) []Block {
	if view.Open() {
		return nil
	}
	var out []Block
	for _, leaf := range view.Verdict.Leaves {
		if !leaf.Closes() {
			continue
		}
		by := leaf.Rule.From
		if name, upstream := strings.CutPrefix(leaf.Rule.Key, "run/"); by == "" && upstream {
			by = name
		}
		if by == "" || by == string(e.ID) {
			continue
		}
		out = append(out, Block{
			Pipeline: string(e.ID), Schedule: string(r.Schedule), Date: r.Period.String(), By: by, Reason: leaf.Reason, Since: instant(r.OpenedAt),
		})
	}
	return out
}
