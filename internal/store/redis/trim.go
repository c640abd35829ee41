package redis

import (
	"cmp"
	"context"
	"fmt"
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
	return t.repeat(ctx, trimEventsScript, []string{cutoff}, fmt.Sprint(aside))
}

// told forgets what is told of attempts: job log, rerun requests, snapshots.
func (t *trim) told(ctx context.Context) error {
	cutoff, any := t.before(t.keep.JobLog)
	if !any {
		return nil
	}
	pipelines, err := t.client.SMembers(ctx, t.key("logged")).Result()
	if err != nil {
		return t.fault(err)
	}
	for _, id := range pipelines {
		if err := t.toldOf(ctx, id, cutoff); err != nil {
			return err
		}
	}
	return nil
}

// toldOf goes through what is told of a pipeline's runs. Snapshots that runs refer to stay, so it may be far.
func (t *trim) toldOf(ctx context.Context, pipeline, cutoff string) error {
	for after := ""; t.step() > 0; {
		var a arguments
		a.add(pipeline, cutoff)
		a.number(t.step())
		a.number(looks)
		a.add(after)
		answer, err := t.run(ctx, trimToldScript, a)
		if err != nil {
			return err
		}
		parts, err := asList(answer)
		if err != nil {
			return err
		}
		n, _ := parts[0].(int64)
		t.forgot += int(n)
		if after, _ = parts[1].(string); after == "" {
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

// writes finds old writes and forgets those that no open period needs. Which periods are open is only known here: if a run was
// opened since it was looked, it is looked again.
func (t *trim) writes(ctx context.Context) error {
	cutoff, any := t.before(t.keep.History)
	if !any {
		return nil
	}
	open, err := t.openPeriods(ctx)
	if err != nil {
		return err
	}
	for from, after := "", ""; t.step() > 0; {
		found, next, last, err := t.find(ctx, cutoff, from, after)
		if err != nil {
			return err
		}
		n, err := t.forget(ctx, found, open)
		if err != nil {
			return err
		}
		if n < 0 {
			if open, err = t.openPeriods(ctx); err != nil {
				return err
			}
			continue
		}
		t.forgot += n
		if next == "" {
			return nil
		}
		from, after = next, last
	}
	return nil
}

// oldWrite is a write that is old enough to be forgotten.
type oldWrite struct {
	name, id string
	period   period.Period
	current  bool
}

// find gives some old writes, and where it stopped.
func (t *trim) find(ctx context.Context, cutoff, from, after string) (found []oldWrite, next, last string, err error) {
	var a arguments
	a.add(cutoff)
	a.number(t.step())
	a.number(looks)
	a.add(from, after)
	answer, err := t.run(ctx, trimFindScript, a)
	if err != nil {
		return nil, "", "", err
	}
	parts, err := asList(answer)
	if err != nil {
		return nil, "", "", err
	}
	next, _ = parts[0].(string)
	last, _ = parts[1].(string)
	writes, err := asList(parts[2])
	if err != nil {
		return nil, "", "", err
	}
	for _, item := range writes {
		said, err := asTexts(item)
		if err != nil {
			return nil, "", "", err
		}
		w := oldWrite{name: said[0], id: said[1], current: said[3] == "1"}
		if err := w.period.UnmarshalText([]byte(said[2])); err != nil {
			return nil, "", "", err
		}
		found = append(found, w)
	}
	return found, next, last, nil
}

// forget takes out what no open period needs, and says how many that were; -1 if what is open has changed.
func (t *trim) forget(ctx context.Context, found []oldWrite, open openPeriods) (int, error) {
	var list arguments
	n := 0
	for _, w := range found {
		if w.current && open.Touch(w.period) {
			continue
		}
		list.add(w.name, w.id, w.period.String(), store.Place(w.period))
		n++
	}
	if n == 0 {
		return 0, nil
	}
	var a arguments
	a.add(open.counted)
	a.number(n)
	return t.amount(ctx, trimWritesScript, append(a, list...))
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
