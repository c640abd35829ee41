package archive

import (
	"cmp"
	"context"
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// sensorID identifies a sensor key of a pipeline.
type sensorID struct {
	pipeline pipeline.ID
	key      sensor.Key
}

// writes copies sensor writes by id. It skips those that fill has copied in this pass, and those
// that no longer exist.
func (p *pass) writes(ctx context.Context, ids []store.WriteID) error {
	ids = slices.DeleteFunc(ids, func(id store.WriteID) bool { return id.Version <= p.seen[sensorID{id.Pipeline, id.Key}] })
	if len(ids) == 0 {
		return nil
	}
	found, err := p.archiver.store.Writes(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if r, there := found[id]; there {
			if err := p.copyReading(id.Pipeline, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pass) copyReading(id pipeline.ID, r *sensor.Reading) error {
	made, err := readingRow(id, r)
	if err != nil {
		return err
	}
	p.ledger.add(history, made)
	return nil
}

// history copies all writes of a key, newest first.
func (p *pass) history(ctx context.Context, id sensorID) error {
	for q := (store.HistoryQuery{Pipeline: id.pipeline, Key: id.key, Limit: MaxRows}); ; {
		page, err := p.archiver.store.History(ctx, q)
		if err = cmp.Or(err, p.ledger.err()); err != nil {
			return err
		}
		for _, r := range page.Items {
			if err := p.copyReading(id.pipeline, r); err != nil {
				return err
			}
			p.seen[id] = max(p.seen[id], r.Version)
		}
		if page.Next == "" {
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
		for q, more := (store.LatestQuery{Pipeline: of.ID}), true; more; {
			page, err := p.archiver.store.LatestReadings(ctx, q)
			if err != nil {
				return err
			}
			for _, r := range page.Items {
				if err := p.history(ctx, sensorID{of.ID, r.Key}); err != nil {
					return err
				}
			}
			q.Cursor, more = page.Next, page.Next != ""
		}
	}
	return nil
}
