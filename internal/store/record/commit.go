package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Commit applies b as one transaction. If a task that b stores has changed concurrently, it
// rebuilds the transaction and retries: that is not a conflict.
func (s *Store) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	ticket := s.tickets.next(now)
	repeat := func(err error) bool { return errors.Is(err, errRepeat) }
	err := retry(ctx, repeat, func() error { return s.commit(ctx, b, ticket, now) })
	return wrap(err, "commit %s", b.ID)
}

// commit tries once. It returns errRepeat if a task has changed since it was read.
func (s *Store) commit(ctx context.Context, b store.Batch, ticket int64, now time.Time) error {
	p := &plan{Batch: b, now: now.Round(0).UTC(), ticket: ticket, lease: s.leaseClock(now), trace: store.TraceOf(ctx)}
	if err := p.read(ctx, s.engine); err != nil {
		return err
	}
	if s.o.Readiness > 0 {
		p.readiness(s.o.Readiness)
	}
	for _, build := range []func(){p.swaps, p.records, p.letters, p.tasks, p.events} {
		build()
	}
	if p.err != nil {
		return p.err
	}
	err := s.engine.Apply(ctx, row.Tx{ID: b.Identity(), Ops: p.ops, Events: p.appended}, now)
	if conflict, is := errors.AsType[*row.Conflict](err); is {
		op := p.ops[conflict.Op]
		switch {
		case op.If == row.Never:
			return fmt.Errorf("the lease on task %s is lost: %w", op.Row.Key, err)
		case op.Row.Kind == row.Tasks:
			return errRepeat
		}
		return fmt.Errorf("%s was read at version %d: %w", op.Row.Ref, op.If, err)
	}
	return err
}

// plan builds the transaction of a Batch.
type plan struct {
	store.Batch
	now    time.Time
	ticket int64
	lease  leaseClock
	trace  string // trace of the changes and tasks

	found    map[row.Ref]row.Row // current runs and tasks
	ops      []row.Op
	appended []row.Event
	err      error // the first error: nothing is applied then
}

