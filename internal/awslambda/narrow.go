package awslambda

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Narrow shows a catalog only the pipelines that a function was recently called about, and those
// that they read from: a function that is called about one run need not read ten thousand other
// pipelines. It lists their rows as read last, so that loading one more pipeline reads only that
// one.
type Narrow struct {
	store.Store
	mu   sync.Mutex
	call int
	rows map[pipeline.ID]shownRow
}

// shownRow is a pipeline's row, and the last call that read it.
type shownRow struct {
	store.Pipeline
	call int
}

// maxShown is how many pipelines a function remembers. One call may need more; it evicts those that
// it does not need first.
const maxShown = 200

// NewNarrow returns a Narrow that shows no pipelines yet.
func NewNarrow(s store.Store) *Narrow { return &Narrow{Store: s, rows: map[pipeline.ID]shownRow{}} }

// Pipeline reads a row and shows it from then on.
func (n *Narrow) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	row, err := n.Store.Pipeline(ctx, id)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil:
		n.rows[id] = shownRow{row, n.call}
		n.evict()
	case errors.Is(err, store.ErrNotFound):
		delete(n.rows, id)
	}
	return row, err
}

// evict drops the least recently used row if there are too many.
func (n *Narrow) evict() {
	if len(n.rows) <= maxShown {
		return
	}
	oldest := shownRow{call: n.call}
	for _, row := range n.rows {
		if row.call < oldest.call {
			oldest = row
		}
	}
	if oldest.call < n.call {
		delete(n.rows, oldest.ID)
	}
}

// Pipelines lists the shown rows by id.
func (n *Narrow) Pipelines(context.Context) ([]store.Pipeline, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rows := make([]store.Pipeline, 0, len(n.rows))
	for _, row := range n.rows {
		rows = append(rows, row.Pipeline)
	}
	slices.SortFunc(rows, func(a, b store.Pipeline) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return rows, nil
}

// next begins a call.
func (n *Narrow) next() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.call++
}

// know loads the stored version of a pipeline and of those that it reads from.
func (h *Host) know(ctx context.Context, id pipeline.ID) error {
	if h.Narrow == nil {
		return nil // a function with the full catalog keeps it up to date itself
	}
	h.Narrow.next()
	if err := h.Catalog.Refresh(ctx, id); err != nil {
		return err
	}
	e := h.Catalog.Current().Get(id)
	if e == nil {
		return nil
	}
	for _, other := range readFrom(e) {
		if err := h.Catalog.Refresh(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

// readFrom returns the pipelines whose runs or sensors an entry reads.
func readFrom(e *catalog.Entry) []pipeline.ID {
	others := append([]pipeline.ID{}, e.After...)
	for _, ref := range e.Gate.Refs() {
		if ref.From != "" {
			others = append(others, pipeline.ID(ref.From))
		}
	}
	return others
}
