package record

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// purge is the state of one Purge call.
type purge struct {
	*Store
	id    pipeline.ID
	now   time.Time
	dry   bool
	guard row.Op // holds while the pipeline's row is as it was read: removed
	done  store.Purged
}

// Purge deletes the pipeline's row last, so that an interrupted call can be repeated. Each commit
// depends on that row: it fails once the pipeline has a file again.
func (s *Store) Purge(ctx context.Context, id pipeline.ID, dry bool, now time.Time) (store.Purged, error) {
	p := &purge{Store: s, id: id, now: now, dry: dry, done: store.Purged{Rows: map[string]int{}}}
	err := p.run(ctx)
	return p.done, wrap(err, "purge pipeline %s", id)
}

func (p *purge) run(ctx context.Context) error {
	found, err := p.get(ctx, refPipeline(p.id))
	if err != nil {
		return err
	}
	if found.Version == 0 {
		return store.ErrNotFound
	}
	state, err := decode[store.Pipeline](found)
	if err != nil {
		return err
	}
	if !state.Removed() || state.RemovedAt.IsZero() {
		p.done.Active = true
		return nil
	}
	p.guard = row.Op{Do: row.Check, If: found.Version, Row: row.Row{Ref: found.Ref}}
	tasks, err := p.open(ctx)
	if err != nil || len(p.done.Open) > 0 {
		return err
	}
	last, err := p.lastChange(ctx, state.RemovedAt)
	if rested := last.Add(store.PurgeAfter); err != nil || p.now.Before(rested) {
		p.done.NotBefore = rested
		return err
	}
	if err := p.delete(ctx, "tasks", tasks); err != nil {
		return err
	}
	if err := p.records(ctx); err != nil {
		return err
	}
	if err := p.events(ctx); err != nil || p.dry {
		return err
	}
	return p.engine.Apply(ctx, row.Tx{Ops: []row.Op{{Do: row.Delete, If: found.Version, Row: row.Row{Ref: found.Ref}}}}, p.now)
}

// lastChange returns when the pipeline or one of its runs last changed: a run that was open when the
// pipeline was removed may end much later.
func (p *purge) lastChange(ctx context.Context, removed time.Time) (time.Time, error) {
	last := removed
	all := row.Range{Kind: Runs, Part: string(p.id), Limit: store.MaxPage}
	err := p.eachPage(ctx, []row.Range{all}, func(_ int, rows []row.Row) (bool, error) {
		for _, found := range rows {
			r, err := decode[run.Run](found)
			if err != nil {
				return false, err
			}
			last = period.Later(last, r.UpdatedAt)
		}
		return true, nil
	})
	return last, err
}

// maxNamed is how many open things Purge names.
const maxNamed = 10

// open finds what is still open, and returns the tasks that may go.
func (p *purge) open(ctx context.Context) ([]row.Ref, error) {
	part := string(p.id)
	ranges := []row.Range{
		{Kind: Runs, Part: part, Index: row.Pending, List: listOpen},
		{Kind: DryRuns, Part: part, Index: row.Pending, List: listDry},
		{Kind: Deadlines, Part: part, Index: row.Pending, List: listArmed},
	}
	for _, list := range taskLists {
		ranges = append(ranges, row.Range{Kind: row.Tasks, Index: row.Pending, List: listDue + list})
	}
	rows, err := p.scanAll(ctx, ranges)
	if err != nil {
		return nil, err
	}
	for i, what := range []string{"run ", "dry run ", "deadline "} {
		for _, r := range rows[i] {
			p.done.Open = append(p.done.Open, what+string(p.id)+"/"+r.Key)
		}
	}
	var tasks []row.Ref
	for _, r := range slices.Concat(rows[3:]...) {
		t, err := decode[task](r)
		if err != nil {
			return nil, err
		}
		switch {
		case t.Pipeline != p.id:
		case slices.Contains([]store.TaskKind{store.Advance, store.AdvanceDry, store.FireDeadline, store.CheckLeft, store.HandleChange}, t.Kind):
			p.done.Open = append(p.done.Open, "task "+t.ID)
		default:
			tasks = append(tasks, r.Ref)
		}
	}
	p.done.Open = p.done.Open[:min(len(p.done.Open), maxNamed)]
	return tasks, nil
}

