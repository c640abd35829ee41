package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// threadLife is how long a thread is kept after its last change. A later alert starts a new one.
const threadLife = 30 * 24 * time.Hour

// notes is the part of the store that holds notes.
type notes interface {
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
	Commit(ctx context.Context, b store.Batch, now time.Time) error
}

// Threads stores the threads of sinks, so that several replicas continue the same conversation.
type Threads struct{ store notes }

var _ sink.Threads = (*Threads)(nil)

// NewThreads stores threads in s.
func NewThreads(s notes) *Threads { return &Threads{store: s} }

// Thread returns the thread last saved under key.
func (t *Threads) Thread(ctx context.Context, key string) (sink.Thread, error) {
	n, err := t.store.Note(ctx, store.ThreadNote, key)
	if errors.Is(err, store.ErrNotFound) {
		return sink.Thread{Key: key}, nil
	}
	if err != nil {
		return sink.Thread{}, fmt.Errorf("read thread %s: %w", key, err)
	}
	return sink.Thread{Key: key, Version: n.Version, Data: n.Data}, nil
}

// SaveThread stores a thread if the stored version is still the one that was read.
func (t *Threads) SaveThread(ctx context.Context, next sink.Thread, now time.Time) (sink.Thread, error) {
	// Each batch has a unique id: otherwise two replicas that save the same data would look like
	// one retrying.
	b := store.Batch{ID: fmt.Sprintf("thread/%s/%d/%s", next.Key, next.Version, rand.Text())}
	read := store.Note{Version: next.Version}
	b.SwapNote(read, store.Note{Kind: store.ThreadNote, Key: next.Key, Data: next.Data, Until: now.Add(threadLife)})
	if err := t.store.Commit(ctx, b, now); err != nil {
		if errors.Is(err, store.ErrConflict) {
			return sink.Thread{}, fmt.Errorf("save thread %s: %w", next.Key, sink.ErrTaken)
		}
		return sink.Thread{}, fmt.Errorf("save thread %s: %w", next.Key, err)
	}
	next.Version++
	return next, nil
}
