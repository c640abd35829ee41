package archive

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// maxRuns is how many runs are read at once. It is low because their job logs, which may be long,
// are read too.
const maxRuns = 100

// maxLately is how many recently copied runs a pass remembers.
const maxLately = 10_000

// runs copies the current state of runs, with their job logs. Keys must be distinct; runs that no
// longer exist are skipped.
func (p *pass) runs(ctx context.Context, keys []run.Key) error {
	for some := range slices.Chunk(keys, maxRuns) {
		found, err := p.archiver.store.RunsAt(ctx, some)
		if err = cmp.Or(err, p.ledger.err()); err != nil {
			return err
		}
		there := make([]run.Run, 0, len(some))
		for _, key := range some {
			if r, ok := found[key]; ok {
				there = append(there, r)
			}
		}
		if err := p.copyRuns(ctx, there); err != nil {
			return err
		}
	}
	return nil
}

// distinct removes duplicate keys and sorts the rest. With the same order everywhere, two replicas
// that write the same rows wait for each other instead of deadlocking.
func distinct(keys []run.Key) []run.Key {
	out := slices.SortedFunc(slices.Values(keys), func(a, b run.Key) int {
		return cmp.Or(cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Schedule, b.Schedule), a.Period.Compare(b.Period))
	})
	return slices.Compact(out)
}

func keysOf(all []run.Run) []run.Key {
	keys := make([]run.Key, len(all))
	for i, r := range all {
		keys[i] = r.Key
	}
	return keys
}

// copyRuns copies runs and their job logs, except those that have not changed since this pass
// copied them.
func (p *pass) copyRuns(ctx context.Context, all []run.Run) error {
	if len(all) == 0 {
		return nil
	}
	logs, err := p.archiver.store.JobLogs(ctx, keysOf(all))
	if err != nil {
		return err
	}
	for _, r := range all {
		if !p.isNew(r, logs[r.Key]) {
			continue
		}
		made, err := runRow(r)
		if err != nil {
			return err
		}
		p.ledger.add(runs, made)
		for _, e := range logs[r.Key] {
			p.ledger.add(runLogs, logRow(e))
		}
	}
	return nil
}

// state identifies the version of a run that was copied. A job log only grows at its end.
type state struct {
	version int64
	updated time.Time
	lines   int
	last    time.Time // time of the last line
}

// isNew reports whether r has changed since this pass last copied it: an event and the change that
// came with it may name the same run in different pages.
func (p *pass) isNew(r run.Run, log []store.JobEntry) bool {
	now := state{version: r.Version, updated: r.UpdatedAt, lines: len(log)}
	if len(log) > 0 {
		now.last = log[len(log)-1].At
	}
	before, there := p.lately[r.Key]
	if there && before == now {
		return false
	}
	if len(p.lately) >= maxLately {
		clear(p.lately)
	}
	p.lately[r.Key] = now
	return true
}

// requests copies the rerun requests of runs.
func (p *pass) requests(ctx context.Context, keys []run.Key) error {
	if len(keys) == 0 {
		return nil
	}
	all, err := p.archiver.store.Reruns(ctx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		for _, r := range all[key] {
			p.ledger.add(reruns, rerunRow(r))
		}
	}
	return nil
}

// sweep copies all runs, with their job logs and rerun requests.
func (p *pass) sweep(ctx context.Context) error {
	for q := (store.RunQuery{Limit: maxRuns}); ; {
		page, err := p.archiver.store.Runs(ctx, q)
		if err = cmp.Or(err, p.ledger.err()); err != nil {
			return err
		}
		if err := p.copyRuns(ctx, page.Items); err != nil {
			return err
		}
		if err := p.requests(ctx, keysOf(page.Items)); err != nil {
			return err
		}
		if page.Next == "" {
			return p.ledger.write(done(sweptCursor, p.now))
		}
		q.Cursor = page.Next
	}
}

// fill copies everything in the store except events, which have their own cursor.
func (p *pass) fill(ctx context.Context) error {
	if err := p.sweep(ctx); err != nil {
		return err
	}
	if err := p.allReadings(ctx); err != nil {
		return err
	}
	if err := p.ledger.write(done(filledCursor, p.now)); err != nil {
		return err
	}
	p.archiver.cover(covered{filled: true, swept: p.now})
	return nil
}

// sweepIfDue sweeps all runs if the last sweep is too long ago.
func (p *pass) sweepIfDue(ctx context.Context, justDone bool, last time.Time) error {
	if justDone || p.now.Sub(last) < sweepEvery && !last.After(p.now) {
		return nil
	}
	if err := p.sweep(ctx); err != nil {
		return err
	}
	p.archiver.cover(covered{filled: true, swept: p.now})
	return nil
}
