package awslambda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Narrow shows a catalog only those pipelines that a function was asked about, and those that they read from: one that is called
// about a single run need not know ten thousand others to begin.
type Narrow struct {
	store.Store
	mu  sync.Mutex
	ids map[pipeline.ID]bool
}

// NewNarrow shows nothing yet.
func NewNarrow(s store.Store) *Narrow { return &Narrow{Store: s, ids: map[pipeline.ID]bool{}} }

// Pipelines lists those that it shows.
func (n *Narrow) Pipelines(ctx context.Context) ([]store.Pipeline, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var rows []store.Pipeline
	for id := range n.ids {
		row, err := n.Pipeline(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read pipeline %s: %w", id, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// show adds a pipeline to those that it shows.
func (n *Narrow) show(id pipeline.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids[id] = true
}

// know brings what is known of a pipeline, and of those that it reads from, up to what is stored.
func (h *Host) know(ctx context.Context, id pipeline.ID) error {
	if h.Narrow == nil {
		return nil // whoever knows all of them looks for himself
	}
	if err := h.look(ctx, id); err != nil {
		return err
	}
	e := h.Catalog.Current().Get(id)
	if e == nil {
		return nil
	}
	for _, other := range readFrom(e) {
		if err := h.look(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) look(ctx context.Context, id pipeline.ID) error {
	h.Narrow.show(id)
	return h.Catalog.Refresh(ctx, id)
}

// readFrom are the pipelines whose runs or sensors one reads.
func readFrom(e *catalog.Entry) []pipeline.ID {
	others := append([]pipeline.ID{}, e.After...)
	for _, ref := range e.Gate.Refs() {
		if ref.From != "" {
			others = append(others, pipeline.ID(ref.From))
		}
	}
	return others
}
