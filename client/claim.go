package client

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// claimAgain is how long a claim without an answer is repeated, at least.
const claimAgain = 30 * time.Second

// claim claims the attempt. A claim without an answer may have been granted, so it is repeated with
// the same idempotency key, and nothing else is asked meanwhile.
func (w *waiter) claim(ctx context.Context) (*Lease, error) {
	began := time.Now()
	for again := false; ; again = true {
		lease, err := w.claimOnce(ctx, again)
		switch {
		case err == nil:
			return lease, nil
		case again && conflict(err):
			w.key = rand.Text() // the attempt of the old one is over
			return nil, err
		case final(err), ctx.Err() != nil:
			return nil, err
		}
		left := max(w.patience(), claimAgain-time.Since(began))
		if left <= 0 {
			return nil, err
		}
		w.failed++
		if interrupted := rest(ctx, min(left, backoff(time.Second, slowest, w.failed))); !errors.Is(interrupted, errAgain) {
			return nil, interrupted
		}
	}
}

// claimOnce sends one claim. A repeated one is confirmed by a heartbeat, because the attempt may
// have been claimed long ago.
func (w *waiter) claimOnce(ctx context.Context, again bool) (*Lease, error) {
	key, sent := w.gate.Run.Key(), startWatch()
	claim, err := w.c.Claim(ctx, key, w.q.Worker, IdempotencyKey(w.key), Traceparent(w.q.Traceparent), Within(most))
	if err == nil && again {
		sent = startWatch()
		_, err = w.c.Heartbeat(ctx, key, "", Permit(claim.Permit), Traceparent(w.q.Traceparent), Within(most))
	}
	if err != nil {
		return nil, err
	}
	return newLease(w.c, key, claim, w.q.Grace, sent), nil
}
