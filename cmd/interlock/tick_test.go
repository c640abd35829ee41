package main

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// trimBacklog is a store with rows to delete, which takes away one step's worth at a time.
type trimBacklog struct{ rows int }

func (b *trimBacklog) Trim(context.Context, store.Retention, time.Time) (int, error) {
	n := min(b.rows, store.MaxTrim)
	b.rows -= n
	return n, nil
}

func TestRetentionCatchesUpWithABacklogOfAnySize(t *testing.T) {
	b := &trimBacklog{rows: 1000*store.MaxTrim + 1}
	if err := trimAll(t.Context(), b, store.Retention{}, time.Time{}); err != nil || b.rows != 0 {
		t.Errorf("%d rows are left, %v", b.rows, err)
	}
}

func TestRetentionStopsWithTheServer(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	b := &trimBacklog{rows: 1 << 60}
	if err := trimAll(ctx, b, store.Retention{}, time.Time{}); err == nil {
		t.Error("it went on")
	}
}
