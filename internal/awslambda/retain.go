package awslambda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// retention is how long history is kept. Events expire by their time to live.
var retention = store.Retention{History: 30 * 24 * time.Hour, JobLog: 30 * 24 * time.Hour}

const (
	mostSteps = 20               // deletion steps per call: the next call continues
	spare     = 20 * time.Second // the time that one step may take
)

// RoundReply is what one call of the watchdog found, and how many rows it deleted.
type RoundReply struct {
	WatchReply
	Forgotten int `json:"forgotten"`
}

// Round answers one call of the watchdog: it checks everything once and deletes rows older than their retention.
func (w *Watch) Round(ctx context.Context) (RoundReply, error) {
	found, err := w.Pass(ctx)
	forgotten, failed := w.forget(ctx)
	err = errors.Join(err, failed)
	if err == nil && w.Beat != nil {
		err = w.Beat(ctx)
	}
	return RoundReply{WatchReply: found, Forgotten: forgotten}, err
}

// forget deletes in small steps while time remains.
func (w *Watch) forget(ctx context.Context) (all int, err error) {
	for range mostSteps {
		if end, is := ctx.Deadline(); is && end.Sub(w.Now()) < spare {
			return all, nil
		}
		n, err := w.Store.Trim(ctx, retention, w.Now())
		all += n
		if err != nil {
			return all, fmt.Errorf("delete old history: %w", err)
		}
		if n == 0 {
			return all, nil
		}
	}
	return all, nil
}
