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

// Commit applies b as one transaction. If a task that b stores has changed concurrently, it rebuilds the transaction
// and retries: that is not a conflict.
func (s *Store) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	ticket := s.tickets.next(now)
	for try := 0; try < tries; try++ {
		err := s.commit(ctx, b, ticket, now)
		if !errors.Is(err, errRepeat) {
			if err != nil {
				return fmt.Errorf("commit %s: %w", b.ID, err)
			}
			return nil
		}
		if err := backoff(ctx, try); err != nil {
			return fmt.Errorf("commit %s: %w", b.ID, err)
		}
	}
	return fmt.Errorf("commit %s: %w", b.ID, errRepeat)
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
	for _, build := range []func() error{p.swaps, p.records, p.letters, p.tasks, p.events} {
		if err := build(); err != nil {
			return err
		}
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

// put adds a row; read is the version that it replaces, or another condition.
func (p *plan) put(read int64, r row.Row, record any) (*row.Op, error) {
	var err error
	if r.Body, err = encode(record); err != nil {
		return nil, err
	}
	r.Version = max(r.Version, 1)
	p.ops = append(p.ops, row.Op{If: read, Row: r})
	return &p.ops[len(p.ops)-1], nil
}

// swaps adds the records that have a version.
func (p *plan) swaps() error {
	for _, w := range p.Runs {
		if err := p.run(w); err != nil {
			return err
		}
	}
	for _, w := range p.Pipelines {
		r := row.Row{Ref: refPipeline(w.Next.ID), Version: w.Next.Version}
		r.Places[row.Ordered] = row.Place{List: listPipelines, Key: string(w.Next.ID)}
		op, err := p.put(w.Read, r, w.Next)
		if err != nil {
			return err
		}
		c := store.Change{Kind: store.PipelineMoved, At: p.now, Pipeline: w.Next.ID, Version: w.Next.Version, Trace: p.trace}
		if op.Change, err = encodeChange(c); err != nil {
			return err
		}
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
		if _, err := p.put(w.Read, r, w.Next); err != nil {
			return err
		}
	}
	for _, w := range p.Deadlines {
		r := row.Row{Ref: refOf(Deadlines, w.Next.Key, string(w.Next.Kind)), Version: w.Next.Version}
		r.Places[row.Ordered] = row.Place{List: listDeadlines, Key: deadlinePlace(w.Next)}
		if w.Next.State == sla.Armed {
			r.Places[row.Pending] = row.Place{List: listArmed, Key: deadlinePlace(w.Next)}
		}
		if _, err := p.put(w.Read, r, w.Next); err != nil {
			return err
		}
	}
	for _, w := range p.PostRuns {
		r := row.Row{Ref: refOf(Baselines, w.Next.Key), Version: w.Next.Version}
		if _, err := p.put(w.Read, r, w.Next); err != nil {
			return err
		}
	}
	for _, w := range p.Notes {
		r := row.Row{Ref: refNote(w.Next.Kind, w.Next.Key), Version: w.Next.Version}
		expiring(&r, w.Next.Until)
		if _, err := p.put(w.Read, r, w.Next); err != nil {
			return err
		}
	}
	return nil
}

// run adds a run. It appends a change if the status or attempt differs.
func (p *plan) run(w store.Swap[run.Run]) error {
	next := w.Next
	r := row.Row{Ref: refOf(Runs, next.Key), Version: next.Version}
	r.Places[row.Ordered] = row.Place{List: listRuns, Key: latestPlace(next.Key)}
	switch {
	case next.Status.Open():
		r.Places[row.Pending] = row.Place{List: listOpen, Key: oldestPlace(next.Key)}
	case store.Apart(next.Status):
		r.Places[row.Pending] = row.Place{List: listEnded + string(next.Status), Key: latestPlace(next.Key)}
	}
	op, err := p.put(w.Read, r, next)
	if err != nil {
		return err
	}
	if old, is := p.found[r.Ref]; is {
		before, err := decode[run.Run](old)
		if err != nil {
			return err
		}
		if before.Status == next.Status && before.Attempt == next.Attempt {
			return nil
		}
	}
	op.Change, err = encodeChange(store.Change{
		Kind: store.RunMoved, At: p.now, Pipeline: next.Pipeline, Version: next.Version,
		Run: next.Key, Status: next.Status, Attempt: next.Attempt, Trace: p.trace,
	})
	return err
}

// records adds the write-once records, and the marks, which must not be set yet.
func (p *plan) records() error {
	for _, c := range p.Configs {
		if _, err := p.put(row.First, row.Row{Ref: refConfig(c.Pipeline, c.Version)}, c); err != nil {
			return err
		}
	}
	for i, e := range p.Log {
		r := row.Row{Ref: refLog(e)}
		aging(&r, listRunLogs, e.At)
		if _, err := p.put(row.First, r, entry[store.JobEntry]{p.ticket + int64(i), e}); err != nil {
			return err
		}
	}
	for _, v := range p.Snapshots {
		r := row.Row{Ref: refSnapshot(v.ID)}
		aging(&r, listSnapshots, v.At)
		if _, err := p.put(row.First, r, v); err != nil {
			return err
		}
	}
	for i, v := range p.Reruns {
		r := row.Row{Ref: refOf(Reruns, v.Key, v.ID)}
		aging(&r, listReruns, v.At)
		if _, err := p.put(row.First, r, entry[store.Rerun]{p.ticket + int64(i), v}); err != nil {
			return err
		}
	}
	for _, m := range p.Marks {
		r := row.Row{Ref: refMark(m.ID)}
		expiring(&r, m.Until)
		if _, err := p.put(0, r, struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// letters stores and deletes dead letters.
func (p *plan) letters() error {
	for _, d := range p.Dead {
		r := row.Row{Ref: refDead(d.Sink, d.Event.ID)}
		r.Places[row.Ordered] = row.Place{List: listDead, Key: join(store.Nanos(d.At), d.Sink, d.Event.ID)}
		if _, err := p.put(row.Any, r, d); err != nil {
			return err
		}
	}
	for _, d := range p.Buried {
		p.ops = append(p.ops, row.Op{Do: row.Delete, If: row.Any, Row: row.Row{Ref: refDead(d.Sink, d.Event.ID)}})
	}
	return nil
}

func (p *plan) events() error {
	for _, e := range p.Events {
		body, err := encode(e)
		if err != nil {
			return err
		}
		p.appended = append(p.appended, row.Event{
			ID: e.ID, Part: string(e.Detail.Pipeline), Type: string(e.Type), At: e.Time, Body: body,
		})
	}
	return nil
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
		body, err := json.Marshal(map[string]string{
			"run": w.Next.Key.String(), "attempt": strconv.Itoa(w.Next.Attempt), "gate": gate,
			"at": w.Next.UpdatedAt.Format(time.RFC3339Nano),
		})
		if err != nil {
			continue // strings can always be marshalled
		}
		shown := row.Row{
			Ref: row.Ref{Kind: Readiness, Part: string(w.Next.Pipeline), Key: "gate"}, Version: 1, Body: body, Expires: p.now.Add(life),
		}
		p.ops = append(p.ops, row.Op{If: row.Any, Row: shown})
	}
}

// encodeChange encodes a change without its position, which the engine assigns.
func encodeChange(c store.Change) ([]byte, error) {
	c.Position = 0
	return encode(c)
}

// DecodeChange decodes the body of a change.
func DecodeChange(body []byte) (c store.Change, err error) {
	if err := json.Unmarshal(body, &c); err != nil {
		return c, fmt.Errorf("read stored change: %w", err)
	}
	return c, nil
}
