package awslambda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// retention is how long history is kept. Events leave by their time to live.
var retention = store.Retention{History: 30 * 24 * time.Hour, JobLog: 30 * 24 * time.Hour}

const (
	mostSteps = 20               // of forgetting in one call: what is left is for the next
	spare     = 20 * time.Second // what a step may take, of the function's own time
)

// RoundReply is what one call of the watchdog found, and how many rows it forgot.
type RoundReply struct {
	WatchReply
	Forgotten int `json:"forgotten"`
}

// Round answers one call of the watchdog: it looks at everything once, and forgets what is older than its retention.
func (w *Watch) Round(ctx context.Context) (RoundReply, error) {
	found, err := w.Pass(ctx)
	forgotten, failed := w.forget(ctx)
	err = errors.Join(err, failed)
	if err == nil && w.Beat != nil {
		err = w.Beat(ctx)
	}
	return RoundReply{WatchReply: found, Forgotten: forgotten}, err
}

// forget goes in small steps, for as long as there is time.
func (w *Watch) forget(ctx context.Context) (all int, err error) {
	for range mostSteps {
		if end, is := ctx.Deadline(); is && end.Sub(w.Now()) < spare {
			return all, nil
		}
		n, err := w.Store.Trim(ctx, retention, w.Now())
		all += n
		if err != nil {
			return all, fmt.Errorf("forget history: %w", err)
		}
		if n == 0 {
			return all, nil
		}
	}
	return all, nil
}
