package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	trimStep = 100  // how many rows one script forgets, so that others do not wait long
	looks    = 1000 // how many rows one script looks at, where many may stay
	aside    = 500  // how many younger events Trim looks at for those that were told while a clock was behind
)

// trim is one call of Trim.
type trim struct {
	*Store
	keep   store.Retention
	now    time.Time
	forgot int
}

// Trim takes one kind after the other until the call's share is used up. Batches that were taken leave by themselves.
func (s *Store) Trim(ctx context.Context, keep store.Retention, now time.Time) (int, error) {
	t := &trim{Store: s, keep: keep, now: now}
	for _, how := range []func(context.Context) error{t.changes, t.events, t.told, t.ended, t.writes} {
		if err := how(ctx); err != nil {
			return t.forgot, fmt.Errorf("forget what is old: %w", err)
		}
	}
	return t.forgot, nil
}

// before is the instant before which something is old; false if it is kept for ever.
func (t *trim) before(keep time.Duration) (string, bool) {
	return store.Nanos(t.now.Add(-keep)), keep > 0
}

// step is how many rows the next script may forget.
func (t *trim) step() int { return min(trimStep, store.MaxTrim-t.forgot) }

// repeat runs a script, whose last argument but those in more is how many rows it may forget, until it finds no more.
func (t *trim) repeat(ctx context.Context, script *redis.Script, a []string, more ...string) error {
	for t.step() > 0 {
		step := t.step()
		var all arguments
		all.add(a...)
		all.number(step)
		all.add(more...)
		n, err := t.amount(ctx, script, all)
		if err != nil {
			return err
		}
		if t.forgot += n; n < step {
			return nil
		}
	}
	return nil
}

func (t *trim) changes(ctx context.Context) error { return t.repeat(ctx, trimChangesScript, nil) }

func (t *trim) events(ctx context.Context) error {
	cutoff, any := t.before(t.keep.Events)
	if !any {
		return nil
	}
	var after string
	for young := 0; t.step() > 0; {
		var a arguments
		a.add(cutoff, store.Nanos(t.now))
		a.number(t.step())
		a.number(aside)
		a.number(looks)
		a.add(after)
		a.number(young)
		parts, err := t.stopped(ctx, trimEventsScript, a)
		if err != nil {
			return err
		}
		seen, _ := parts[2].(int64)
		young = int(seen)
		if after, _ = parts[1].(string); after == "" {
			return nil
		}
	}
	return nil
}

// stopped runs a script that answers with how many rows it forgot, and then with where it stopped.
func (t *trim) stopped(ctx context.Context, script *redis.Script, a arguments) ([]any, error) {
	answer, err := t.run(ctx, script, a)
	if err != nil {
		return nil, err
	}
	parts, err := asList(answer)
	if err != nil {
		return nil, err
	}
	n, _ := parts[0].(int64)
	t.forgot += int(n)
	return parts, nil
}

// told forgets what is told of attempts: job log, rerun requests, snapshots.
func (t *trim) told(ctx context.Context) error {
	cutoff, any := t.before(t.keep.JobLog)
	if !any {
		return nil
	}
	for pipeline, after := "", ""; t.step() > 0; {
		var a arguments
		a.add(cutoff)
		a.number(t.step())
		a.number(looks)
		a.add(pipeline, after)
		parts, err := t.stopped(ctx, trimToldScript, a)
		if err != nil {
			return err
		}
		after, _ = parts[2].(string)
		if pipeline, _ = parts[1].(string); pipeline == "" {
			return nil
		}
	}
	return nil
}

// ended forgets dry runs, marks and notes.
func (t *trim) ended(ctx context.Context) error {
	cutoff, _ := t.before(store.DryRunLife)
	return t.repeat(ctx, trimEndedScript, []string{cutoff, store.Nanos(t.now)})
}

