package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// streamed identifies a record of a producer's stream: its sequence number, padded to sort, and
// when it was written.
type streamed struct {
	Sequence string    `json:"sequence"`
	At       time.Time `json:"at"`
	Digest   string    `json:"digest,omitempty"` // hash of the producer's row
}

// Produced is a reading that a producer wrote directly into the database, as reported by the
// database's change stream.
type Produced struct {
	Write store.Write
	// Sequence is the sequence number of the stream record: of two records of one row, the later
	// has the higher one. It is "" if the row itself was read because its record was lost.
	Sequence string
	At       time.Time // when it was written, according to the stream
	Row      string    // the name of the producer's row, for messages
	Digest   string    // hash of its contents; set by Unread
}

// sequenceWidth is how many digits a sequence number has at most.
const sequenceWidth = 40

// skew is by how much the stream's times of successive records may be out of order.
const skew = time.Minute

// PutProduced stores the reading with the time of the stream record, and returns its change. For a
// record that was stored before, it returns the same change again. For one superseded by a later
// record or write, it returns nil.
func (s *Store) PutProduced(ctx context.Context, p Produced) (*store.Change, error) {
	r, err := newReading(p.Write, p.At)
	if err != nil {
		return nil, err
	}
	r.Record, r.Own = streamed{At: r.UpdatedAt, Digest: r.digest()}, true
	if p.Sequence != "" {
		r.Record.Sequence = fmt.Sprintf("%0*s", sequenceWidth, p.Sequence)
	}
	k, err := s.put(ctx, []*reading{&r})
	if err != nil {
		return nil, fmt.Errorf("put sensor %s of %s: %w", r.Key, r.pipeline, err)
	}
	if len(k.changes) == 0 {
		return nil, nil
	}
	return &k.changes[0], nil
}

// digest returns a hash of a producer's row.
func (r *reading) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", r.ExpiresAt.Unix(), r.Data))
	return hex.EncodeToString(sum[:16])
}

// Unread returns those producer rows whose current contents no stream record has delivered: the
// last record of such a row, if any, had other contents. Two rows of one reading are returned
// together.
func (s *Store) Unread(ctx context.Context, rows []Produced) ([]Produced, error) {
	refs, digests := make([]row.Ref, len(rows)), make([]string, len(rows))
	for i, p := range rows {
		r, err := newReading(p.Write, p.At)
		if err != nil {
			return nil, err
		}
		refs[i], digests[i] = r.ref(), r.digest()
	}
	found, err := s.engine.Get(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("read readings: %w", err)
	}
	stale := map[row.Ref]bool{}
	for i, ref := range refs {
		if found[i].Version == 0 {
			stale[ref] = true
			continue
		}
		old, err := readingOf(found[i])
		if err != nil {
			return nil, err
		}
		// An older version of Interlock stored no digest: its reading is trusted.
		if old.Record.Digest != digests[i] && (old.Record.Digest != "" || old.Record.Sequence == "") {
			stale[ref] = true
		}
	}
	var unread []Produced
	for i, p := range rows {
		if stale[refs[i]] {
			p.Digest = digests[i]
			unread = append(unread, p)
		}
	}
	return unread, nil
}

// overtakenBy reports whether r was stored before, or was superseded by a newer record of its row.
// The stream of a restored table restarts its numbering, so a lower number counts as newer if it
// was written later.
func (r *reading) overtakenBy(old *reading) bool {
	last := old.Record
	if r.Record.Sequence == "" { // the row itself was read
		return r.Record.Digest == last.Digest
	}
	return r.Record.Sequence <= last.Sequence &&
		(r.Record.Sequence == last.Sequence || !r.UpdatedAt.After(last.At.Add(skew)))
}

// repeat answers a repeated record as the first time. It ignores one superseded by another record
// or by a write through the API, which has its own change.
func (k *intake) repeat(next reading, old *reading) {
	k.puts = append(k.puts, store.Put{Version: old.Version, UpdatedAt: old.UpdatedAt, Changed: old.Changed, Ignored: true})
	if old.Own && next.Record.Sequence == old.Record.Sequence {
		k.changes = append(k.changes, old.change())
	}
}
