package scenario_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/store/sqlite"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

// keeper opens and closes the store of a platform as its controller starts and stops.
type keeper interface {
	open() store.Store
	close()
	store() store.Store
	running() bool
	unseen()
}

// held is a keeper with a function that opens the store.
type held struct {
	*testing.T
	opens func() store.Store
	line  *line
}

func (h *held) open() store.Store {
	h.line = &line{Store: h.opens()}
	return h.line
}

func (h *held) close() {
	h.Helper()
	if h.line == nil {
		return
	}
	if err := h.line.Close(); err != nil {
		h.Fatal(err)
	}
	h.line = nil
}

func (h *held) store() store.Store { return h.line }
func (h *held) running() bool      { return h.line != nil }
func (h *held) unseen()            { h.line.lose() }

// onMemory stores everything in memory, also while the controller is stopped.
func onMemory(t *testing.T) *held {
	data := memory.New()
	return &held{T: t, opens: func() store.Store { return data.Open() }}
}

// onSQLite stores everything in a directory.
func onSQLite(t *testing.T, dir string) *held {
	return &held{T: t, opens: func() store.Store {
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
}

// line is a store that can lose changes before they reach the controller.
type line struct {
	store.Store
	idle storetest.Idle

	mu    sync.Mutex
	loses int
}

func (l *line) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loses++
}

func (l *line) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loses == 0 {
		return false
	}
	l.loses--
	return true
}

// Receive drops lost changes, which may be all of them.
func (l *line) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	changes, err := l.Store.Receive(ctx, group, consumer, limit)
	if err != nil {
		return nil, err
	}
	var given []store.Change
	for _, c := range changes {
		if !l.lost() {
			given = append(given, c)
		} else if err := l.Done(ctx, group, []store.Change{c}); err != nil {
			return nil, err
		}
	}
	return given, nil
}

func (l *line) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	if l.idle.Until(now) {
		return nil, nil
	}
	return l.Store.Claim(ctx, q, now)
}

func (l *line) NextDue(ctx context.Context, q store.ClaimQuery) (time.Time, error) {
	return l.idle.NextDue(ctx, l.Store, q)
}