// writes goes through the keys that have old writes which are no longer needed as the last or the standing one.
func (t *trim) writes(ctx context.Context) error {
	cutoff, any := t.before(t.keep.History)
	if !any {
		return nil
	}
	w := &oldWrites{trim: t, cutoff: cutoff}
	for after := "-"; t.step() > 0; {
		keys, err := t.client.ZRangeArgs(ctx, redis.ZRangeArgs{Key: t.key("aging"), Start: after, Stop: "(" + cutoff, ByLex: true, Count: trimStep}).Result()
		if err != nil {
			return t.fault(err)
		}
		if len(keys) == 0 {
			return nil
		}
		after = "(" + keys[len(keys)-1]
		for i := range keys {
			keys[i] = keys[i][store.Width:]
		}
		if err := w.ofKeys(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// oldWrites forgets writes. Which periods are open is only known here, and asked for if that matters. If a run was opened
// since then, it is asked again.
type oldWrites struct {
	*trim
	cutoff string
	open   *openPeriods
}

// oldWrite is a write that is old enough to be forgotten.
type oldWrite struct {
	name, id string
	period   period.Period
	current  bool
}

func (w *oldWrites) ofKeys(ctx context.Context, keys []string) error {
	for after := ""; len(keys) > 0 && w.step() > 0; {
		found, through, last, err := w.find(ctx, keys, after)
		if err != nil {
			return err
		}
		looked := keys[:min(through+1, len(keys))]
		n, err := w.forget(ctx, found, looked)
		if err != nil {
			return err
		}
		if n < 0 {
			w.open = nil
			continue
		}
		w.forgot += n
		keys, after = keys[through:], last
	}
	return nil
}

// find returns some old writes of keys, how many keys it has looked through, and the write of the next where it stopped.
func (w *oldWrites) find(ctx context.Context, keys []string, after string) (found []oldWrite, through int, last string, err error) {
	var a arguments
	a.add(w.cutoff, store.Nanos(w.now))
	a.number(w.step())
	a.number(looks)
	a.add(after)
	a.number(len(keys))
	a.add(keys...)
	answer, err := w.run(ctx, trimFindScript, a)
	if err != nil {
		return nil, 0, "", err
	}
	parts, err := asList(answer)
	if err != nil {
		return nil, 0, "", err
	}
	n, _ := parts[0].(int64)
	last, _ = parts[1].(string)
	writes, err := asList(parts[2])
	if err != nil {
		return nil, 0, "", err
	}
	for _, item := range writes {
		said, err := asTexts(item)
		if err != nil {
			return nil, 0, "", err
		}
		old := oldWrite{name: said[0], id: said[1], current: said[3] == "1"}
		if err := old.period.UnmarshalText([]byte(said[2])); err != nil {
			return nil, 0, "", err
		}
		found = append(found, old)
	}
	return found, int(n), last, nil
}

// forget takes out what no open period needs, lists the keys by what is left, and returns how many writes are gone; -1 if what
// is open has changed.
func (w *oldWrites) forget(ctx context.Context, found []oldWrite, keys []string) (int, error) {
	if w.open == nil && slices.ContainsFunc(found, func(old oldWrite) bool { return old.current }) {
		open, err := w.openPeriods(ctx)
		if err != nil {
			return 0, err
		}
		w.open = &open
	}
	var list arguments
	n := 0
	for _, old := range found {
		if !old.current || !w.open.Touch(old.period) {
			list.add(old.name, old.id, old.period.String(), store.Place(old.period))
			n++
		}
	}
	var a arguments
	if w.open != nil {
		a.add(w.open.counted)
	} else {
		a.add("")
	}
	a.add(store.Nanos(w.now))
	a.number(n)
	a = append(a, list...)
	a.number(len(keys))
	a.add(keys...)
	return w.amount(ctx, trimWritesScript, a)
}

// openPeriods are the periods of all open runs, of whatever pipeline: a gate may read another pipeline's sensors.
type openPeriods struct {
	store.Periods
	counted string // how many runs were ever opened
}

// openPeriods counts before it looks: what is opened meanwhile makes the count wrong, and is looked for again. No transaction, which
// Redis refuses when its memory is full: just then must something be forgotten.
func (t *trim) openPeriods(ctx context.Context) (open openPeriods, err error) {
	var opened *redis.StringCmd
	var runs, dry *redis.StringSliceCmd
	_, err = t.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		opened = p.Get(ctx, t.key("counter", "opened"))
		runs = p.ZRange(ctx, t.key("open"), 0, -1)
		dry = p.SMembers(ctx, t.key("dryruns:open"))
		return nil
	})
	if err != nil && !isNothing(err) {
		return open, t.fault(err)
	}
	open.counted = cmp.Or(opened.Val(), "0")
	var names []string
	for _, member := range runs.Val() {
		names = append(names, periodOf(member, "\x00"))
	}
	for _, key := range dry.Val() {
		names = append(names, periodOf(key, "/"))
	}
	for _, name := range names {
		p, err := period.Parse(name)
		if err != nil {
			return open, fmt.Errorf("read the period of an open run: %w", err)
		}
		open.Add(p)
	}
	return open, nil
}

// periodOf is the last part of a run's name.
func periodOf(name, separator string) string { return name[strings.LastIndex(name, separator)+1:] }
