// Package audit records who did what: operators' requests, logins, changed files and tokens. An
// entry is written before the action and completed with its outcome afterwards, so that no action
// is without an entry, and an entry without an outcome means that the server stopped in between. A
// completed entry never changes; it is deleted when its retention ends.
//
// Entries are notes of the store, one kind for each day, so that a list reads only the days that it
// shows. The commit that completes an entry also emits an AUDIT event, which alert routes can send
// on. Package api decides what is recorded about a request. An entry never contains secrets: only
// the names of tokens, and only known fields of a request.
package audit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Outcome is how an action ended.
type Outcome string

// The outcomes.
const (
	Unknown Outcome = ""        // the server stopped before the action ended
	Done    Outcome = "done"    // it was carried out
	Refused Outcome = "refused" // it was not allowed, or not possible
	Failed  Outcome = "failed"  // something went wrong inside the server; it may or may not have been carried out
)

// Entry is one action.
type Entry struct {
	ID          string         `json:"id"`
	At          time.Time      `json:"at"`
	Actor       string         `json:"actor"`                 // the name of a token, certificate or user; "server" for what the server does by itself
	Role        string         `json:"role,omitempty"`        // of the actor
	RequestedBy string         `json:"requestedBy,omitempty"` // the person that the client named
	Remote      string         `json:"remote,omitempty"`      // the address that the request came from
	Request     string         `json:"request,omitempty"`     // the request's id, as in the server's log
	Action      string         `json:"action"`                // the operation: trigger, pause, login, config
	Pipeline    pipeline.ID    `json:"pipeline,omitempty"`
	Subject     string         `json:"subject,omitempty"` // what else it is about: a run, a silence
	Reason      string         `json:"reason,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"` // of the request, such as force: true
	Outcome     Outcome        `json:"outcome,omitempty"`
	Error       string         `json:"error,omitempty"` // why it was refused, or what went wrong
	Change      *Change        `json:"change,omitempty"`

	version int64 // of its note
}

// Change is a change of a configuration file. Before and After are SHA-256 digests: of its last
// accepted contents and of its new ones, or empty if there are none.
type Change struct {
	Kind   string   `json:"kind"`
	File   string   `json:"file"`
	Was    string   `json:"was,omitempty"` // its path before, if it has moved
	Before string   `json:"before,omitempty"`
	After  string   `json:"after,omitempty"`
	Owner  string   `json:"owner,omitempty"`  // of the file on disk
	Commit string   `json:"commit,omitempty"` // that is checked out in its directory
	Diff   []string `json:"diff,omitempty"`   // see Diff
}

// records is what a Log needs of a store.
type records interface {
	store.Committer
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
	Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error)
}

// Log is the audit record of a controller. It is safe for concurrent use, by several replicas as
// well.
type Log struct {
	store records
	keep  time.Duration

	count atomic.Uint64 // orders entries of one instant

	mu  sync.Mutex
	day string // the last day that is known to be in the index
}

// New returns a Log that keeps each entry for the given time.
func New(s records, keep time.Duration) *Log { return &Log{store: s, keep: keep} }

// Begin stores an entry before its action, without an outcome, and returns it with its id.
func (l *Log) Begin(ctx context.Context, e Entry, now time.Time) (Entry, error) {
	return l.write(ctx, l.named(e, now), now)
}

// Put adds an entry to the batch that carries out its action: both are stored, or neither.
func (l *Log) Put(ctx context.Context, b *store.Batch, e Entry, now time.Time) error {
	e = l.named(e, now)
	if err := l.index(ctx, dayOf(e.ID), now); err != nil {
		return err
	}
	return l.put(b, e, now)
}

// named returns a new entry with its time and id.
func (l *Log) named(e Entry, now time.Time) Entry {
	e.At = now.UTC()
	e.ID = fmt.Sprintf("%s-%06x-%s", e.At.Format(idTime), l.count.Add(1)&0xffffff, rand.Text()[:6])
	return e
}

// End completes an entry with its outcome, and emits its event.
func (l *Log) End(ctx context.Context, e Entry, now time.Time) error {
	_, err := l.write(ctx, e, now)
	return err
}

