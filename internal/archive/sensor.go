package archive

import (
	"cmp"
	"context"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// sensorID is one key of one pipeline.
type sensorID struct {
	pipeline pipeline.ID
	key      sensor.Key
}

// readings copies the writes of a key from a version on, newest first as the store lists them. Those that are newer than
// what was asked for are copied as well, and not again in this pass: so however long the backlog of a key is, it is
// read once.
func (p *pass) readings(ctx context.Context, id sensorID, from int64) error {
	from = max(from, p.seen[id]+1)
	top := p.seen[id]
	for q := (store.HistoryQuery{Pipeline: id.pipeline, Key: id.key, Limit: MaxRows}); ; {
		page, err := p.archiver.store.History(ctx, q)
		if err = cmp.Or(err, p.ledger.err()); err != nil {
			return err
		}
		for _, r := range page.Items {
			if r.Version < from {
				page.Next = ""
				break
			}
			made, err := readingRow(id.pipeline, r)
			if err != nil {
				return err
			}
			p.ledger.add(history, made)
			top = max(top, r.Version)
		}
		if page.Next == "" {
			p.seen[id] = top
			return nil
		}
		q.Cursor = page.Next
	}
}

// allReadings copies the history of every key of every pipeline.
func (p *pass) allReadings(ctx context.Context) error {
	pipelines, err := p.archiver.store.Pipelines(ctx)
	if err != nil {
		return err
	}
	for _, of := range pipelines {
		latest, err := p.archiver.store.LatestReadings(ctx, of.ID)
		if err != nil {
			return err
		}
		for _, r := range latest {
			if err := p.readings(ctx, sensorID{of.ID, r.Key}, 1); err != nil {
				return err
			}
		}
	}
	return nil
}
