// Package presence keeps the record of when some replica could accept heartbeats. Workers report to
// whichever replica answers, so silence says something about a worker only while one of them could
// have heard it. Package run defines the record and what follows from it; this package reads and
// writes it. The host calls Attend at each Interval.
package presence

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Interval is how often each replica attends. A replica that has not done so for longer than maxGap
// could accept no heartbeats: it did not run, or could not write.
const (
	Interval = 5 * time.Second
	maxGap   = 12 * time.Second
)

// key is the key of the only note of kind store.PresenceNote.
const key = "replicas"

// notes is the part of the store that holds the record.
type notes interface {
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
}

// keeper is the part of the store that a Replica uses.
type keeper interface {
	notes
	store.Committer
}

// Replica records the presence of this process. It is not safe for concurrent use.
type Replica struct {
	store keeper
	since time.Time // since when it has been present without a gap
	last  time.Time // when it last attended
}

// New returns a Replica that has not been present yet.
func New(s keeper) *Replica { return &Replica{store: s} }

// Attend records that this process can accept heartbeats now, and could since it last attended unless
// that was too long ago.
func (r *Replica) Attend(ctx context.Context, now time.Time) error {
	gap := max(now.Sub(r.last), now.Round(0).Sub(r.last.Round(0))) // the monotonic clock stops while the machine is suspended
	if r.since.IsZero() || gap > maxGap || now.Before(r.since) {
		r.since = now
	}
	if err := Record(ctx, r.store, run.Span{From: r.since, To: now}, Interval/2); err != nil {
		return err
	}
	r.last = now
	return nil
}

// Record stores that a replica could accept heartbeats in here. All replicas share one record, so one
// of them writes for all: a span that is recorded up to that tolerance is not stored again.
func Record(ctx context.Context, s keeper, here run.Span, tolerance time.Duration) error {
	return store.Again(func() error {
		read, err := store.IfFound(s.Note(ctx, store.PresenceNote, key))
		if err != nil {
			return fmt.Errorf("read the presence of replicas: %w", err)
		}
		p, err := decode(read)
		if err != nil || p.Covers(here, tolerance) {
			return err
		}
		data, err := json.Marshal(p.Add(here))
		if err != nil {
			return fmt.Errorf("write the presence of replicas: %w", err)
		}
		b := store.Batch{ID: fmt.Sprintf("presence/v%d/%x", read.Version, sha256.Sum256(data))}
		b.SwapNote(read, store.Note{Kind: store.PresenceNote, Key: key, Data: data})
		return s.Commit(ctx, b, here.To)
	})
}

// Read returns the record.
func Read(ctx context.Context, s notes) (run.Presence, error) {
	note, err := store.IfFound(s.Note(ctx, store.PresenceNote, key))
	if err != nil {
		return run.Presence{}, fmt.Errorf("read the presence of replicas: %w", err)
	}
	return decode(note)
}

func decode(note store.Note) (p run.Presence, err error) {
	if note.Version == 0 {
		return p, nil
	}
	if err := json.Unmarshal(note.Data, &p); err != nil {
		return p, fmt.Errorf("read the presence of replicas: %w", err)
	}
	return p, nil
}
