package api

import (
	"cmp"
	"context"
	"fmt"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
)

func (a *API) backfill(ctx context.Context, in *struct {
	Once
	OfPipeline
	Body client.BackfillRequest
},
) (*output[List[client.Backfilled]], error) {
	id := pipeline.ID(in.ID)
	q := router.BackfillRequest{
		ID: in.id(ctx), Pipeline: id, By: askedBy(ctx, &in.Body.Asked), Reason: askedWhy(&in.Body.Asked), OnlyMissing: in.Body.OnlyMissing, DryRun: in.Body.DryRun,
	}
	var p1, p2 *Problem
	q.From, p1 = parsePeriod("body.from", in.Body.From)
	q.To, p2 = parsePeriod("body.to", in.Body.To)
	if p := cmp.Or(p1, p2); p != nil {
		return nil, p
	}
	return once(ctx, a, in.Once, []any{"backfill", id, in.Body}, backfillAnswer, func(o router.Once[[]router.Backfilled]) ([]router.Backfilled, error) {
		if _, p := a.entry(ctx, id); p != nil {
			return nil, p
		}
		if !q.DryRun {
			if p := a.quotas.open(ctx, id, a.now()); p != nil {
				return nil, p
			}
		}
		q.Once = o
		done, err := a.operator.Backfill(ctx, q, a.now())
		if !q.DryRun {
			a.quotas.opened(id, opens(done))
		}
		if err != nil {
			return nil, fmt.Errorf("backfill %s: %w", id, err)
		}
		return done, nil
	})
}

// opens counts the periods that a backfill opened or reran.
func opens(done []router.Backfilled) (n int) {
	for _, b := range done {
		if b.Action != router.BackfillSkip {
			n++
		}
	}
	return n
}

// backfillAnswer returns the response to a backfill.
func backfillAnswer(done []router.Backfilled) (*output[List[client.Backfilled]], *Problem) {
	return answer(List[client.Backfilled]{Items: views(done, func(b router.Backfilled) client.Backfilled {
		return client.Backfilled{Date: b.Period.String(), Action: string(b.Action), Reason: text(b.Reason)}
	})}), nil
}
