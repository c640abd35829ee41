package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// RequestRerun writes a row that asks for another attempt, in the place of an earlier request for the same run. Whoever follows
// the streams answers it.
func (s *Store) RequestRerun(ctx context.Context, q RerunRequest, now time.Time) error {
	row := Row{"id": text(q.ID), "requestedAt": text(now.UTC().Format(time.RFC3339Nano)), "force": truth(q.Force), "bypassGate": truth(q.BypassGate)}
	if q.Reason != "" {
		row["reason"] = text(q.Reason)
	}
	if q.By != "" {
		row["requestedBy"] = text(q.By)
	}
	if err := s.putRow(ctx, ofRun(rerunRequest, q.Key), row); err != nil {
		return fmt.Errorf("ask for another attempt of %s: %w", q.Key, err)
	}
	return nil
}

// answerPace is how often one who waits for an answer looks for it.
const answerPace = 250 * time.Millisecond

// RerunAnswer waits until a request was answered, or ctx ends.
func (s *Store) RerunAnswer(ctx context.Context, q RerunRequest) (store.Rerun, error) {
	tick := time.NewTicker(answerPace)
	defer tick.Stop()
	for {
		all, err := s.Reruns(ctx, []run.Key{q.Key})
		if err != nil {
			return store.Rerun{}, err
		}
		for _, r := range all[q.Key] {
			if r.ID == q.ID {
				return r, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return store.Rerun{}, fmt.Errorf("wait for the answer to request %s: %w", q.ID, ctx.Err())
		}
	}
}
