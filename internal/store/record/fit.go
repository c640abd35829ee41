package record

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Fit shortens one time after the other.
func (s *Store) Fit(ctx context.Context, keep store.Retention, now time.Time) (store.Retention, error) {
	for _, of := range []struct {
		list  row.Range
		limit int64
		age   *time.Duration
	}{
		{row.Range{Kind: row.Events, List: listEvents}, keep.EventsBytes, &keep.Events},
		{row.Range{Kind: History, List: listHistory}, keep.HistoryBytes, &keep.History},
	} {
		if of.limit <= 0 {
			continue
		}
		cut, err := s.fit(ctx, of.list, of.limit, *of.age, now)
		if err != nil {
			return keep, fmt.Errorf("measure the %s: %w", of.list.List, err)
		}
		if age := max(now.Sub(cut), store.LeastFit); !cut.IsZero() && (*of.age == 0 || age < *of.age) {
			*of.age = age
		}
	}
	return keep, nil
}

// size is how many bytes of a list were stored when, as far as they have been counted: the data of a
// FitNote.
type size struct {
	UpTo  string    `json:"upTo"`         // the place in the list of the last row that was counted
	Parts []part    `json:"parts"`        // oldest first
	Cut   time.Time `json:"cut,omitzero"` // what is older does not fit; zero if everything does
}

// part is a stretch of a list that ends where the next one begins.
type part struct {
	From  time.Time `json:"from"`
	Bytes int64     `json:"bytes"`
}

// parts is how many parts a limit has.
const parts = 100

// lateRow is how long after its instant a row may be stored and still be counted.
const lateRow = time.Minute

// fit counts what was stored since the last call, and returns the instant from which on rows fit into
// the limit; zero if all do.
func (s *Store) fit(ctx context.Context, of row.Range, limit int64, age time.Duration, now time.Time) (time.Time, error) {
	stored, err := store.IfFound(s.Note(ctx, store.FitNote, of.List))
	if err != nil {
		return time.Time{}, err
	}
	var counted size
	if err := json.Unmarshal([]byte(cmp.Or(string(stored.Data), "{}")), &counted); err != nil {
		return time.Time{}, err
	}
	before := counted.UpTo
	of.Index, of.To, of.Limit = row.Aging, store.Nanos(now.Add(-lateRow)), store.MaxTrim
	if before != "" {
		of.From = next(before)
	}
	if err := s.eachPage(ctx, []row.Range{of}, func(_ int, rows []row.Row) (bool, error) {
		return true, counted.add(rows, limit)
	}); err != nil {
		return time.Time{}, err
	}
	counted.drop(limit, age, now)
	if counted.UpTo == before {
		return counted.Cut, nil
	}
	data, err := json.Marshal(counted)
	if err != nil {
		return time.Time{}, err
	}
	b := store.Batch{ID: fmt.Sprintf("fit/%s/%d", of.List, stored.Version)}
	b.SwapNote(stored, store.Note{Kind: store.FitNote, Key: of.List, Data: data})
	return counted.Cut, s.Commit(ctx, b, now)
}

// add counts rows, which follow those counted before.
func (c *size) add(rows []row.Row, limit int64) error {
	for _, r := range rows {
		c.UpTo = r.Places[row.Aging].Key
		if last := len(c.Parts) - 1; last < 0 || c.Parts[last].Bytes >= limit/parts {
			from, err := store.FromNanos(c.UpTo[:min(store.Width, len(c.UpTo))])
			if err != nil {
				return err
			}
			c.Parts = append(c.Parts, part{From: from})
		}
		c.Parts[len(c.Parts)-1].Bytes += int64(len(r.Body)) + store.RowBytes
	}
	return nil
}

// drop removes the parts that are older than age, if that is not 0, and the oldest that do not fit.
func (c *size) drop(limit int64, age time.Duration, now time.Time) {
	for age > 0 && len(c.Parts) > 1 && c.Parts[1].From.Before(now.Add(-age)) {
		c.Parts = c.Parts[1:]
	}
	var all int64
	for _, p := range c.Parts {
		all += p.Bytes
	}
	for len(c.Parts) > 1 && all > limit {
		all -= c.Parts[0].Bytes
		c.Parts = c.Parts[1:]
		c.Cut = c.Parts[0].From
	}
}