// purged are the records of a pipeline's partition, in the order in which they go: what belongs to
// runs before the runs.
var purged = []struct {
	kind row.Kind
	name string
}{
	{RunLog, "job log entries"},
	{Reruns, "rerun requests"},
	{Deadlines, "deadlines"},
	{Baselines, "post-run states"},
	{DryRuns, "dry runs"},
	{Runs, "runs"},
	{History, "writes"},
	{Readings, "readings"},
	{Sensors, "sensors"},
	{Readiness, "verdicts"},
	{Configs, "versions of the file"},
}

// records deletes everything but the pipeline's row.
func (p *purge) records(ctx context.Context) error {
	in := string(p.id) + "/" // begins the names of runs, attempts and snapshots
	expiring := func(k row.Kind) row.Range {
		return row.Range{Kind: k, Index: row.Aging, List: listExpiring + string(k)}
	}
	err := errors.Join(
		p.each(ctx, "snapshots", row.Range{Kind: Snapshots, Index: row.Aging, List: listSnapshots}, func(r row.Ref) bool {
			return strings.HasPrefix(r.Key, in)
		}),
		p.each(ctx, "marks", expiring(Marks), func(r row.Ref) bool {
			_, of, _ := strings.Cut(r.Key, "/") // excluded/orders/cron/2026-03-03
			return strings.HasPrefix(of, in)
		}),
		p.each(ctx, "notes", expiring(Notes), func(r row.Ref) bool {
			return (r.Part == string(store.OutputNote) || r.Part == string(store.ProbeNote)) && strings.HasPrefix(r.Key, in)
		}),
	)
	for _, of := range purged {
		if err == nil {
			err = p.each(ctx, of.name, row.Range{Kind: of.kind, Part: string(p.id)}, func(row.Ref) bool { return true })
		}
	}
	return err
}

// events deletes the events that every cursor has passed: a new pipeline of this name may emit the
// same ones. The record of operators' actions stays.
func (p *purge) events(ctx context.Context) error {
	passed, err := p.passed(ctx)
	if err != nil {
		return err
	}
	r := eventLog(string(p.id))
	r.Limit, r.To = store.MaxPage, passed+"\x00"
	return p.eachPage(ctx, []row.Range{r}, func(_ int, rows []row.Row) (bool, error) {
		var old []row.Row
		for _, found := range rows {
			e, err := decode[event.Event](found)
			if err != nil {
				return false, err
			}
			if e.Type != event.Audit {
				old = append(old, found)
			}
		}
		p.done.Rows["events"] += len(old)
		if p.dry || len(old) == 0 {
			return true, nil
		}
		_, err := p.engine.Drop(ctx, old)
		return true, err
	})
}

// each deletes the rows of a range that are wanted.
func (p *purge) each(ctx context.Context, name string, r row.Range, wanted func(row.Ref) bool) error {
	r.Limit, r.Names = store.MaxPage, true
	return p.eachPage(ctx, []row.Range{r}, func(_ int, rows []row.Row) (bool, error) {
		var refs []row.Ref
		for _, found := range rows {
			if wanted(found.Ref) {
				refs = append(refs, found.Ref)
			}
		}
		return true, p.delete(ctx, name, refs)
	})
}

// delete deletes rows, a few in each transaction.
func (p *purge) delete(ctx context.Context, name string, refs []row.Ref) error {
	for some := range slices.Chunk(refs, p.maxOps()-1) {
		ops := []row.Op{p.guard}
		for _, ref := range some {
			ops = append(ops, row.Op{Do: row.Delete, If: row.Any, Row: row.Row{Ref: ref}})
		}
		if !p.dry {
			if err := p.engine.Apply(ctx, row.Tx{Ops: ops}, p.now); err != nil {
				return err
			}
		}
		p.done.Rows[name] += len(some)
	}
	return nil
}
