package attention

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// standing lists the open runs that are stuck.
func (b *builder) standing(context.Context) error {
	for _, open := range b.open {
		for _, r := range open {
			why := explain.Cause(r, explain.Evidence{Now: b.now})
			switch r.Phase(b.now) {
			case run.StartHeld:
				b.add(about(r.Key, Held, event.Critical, why, r.Progress.Held.Since, Action{"job-complete", fmt.Sprintf("interlock job complete %s success|fail", r.Key)}))
			case run.StatusUnread:
				b.add(about(r.Key, Unread, event.Warning, why, r.Progress.Unread.Since, explained(r.Key)))
			default:
			}
		}
	}
	return nil
}

// explained returns the action that shows more.
func explained(key run.Key) Action {
	return Action{"explain", fmt.Sprintf("interlock explain %s --date %s", key.Pipeline, key.Period)}
}

// trigger returns the action that opens a run.
func trigger(key run.Key) Action {
	return Action{"trigger", fmt.Sprintf("interlock trigger %s --date %s", key.Pipeline, key.Period)}
}

// failed lists the pipelines whose last run did not complete.
func (b *builder) failed(ctx context.Context) error {
	ids, err := b.suspects(ctx)
	if err != nil {
		return err
	}
	var runs []run.Run
	for _, id := range ids {
		if b.Catalog.Current().Get(id) == nil {
			continue // a removed pipeline is not rerun
		}
		last, err := b.lastEnded(ctx, id)
		if err != nil {
			return err
		}
		if last.Status == run.FailedFinal || last.Status == run.ValidationExhausted {
			runs = append(runs, last)
		}
	}
	logs, err := b.logs(ctx, runs)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := b.addFailed(ctx, r, logs[r.Key]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addFailed(ctx context.Context, r run.Run, log []store.JobEntry) error {
	kind, severity, e := Failed, event.Critical, explain.Evidence{Log: log, Now: b.now}
	if r.Status == run.ValidationExhausted {
		kind, severity = Exhausted, b.severity(r.Pipeline, event.Warning)
		page, err := b.Store.Events(ctx, store.EventQuery{Key: r.Key, Pipeline: r.Pipeline, Type: event.ValidationExhausted, Limit: 1})
		if err != nil {
			return fmt.Errorf("read events of %s: %w", r.Key, err)
		}
		if len(page.Items) > 0 {
			if g, ok := page.Items[0].Detail.Extra.(event.Gate); ok {
				e.Closed = explain.FirstClosedIn(g)
			}
		}
	}
	code, command := explain.Again(b.Catalog.Current().Definition(r.Pipeline), r)
	b.add(about(r.Key, kind, severity, explain.Cause(r, e), r.EndedAt, Action{code, command}))
	return nil
}

// severity returns event.Critical if the pipeline's file says so, otherwise s.
func (b *builder) severity(id pipeline.ID, s event.Severity) event.Severity {
	if e := b.Catalog.Current().Get(id); e != nil && e.SLA.Critical {
		return event.Critical
	}
	return s
}

// logs reads the job logs of failed runs.
func (b *builder) logs(ctx context.Context, runs []run.Run) (map[run.Key][]store.JobEntry, error) {
	var keys []run.Key
	for _, r := range runs {
		if r.Status == run.FailedFinal {
			keys = append(keys, r.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return b.Store.JobLogs(ctx, keys)
}

// suspects lists the pipelines whose last run may have failed: those with any failed run, or all
// pipelines if there are more failed runs than fit on a page.
func (b *builder) suspects(ctx context.Context) ([]pipeline.ID, error) {
	if b.only != "" {
		return []pipeline.ID{b.only}, nil
	}
	var ids []pipeline.ID
	for _, status := range []run.Status{run.FailedFinal, run.ValidationExhausted} {
		page, err := b.Store.Runs(ctx, store.RunQuery{Status: status, Limit: store.MaxPage})
		if err != nil {
			return nil, fmt.Errorf("read failed runs: %w", err)
		}
		if page.Next != "" {
			return b.all(), nil
		}
		for _, r := range page.Items {
			ids = append(ids, r.Pipeline)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// all lists every active pipeline.
func (b *builder) all() []pipeline.ID {
	var ids []pipeline.ID
	for _, e := range b.Catalog.Current().All() {
		ids = append(ids, e.ID)
	}
	return ids
}

// Late is a deadline that has passed, and its run, which has not completed; without a Status if
// none has opened.
type Late struct {
	store.Deadline
	Run run.Run
}

// LateRuns lists the deadlines that have passed and whose runs have not completed, including held
// and failed ones: for one pipeline, or for all if only is "". Deadlines of a pipeline that has
// since finished a later period are left out.
func LateRuns(ctx context.Context, s Sources, only pipeline.ID, now time.Time) ([]Late, error) {
	b := newBuilder(s, only, now)
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	return b.late(ctx)
}

// late lists the deadlines that have passed and whose runs have not completed.
func (b *builder) late(ctx context.Context) ([]Late, error) {
	var due []store.Deadline
	var keys []run.Key
	q := store.DeadlineQuery{Pipeline: b.only, From: b.now.Add(-lookBack), To: b.now, Limit: store.MaxPage}
	for {
		page, err := b.Store.Deadlines(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read deadlines: %w", err)
		}
		for _, d := range page.Items {
			if !d.DoneAt.IsZero() || d.State != sla.Breached && d.State != sla.Armed || b.Catalog.Current().Get(d.Key.Pipeline) == nil {
				continue
			}
			passed, err := b.passed(ctx, d.Key)
			if err != nil {
				return nil, err
			}
			if !passed {
				keys, due = append(keys, d.Key), append(due, d)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	runs, err := b.Store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read overdue runs: %w", err)
	}
	var out []Late
	for _, d := range due {
		if r := runs[d.Key]; r.SucceededAt().IsZero() && r.Status != run.Cancelled {
			out = append(out, Late{d, r})
		}
	}
	return out, nil
}

// overdue lists the runs past their deadline that have not completed, unless they are listed for
// another reason.
func (b *builder) overdue(ctx context.Context) error {
	late, err := b.late(ctx)
	if err != nil {
		return err
	}
	for _, d := range late {
		if !b.named[d.Key] {
			b.addOverdue(d)
		}
	}
	return nil
}

func (b *builder) addOverdue(d Late) {
	deadline := reason.At("deadline", d.BreachAt)
	why := reason.New("overdue", "the deadline {deadline} has passed, and the run is {phase}", deadline, reason.Str("phase", d.Run.Phase(b.now)))
	do := explained(d.Key)
	if d.Run.Status == "" {
		why = reason.New("overdue", "the deadline {deadline} has passed, and no run has opened", deadline, reason.Str("phase", "missing"))
		do = trigger(d.Key)
	}
	b.add(about(d.Key, Overdue, event.Critical, why, d.BreachAt, do))
}