func (p *plan) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// read reads the runs and tasks that the transaction changes, and the leased task.
func (p *plan) read(ctx context.Context, e row.Engine) error {
	var refs []row.Ref
	for _, w := range p.Runs {
		refs = append(refs, refOf(Runs, w.Next.Key))
	}
	for _, t := range p.Tasks {
		refs = append(refs, refTask(t.ID))
	}
	if p.Lease != nil {
		if of := refTask(p.Lease.Task); !slices.Contains(refs, of) {
			refs = append(refs, of)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	rows, err := e.Get(ctx, refs)
	if err != nil {
		return err
	}
	p.found = map[row.Ref]row.Row{}
	for _, r := range rows {
		if r.Version > 0 {
			p.found[r.Ref] = r
		}
	}
	return nil
}

// encode is encode that records an error in the plan.
func (p *plan) encode(v any) []byte {
	body, err := encode(v)
	p.fail(err)
	return body
}

// put adds a row; read is the version that it replaces, or another condition.
func (p *plan) put(read int64, r row.Row, record any) *row.Op {
	r.Body, r.Version = p.encode(record), max(r.Version, 1)
	p.ops = append(p.ops, row.Op{If: read, Row: r})
	return &p.ops[len(p.ops)-1]
}

// swaps adds the records that have a version.
func (p *plan) swaps() {
	for _, w := range p.Runs {
		p.run(w)
	}
	for _, w := range p.Pipelines {
		r := row.Row{Ref: refPipeline(w.Next.ID), Version: w.Next.Version}
		r.Places[row.Ordered] = row.Place{List: listPipelines, Key: string(w.Next.ID)}
		p.put(w.Read, r, w.Next).Change = p.encode(store.Change{
			Kind: store.PipelineMoved, At: p.now, Pipeline: w.Next.ID, Version: w.Next.Version, Trace: p.trace,
		})
	}
	for _, e := range p.Expected {
		p.ops = append(p.ops, row.Op{Do: row.Check, If: e.Version, Row: row.Row{Ref: refPipeline(e.ID)}})
	}
	for _, w := range p.DryRuns {
		r := row.Row{Ref: refOf(DryRuns, w.Next.Key), Version: w.Next.Version}
		if w.Next.Status.Open() {
			r.Places[row.Pending] = row.Place{List: listDry, Key: oldestPlace(w.Next.Key)}
		} else {
			expiring(&r, w.Next.UpdatedAt.Add(store.DryRunLife))
		}
		p.put(w.Read, r, w.Next)
	}
	for _, w := range p.Deadlines {
		r := row.Row{Ref: refOf(Deadlines, w.Next.Key, string(w.Next.Kind)), Version: w.Next.Version}
		r.Places[row.Ordered] = row.Place{List: listDeadlines, Key: deadlinePlace(w.Next)}
		if w.Next.State == sla.Armed {
			r.Places[row.Pending] = row.Place{List: listArmed, Key: deadlinePlace(w.Next)}
		}
		p.put(w.Read, r, w.Next)
	}
	for _, w := range p.PostRuns {
		r := row.Row{Ref: refOf(Baselines, w.Next.Key), Version: w.Next.Version}
		p.put(w.Read, r, w.Next)
	}
	for _, w := range p.Notes {
		r := row.Row{Ref: refNote(w.Next.Kind, w.Next.Key), Version: w.Next.Version}
		expiring(&r, w.Next.Until)
		p.put(w.Read, r, w.Next)
	}
}

// run adds a run. It appends a change if the status or attempt differs.
func (p *plan) run(w store.Swap[run.Run]) {
	next := w.Next
	r := row.Row{Ref: refOf(Runs, next.Key), Version: next.Version}
	r.Places[row.Ordered] = row.Place{List: listRuns, Key: latestPlace(next.Key)}
	switch {
	case next.Status.Open():
		r.Places[row.Pending] = row.Place{List: listOpen, Key: oldestPlace(next.Key)}
	case store.Apart(next.Status):
		r.Places[row.Pending] = row.Place{List: listEnded + string(next.Status), Key: latestPlace(next.Key)}
	}
	op := p.put(w.Read, r, next)
	if old, is := p.found[r.Ref]; is {
		before, err := decode[run.Run](old)
		p.fail(err)
		if before.Status == next.Status && before.Attempt == next.Attempt {
			return
		}
	}
	op.Change = p.encode(store.Change{
		Kind: store.RunMoved, At: p.now, Pipeline: next.Pipeline, Version: next.Version,
		Run: next.Key, Status: next.Status, Attempt: next.Attempt, Trace: p.trace,
	})
}

// records adds the write-once records, and the marks, which must not be set yet.
func (p *plan) records() {
	for _, c := range p.Configs {
		p.put(row.First, row.Row{Ref: refConfig(c.Pipeline, c.Version)}, c)
	}
	for i, e := range p.Log {
		r := row.Row{Ref: refLog(e)}
		aging(&r, listRunLogs, e.At)
		p.put(row.First, r, entry[store.JobEntry]{p.ticket + int64(i), e})
	}
	for _, v := range p.Snapshots {
		r := row.Row{Ref: refSnapshot(v.ID)}
		aging(&r, listSnapshots, v.At)
		p.put(row.First, r, v)
	}
	for i, v := range p.Reruns {
		r := row.Row{Ref: refOf(Reruns, v.Key, v.ID)}
		aging(&r, listReruns, v.At)
		p.put(row.First, r, entry[store.Rerun]{p.ticket + int64(i), v})
	}
	for _, m := range p.Marks {
		r := row.Row{Ref: refMark(m.ID)}
		expiring(&r, m.Until)
		p.put(0, r, m)
	}
}

// letters stores and deletes dead letters.
func (p *plan) letters() {
	for _, d := range p.Dead {
		r := row.Row{Ref: refDead(d.Sink, d.Event.ID)}
		r.Places[row.Ordered] = row.Place{List: listDead, Key: join(store.Nanos(d.At), d.Sink, d.Event.ID)}
		p.put(row.Any, r, d)
	}
	for _, d := range p.Buried {
		p.ops = append(p.ops, row.Op{Do: row.Delete, If: row.Any, Row: row.Row{Ref: refDead(d.Sink, d.Event.ID)}})
	}
}

func (p *plan) events() {
	for _, e := range p.Events {
		stored, err := StoredEvent(e)
		p.fail(err)
		p.appended = append(p.appended, stored)
	}
}

// readiness stores the last gate verdict of each pipeline whose run was evaluated.
func (p *plan) readiness(life time.Duration) {
	for _, w := range p.Runs {
		open, evaluated := w.Next.Verdict()
		if !evaluated {
			continue
		}
		gate := "closed"
		if open {
			gate = "open"
		}
		shown := row.Row{Ref: row.Ref{Kind: Readiness, Part: string(w.Next.Pipeline), Key: "gate"}, Expires: p.now.Add(life)}
		p.put(row.Any, shown, map[string]string{
			"run": w.Next.Key.String(), "attempt": strconv.Itoa(w.Next.Attempt), "gate": gate,
			"at": w.Next.UpdatedAt.Format(time.RFC3339Nano),
		})
	}
}

// DecodeChange decodes the body of a change.
func DecodeChange(body []byte) (c store.Change, err error) {
	if err := json.Unmarshal(body, &c); err != nil {
		return c, fmt.Errorf("read stored change: %w", err)
	}
	return c, nil
}
