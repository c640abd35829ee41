package record

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// streamed identifies a record of a producer's stream: its sequence number, padded to sort, and when it was written.
type streamed struct {
	Sequence string    `json:"sequence"`
	At       time.Time `json:"at"`
}

// Produced is a reading that a producer wrote into the database itself, as a record of the database's stream reports it.
type Produced struct {
	Write    store.Write
	Sequence string    // of the record: of two records of one row, the later has the higher one
	At       time.Time // when it was written, by the stream
}

// sequenceWidth is how many digits a sequence number has at most.
const sequenceWidth = 40

// skew is how much later a stream may say that a record was written than one that follows it.
const skew = time.Minute

// PutProduced stores the reading, written when the stream says it was, and returns its change. A record that was stored
// before returns the same change again. One that a later record or a later write has overtaken returns nil.
func (s *Store) PutProduced(ctx context.Context, p Produced) (*store.Change, error) {
	r, err := newReading(p.Write, p.At)
	if err != nil {
		return nil, err
	}
	r.Record, r.Own = streamed{fmt.Sprintf("%0*s", sequenceWidth, p.Sequence), r.UpdatedAt}, true
	k, err := s.put(ctx, []*reading{&r})
	if err != nil {
		return nil, fmt.Errorf("put sensor %s of %s: %w", r.Key, r.pipeline, err)
	}
	if len(k.changes) == 0 {
		return nil, nil
	}
	return &k.changes[0], nil
}

// overtakenBy reports whether r is a record that was stored before, or that a newer record of its row has overtaken. The
// stream of a restored table numbers its records anew, so a lower number counts as newer if it was written later.
func (r *reading) overtakenBy(old *reading) bool {
	last := old.Record
	return r.Record.Sequence <= last.Sequence &&
		(r.Record.Sequence == last.Sequence || !r.UpdatedAt.After(last.At.Add(skew)))
}

// repeat answers a record that was stored before as it was answered then. It ignores one that was overtaken, by another
// record or by a write through the API, which has a change of its own.
func (k *intake) repeat(next reading, old *reading) {
	k.puts = append(k.puts, store.Put{Version: old.Version, UpdatedAt: old.UpdatedAt, Changed: old.Changed, Ignored: true})
	if old.Own && next.Record.Sequence == old.Record.Sequence {
		k.changes = append(k.changes, old.change())
	}
}
