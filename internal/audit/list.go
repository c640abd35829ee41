package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Query selects entries. Empty fields match any. Limit goes through store.PageSize; Cursor is Next
// of the page before.
type Query struct {
	Actor        string // or the person that a client named
	Action       string
	Pipeline     pipeline.ID
	Outcome      Outcome
	Since, Until time.Time // Since is included, Until is not
	Limit        int
	Cursor       string
}

func (q Query) wants(e Entry) bool {
	return (q.Actor == "" || e.Actor == q.Actor || e.RequestedBy == q.Actor) &&
		(q.Action == "" || e.Action == q.Action) &&
		(q.Pipeline == "" || e.Pipeline == q.Pipeline) &&
		(q.Outcome == "" || e.Outcome == q.Outcome) &&
		!e.At.Before(q.Since) && (q.Until.IsZero() || e.At.Before(q.Until)) &&
		(q.Cursor == "" || e.ID < q.Cursor)
}

// wantsDay reports whether a day may have matching entries.
func (q Query) wantsDay(day string) bool {
	return (q.Since.IsZero() || day >= q.Since.UTC().Format(dayShape)) &&
		(q.Until.IsZero() || day <= q.Until.UTC().Format(dayShape)) &&
		(q.Cursor == "" || day <= dayOf(q.Cursor))
}

// List returns entries, newest first.
func (l *Log) List(ctx context.Context, q Query) (store.Page[Entry], error) {
	days, err := l.store.Notes(ctx, store.AuditNote)
	if err != nil {
		return store.Page[Entry]{}, fmt.Errorf("read the days of the audit record: %w", err)
	}
	size := store.PageSize(q.Limit)
	var found []Entry
	for _, day := range slices.Backward(days) {
		if !q.wantsDay(day.Key) {
			continue
		}
		notes, err := l.store.Notes(ctx, kindOf(day.Key))
		if err != nil {
			return store.Page[Entry]{}, fmt.Errorf("read the audit record of %s: %w", day.Key, err)
		}
		for _, note := range slices.Backward(notes) {
			var e Entry
			if err := json.Unmarshal(note.Data, &e); err != nil {
				return store.Page[Entry]{}, fmt.Errorf("read audit entry %s: %w", note.Key, err)
			}
			if e.ID == "" || !q.wants(e) { // without an ID it was withdrawn
				continue
			}
			if len(found) == size {
				return store.Page[Entry]{Items: found, Next: found[size-1].ID}, nil
			}
			found = append(found, e)
		}
	}
	return store.Page[Entry]{Items: found}, nil
}
