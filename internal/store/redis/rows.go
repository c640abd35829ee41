package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// commitLife is how long Redis remembers the id of a transaction: slightly longer than promised,
// because clocks differ.
const commitLife = store.CommitLife + 5*time.Minute

// actions are the names of ops in scripts.
var actions = map[row.Do]string{row.Put: "put", row.Delete: "delete", row.Check: "check"}

// Apply is one script. Durability depends on the server: see docs/REDIS.md.
func (e *Engine) Apply(ctx context.Context, tx row.Tx, now time.Time) error {
	args := []any{e.instance, tx.ID, commitLife.Milliseconds(), store.Nanos(now), len(tx.Ops)}
	for _, op := range tx.Ops { // in the order of OP in lua/apply.lua
		r, wakes := op.Row, ""
		if r.Kind == row.Tasks && op.Do != row.Check && !op.Quiet {
			wakes = string(taskTopic)
		}
		args = append(args, actions[op.Do], op.If, string(r.Kind), r.Part, r.Key)
		args = append(args, r.Version, r.Body, packPlaces(r), op.Change, wakes)
	}
	args = append(args, len(tx.Events))
	for _, ev := range tx.Events { // in the order of EVENT
		args = append(args, ev.ID, ev.Part, ev.Type, store.Nanos(ev.At), ev.Body)
	}
	answer, err := e.run(ctx, applyScript, args...).StringSlice()
	if err != nil {
		e.raise(allTopics) // Redis may have applied it
		return fmt.Errorf("apply %s: %w", tx.ID, err)
	}
	if answer[0] != "" {
		n, err := strconv.Atoi(answer[0])
		if err != nil {
			return err
		}
		return &row.Conflict{Op: n, Ref: tx.Ops[n].Row.Ref}
	}
	e.raise(answer[1])
	return nil
}

// packPlaces encodes the fields of a row other than its name, version and body, in the order of
// PLACES in lua/row.lua: {length}:{text} of each, up to the last non-empty one.
func packPlaces(r row.Row) string {
	var fields []string
	for _, p := range r.Places {
		fields = append(fields, p.List, p.Key)
	}
	expires := ""
	if !r.Expires.IsZero() {
		expires = store.Nanos(r.Expires)
	}
	text, length := []byte(nil), 0
	for _, field := range append(fields, r.Tag, expires, r.Lock.Name, r.Lock.Holder) {
		text = append(fmt.Appendf(text, "%d:", len(field)), field...)
		if field != "" {
			length = len(text)
		}
	}
	return string(text[:length])
}

// Get is one script.
func (e *Engine) Get(ctx context.Context, refs []row.Ref) ([]row.Row, error) {
	args := []any{len(refs)}
	for _, ref := range refs {
		args = append(args, string(ref.Kind), ref.Part, ref.Key)
	}
	texts, err := e.run(ctx, getScript, args...).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	rows := make([]row.Row, len(refs))
	for i, ref := range refs {
		if rows[i], err = asRow(ref, texts[2*i], texts[2*i+1]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func asRow(ref row.Ref, version, body string) (row.Row, error) {
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return row.Row{}, fmt.Errorf("read the version of %s: %w", ref, err)
	}
	return row.Row{Ref: ref, Version: n, Body: []byte(body)}, nil
}

// Scan is one script for all ranges.
func (e *Engine) Scan(ctx context.Context, ranges []row.Range) ([]row.Page, error) {
	args := []any{len(ranges)}
	for _, r := range ranges {
		index := 0
		if r.List != "" {
			index = int(r.Index) + 1
		}
		args = append(args, string(r.Kind), r.Part, index, r.List, r.From, r.To, r.Backwards, r.Limit, len(r.Except))
		for _, tag := range r.Except {
			args = append(args, tag)
		}
	}
	texts, err := e.run(ctx, scanScript, args...).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("scan rows: %w", err)
	}
	pages := make([]row.Page, len(ranges))
	for i, r := range ranges {
		if texts, err = readPage(r, texts, &pages[i]); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// readPage parses the number of rows, whether there are more, and the part, key, version, body and
// place of each. It returns the remaining texts.
func readPage(of row.Range, texts []string, page *row.Page) ([]string, error) {
	n, err := strconv.Atoi(texts[0])
	page.More = texts[1] == "1"
	for texts = texts[2:]; err == nil && len(page.Rows) < n; texts = texts[5:] {
		var r row.Row
		r, err = asRow(row.Ref{Kind: of.Kind, Part: texts[0], Key: texts[1]}, texts[2], texts[3])
		if of.List != "" {
			r.Places[of.Index] = row.Place{List: of.List, Key: texts[4]}
		}
		page.Rows = append(page.Rows, r)
	}
	return texts, err
}

// Next is one script.
func (e *Engine) Next(ctx context.Context, n int) (int64, error) {
	first, err := e.run(ctx, nextScript, n).Int64()
	if err != nil {
		return 0, fmt.Errorf("draw numbers: %w", err)
	}
	return first, nil
}

// dropStep is how many rows one script deletes, so that Redis is not blocked for long.
const dropStep = 200

// Drop is one script for each dropStep rows.
func (e *Engine) Drop(ctx context.Context, rows []row.Row) (dropped int, err error) {
	for some := range slices.Chunk(rows, dropStep) {
		args := []any{len(some)}
		for _, r := range some {
			args = append(args, string(r.Kind), r.Part, r.Key, r.Version)
		}
		n, err := e.run(ctx, dropScript, args...).Int()
		if err != nil {
			return dropped, fmt.Errorf("drop rows: %w", err)
		}
		dropped += n
	}
	return dropped, nil
}

// Trim deletes changes. The ids of transactions expire by themselves.
func (e *Engine) Trim(ctx context.Context, _ time.Time, limit int) (int, error) {
	n, err := e.run(ctx, trimScript, limit).Int()
	if err != nil {
		return 0, fmt.Errorf("trim changes: %w", err)
	}
	return n, nil
}
