package sqlite

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// The statements of a Put, by its condition. Their arguments are those of step.args.
const (
	insertRow  = "INSERT INTO rows (" + columns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	replaceRow = "INSERT INTO rows (" + columns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (ref) " +
		"DO UPDATE SET (" + settable + `) = (excluded.version, excluded.ordered, excluded.ordered_part,
		excluded.pending, excluded.pending_part, excluded.aging, excluded.tag, excluded.body)`
	updateRow = "UPDATE rows SET (" + settable + ") = (?, ?, ?, ?, ?, ?, ?, ?) WHERE ref = ? AND version = ?"
	deleteRow = "DELETE FROM rows WHERE ref = ? AND version = ?"

	settable = "version, ordered, ordered_part, pending, pending_part, aging, tag, body"
	columns  = settable + ", ref"
)

const insertEvent = `INSERT INTO rows (version, ordered, pending, pending_part, aging, tag, event, body, ref)
	VALUES (1, ?, ?, ?, ?, '', ?, ?, ?) ON CONFLICT DO NOTHING`

// apply is a row.Tx with its statement arguments, which are prepared before the writer runs it.
// Everything is copied: if ctx ends, Apply returns while the writer may still be reading it.
type apply struct {
	id     string
	at     int64
	steps  []step
	events []row.Event
}

// step is a row.Op. args are for a Put: its columns, the ref, and the version the row must have.
type step struct {
	row.Op
	ref  string
	args [10]any
}

// Apply passes tx to the writer, which commits it together with others.
func (e *Engine) Apply(ctx context.Context, tx row.Tx, now time.Time) error {
	a := &apply{id: tx.ID, at: now.UnixNano(), steps: make([]step, len(tx.Ops)), events: slices.Clone(tx.Events)}
	for i, op := range tx.Ops {
		a.steps[i].prepare(op)
	}
	for i := range a.events {
		a.events[i].Body = clone(a.events[i].Body)
	}
	return e.write(ctx, a, len(tx.Ops)+len(tx.Events))
}

// clone copies a body. The copy is never nil, because SQLite stores nil as NULL.
func clone(body []byte) []byte { return append([]byte{}, body...) }

func (s *step) prepare(o row.Op) {
	o.Change = clone(o.Change)
	s.Op, s.ref = o, refPrefix(o.Row.Kind, o.Row.Part)+o.Row.Key
	if o.Do != row.Put {
		return
	}
	s.args = [10]any{0: o.Row.Version, 6: o.Row.Tag, 7: clone(o.Row.Body), 8: s.ref, 9: o.If}
	for i, column := range [row.Indexes]int{row.Ordered: 1, row.Pending: 3, row.Aging: 5} {
		p := o.Row.Places[i]
		if p.List == "" {
			continue
		}
		s.args[column] = listPrefix(o.Row.Kind, p.List) + p.Key
		if o.Row.Part != "" && row.Index(i) != row.Aging {
			s.args[column+1] = partPrefix(o.Row.Kind, o.Row.Part, p.List) + p.Key
		}
	}
}

// refPrefix is the prefix of the refs of all rows of a kind in a part; listPrefix and partPrefix
// are those of all places in a list. They end with "/", so that replacing it with "0" gives the
// upper bound.
func refPrefix(k row.Kind, part string) string {
	return string(k) + "/" + strconv.Itoa(len(part)) + "/" + part + "/"
}

func listPrefix(k row.Kind, list string) string { return refPrefix(k, list) }

func partPrefix(k row.Kind, part, list string) string {
	return refPrefix(k, part) + strconv.Itoa(len(list)) + "/" + list + "/"
}

// do makes each change with its condition in the same statement. If a condition does not hold, it
// returns a *row.Conflict; the writer rolls back if something has been changed already.
func (a *apply) do(tx *tx) error {
	if a.id != "" {
		if done, err := tx.number("SELECT 1 FROM applied WHERE id = ?", a.id); err != nil || done == 1 {
			return err
		}
	}
	var bodies []byte
	changes := int64(0)
	for i := range a.steps {
		s := &a.steps[i]
		holds, done, err := s.do(tx)
		if err != nil {
			return err
		}
		if !holds {
			return &row.Conflict{Op: i, Ref: s.Row.Ref}
		}
		if done && len(s.Change) > 0 {
			bodies = append(binary.AppendUvarint(bodies, uint64(len(s.Change))), s.Change...)
			changes++
		}
		tx.tasks = tx.tasks || s.Row.Kind == row.Tasks && s.Do != row.Check && !s.Quiet
	}
	if changes > 0 {
		tx.lastChange += changes
		if _, err := tx.change("INSERT INTO changes (last, n, at, bodies) VALUES (?, ?, ?, ?)",
			tx.lastChange, changes, a.at, bodies); err != nil {
			return err
		}
	}
	for i := range a.events {
		if err := tx.appendEvent(&a.events[i]); err != nil {
			return err
		}
	}
	if a.id == "" {
		return nil
	}
	_, err := tx.change("INSERT INTO applied (id, at) VALUES (?, ?)", a.id, a.at)
	return err
}

// do returns whether the condition holds, and whether the op took effect: a First op does not if
// the row exists.
func (s *step) do(tx *tx) (holds, done bool, err error) {
	var n int64
	switch {
	case s.If == row.Never:
		return false, false, nil
	case s.Do == row.Put && s.If == row.Any:
		n, err = tx.change(replaceRow, s.args[:9]...)
	case s.Do == row.Put && s.If > 0:
		n, err = tx.change(updateRow, s.args[:]...)
	case s.Do == row.Put: // 0 or First
		n, err = tx.change(insertRow, s.args[:9]...)
	case s.Do == row.Delete && s.If == row.Any:
		_, err = tx.change("DELETE FROM rows WHERE ref = ?", s.ref)
		return true, true, err
	case s.Do == row.Delete && s.If > 0:
		n, err = tx.change(deleteRow, s.ref, s.If)
	case s.If == row.Any:
		return true, true, nil
	default: // a Check, or a Delete of a row that must not exist
		version, err := tx.number("SELECT version FROM rows WHERE ref = ?", s.ref)
		return version == max(0, s.If) || s.If == row.First, version == s.If || version == 0, err
	}
	return n == 1 || s.If == row.First, n == 1, err
}

// appendEvent appends an event to the log, unless an event with its ID exists.
func (tx *tx) appendEvent(e *row.Event) error {
	position := row.Digits(tx.lastEvent + 1)
	typed := string(row.Events) + ":" + e.Type
	var typedInPart any
	if e.Part != "" {
		typedInPart = partPrefix(row.Events, e.Part, typed) + position
	}
	n, err := tx.change(insertEvent, listPrefix(row.Events, string(row.Events))+position,
		listPrefix(row.Events, typed)+position, typedInPart,
		listPrefix(row.Events, string(row.Events))+store.Nanos(e.At)+"#"+position,
		e.ID, e.Body, refPrefix(row.Events, e.Part)+position)
	if n > 0 {
		tx.lastEvent++
		tx.events = true
	}
	return err
}

// parseRef splits a text built with refPrefix.
func parseRef(text string) row.Ref {
	kind, rest, _ := strings.Cut(text, "/")
	length, rest, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n >= len(rest) {
		return row.Ref{Kind: row.Kind(kind)} // only in a damaged file
	}
	return row.Ref{Kind: row.Kind(kind), Part: rest[:n], Key: rest[n+1:]}
}