// Withdraw removes an entry whose action did not happen, so that a client that repeats a rejected
// request does not fill the store. The entry is not listed any more.
func (l *Log) Withdraw(ctx context.Context, e Entry, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("audit/%s/withdrawn", e.ID)}
	b.SwapNote(store.Note{Version: e.version}, store.Note{Kind: kindOf(dayOf(e.ID)), Key: e.ID, Data: []byte("{}"), Until: now})
	if err := l.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("withdraw the audit entry of %s: %w", e.Action, err)
	}
	return nil
}

// Skipped records how many rejected requests before this one have no entry.
func (e *Entry) Skipped(n int) {
	if n == 0 {
		return
	}
	if e.Parameters == nil {
		e.Parameters = map[string]any{}
	}
	e.Parameters["notRecorded"] = n
}

// Add stores an entry for something that has happened already.
func (l *Log) Add(ctx context.Context, e Entry, now time.Time) error {
	_, err := l.Begin(ctx, e, now)
	return err
}

// idTime is the format of the first part of an id, which orders entries.
const idTime = "20060102T150405.000000000Z"

// write stores an entry for the first or the second time.
func (l *Log) write(ctx context.Context, e Entry, now time.Time) (Entry, error) {
	b := store.Batch{ID: fmt.Sprintf("audit/%s/v%d", e.ID, e.version)}
	if err := l.put(&b, e, now); err != nil {
		return e, err
	}
	if err := l.index(ctx, dayOf(e.ID), now); err != nil {
		return e, err
	}
	if err := l.store.Commit(ctx, b, now); err != nil {
		return e, fmt.Errorf("store the audit entry of %s: %w", e.Action, err)
	}
	e.version++
	return e, nil
}

// put adds an entry, and its event if it is complete, to a batch.
func (l *Log) put(b *store.Batch, e Entry, now time.Time) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write the audit entry of %s: %w", e.Action, err)
	}
	b.SwapNote(store.Note{Version: e.version}, store.Note{Kind: kindOf(dayOf(e.ID)), Key: e.ID, Data: data, Until: e.At.Add(l.keep)})
	if e.Outcome != Unknown {
		b.Emit(e.event(now))
	}
	return nil
}

// index makes sure that a day is in the list of days.
func (l *Log) index(ctx context.Context, day string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.day == day {
		return nil
	}
	until, err := time.Parse(dayShape, day)
	if err != nil {
		return fmt.Errorf("read the day %q of an audit entry: %w", day, err)
	}
	until = until.Add(24*time.Hour + l.keep)
	err = store.Again(func() error {
		read, err := store.IfFound(l.store.Note(ctx, store.AuditNote, day))
		if err != nil {
			return fmt.Errorf("read the days of the audit record: %w", err)
		}
		if read.Version > 0 && !read.Until.Before(until) {
			return nil
		}
		b := store.Batch{ID: fmt.Sprintf("audit/%s/v%d/%s", day, read.Version, rand.Text())}
		b.SwapNote(read, store.Note{Kind: store.AuditNote, Key: day, Data: []byte("{}"), Until: until})
		if err := l.store.Commit(ctx, b, now); err != nil {
			return fmt.Errorf("store a day of the audit record: %w", err)
		}
		return nil
	})
	if err == nil {
		l.day = day
	}
	return err
}

// dayShape is the format of a day in the index. It is the beginning of an id.
const dayShape = "20060102"

func dayOf(id string) string { return id[:min(len(dayShape), len(id))] }

// kindOf returns the kind of the notes of a day.
func kindOf(day string) store.NoteKind { return store.AuditNote + "/" + store.NoteKind(day) }

// event returns the AUDIT event of an entry.
func (e Entry) event(now time.Time) event.Event {
	about := event.About{Pipeline: e.Pipeline, Which: e.ID, At: now, CausedBy: e.ID}
	return event.New(event.Audit, about, e.message(), event.Audited{
		Actor: e.Actor, Role: e.Role, RequestedBy: e.RequestedBy, Remote: e.Remote, Action: e.Action, Subject: e.Subject, Reason: e.Reason, Outcome: string(e.Outcome),
	})
}

// message returns the event's message, such as "pause orders by deploy: done".
func (e Entry) message() string {
	text := e.Action
	if e.Subject != "" {
		text += " " + e.Subject
	} else if e.Pipeline != "" {
		text += " " + string(e.Pipeline)
	}
	text += " by " + e.Actor + ": " + string(e.Outcome)
	if e.Error != "" {
		text += ", " + strings.TrimSpace(e.Error)
	}
	return text
}
