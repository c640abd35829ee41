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
func (l *look) standing(context.Context) error {
	for _, open := range l.open {
		for _, r := range open {
			why := explain.Cause(r, explain.Evidence{Now: l.now})
			switch r.Phase(l.now) {
			case run.StartHeld:
				l.add(about(r.Key, Held, event.Critical, why, r.Progress.Held.Since, Action{"job-complete", fmt.Sprintf("interlock job complete %s success|fail", r.Key)}))
			case run.StatusUnread:
				l.add(about(r.Key, Unread, event.Warning, why, r.Progress.Unread.Since, explained(r.Key)))
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
func (l *look) failed(ctx context.Context) error {
	ids, err := l.suspects(ctx)
	if err != nil {
		return err
	}
	var runs []run.Run
	for _, id := range ids {
		if l.Catalog.Current().Get(id) == nil {
			continue // a removed pipeline is not rerun
		}
		last, err := l.lastEnded(ctx, id)
		if err != nil {
			return err
		}
		if last.Status == run.FailedFinal || last.Status == run.ValidationExhausted {
			runs = append(runs, last)
		}
	}
	logs, err := l.logs(ctx, runs)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := l.addFailed(ctx, r, logs[r.Key]); err != nil {
			return err
		}
	}
	return nil
}

func (l *look) addFailed(ctx context.Context, r run.Run, log []store.JobEntry) error {
	kind, severity, e := Failed, event.Critical, explain.Evidence{Log: log, Now: l.now}
	if r.Status == run.ValidationExhausted {
		kind, severity = Exhausted, l.severity(r.Pipeline, event.Warning)
		page, err := l.Store.Events(ctx, store.EventQuery{Key: r.Key, Pipeline: r.Pipeline, Type: event.ValidationExhausted, Limit: 1})
		if err != nil {
			return fmt.Errorf("read events of %s: %w", r.Key, err)
		}
		if len(page.Items) > 0 {
			if g, ok := page.Items[0].Detail.Extra.(event.Gate); ok {
				e.Closed = explain.ToldClosed(g)
			}
		}
	}
	code, command := explain.Again(l.Catalog.Current().Definition(r.Pipeline), r)
	l.add(about(r.Key, kind, severity, explain.Cause(r, e), r.EndedAt, Action{code, command}))
	return nil
}

// severity returns event.Critical if the pipeline's file says so, otherwise s.
func (l *look) severity(id pipeline.ID, s event.Severity) event.Severity {
	if e := l.Catalog.Current().Get(id); e != nil && e.SLA.Critical {
		return event.Critical
	}
	return s
}

// logs reads the job logs of failed runs.
func (l *look) logs(ctx context.Context, runs []run.Run) (map[run.Key][]store.JobEntry, error) {
	var keys []run.Key
	for _, r := range runs {
		if r.Status == run.FailedFinal {
			keys = append(keys, r.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return l.Store.JobLogs(ctx, keys)
}

// suspects lists the pipelines whose last run may have failed: those with any failed run, or all pipelines if there
// are more failed runs than fit on a page.
func (l *look) suspects(ctx context.Context) ([]pipeline.ID, error) {
	if l.only != "" {
		return []pipeline.ID{l.only}, nil
	}
	var ids []pipeline.ID
	for _, status := range []run.Status{run.FailedFinal, run.ValidationExhausted} {
		page, err := l.Store.Runs(ctx, store.RunQuery{Status: status, Limit: store.MaxPage})
		if err != nil {
			return nil, fmt.Errorf("read failed runs: %w", err)
		}
		if page.Next != "" {
			return l.all(), nil
		}
		for _, r := range page.Items {
			ids = append(ids, r.Pipeline)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// all lists every active pipeline.
func (l *look) all() []pipeline.ID {
	var ids []pipeline.ID
	for _, e := range l.Catalog.Current().All() {
		ids = append(ids, e.ID)
	}
	return ids
}

// Late is a deadline that has passed, and its run, which has not completed; without a Status if none has opened.
type Late struct {
	store.Deadline
	Run run.Run
}

// LateRuns lists the deadlines that have passed and whose runs have not completed, including held and failed ones:
// for one pipeline, or for all if only is "". Deadlines of a pipeline that has since finished a later period are left
// out.
func LateRuns(ctx context.Context, s Sources, only pipeline.ID, now time.Time) ([]Late, error) {
	l := newLook(s, only, now)
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return l.late(ctx)
}

// late lists the deadlines that have passed and whose runs have not completed.
func (l *look) late(ctx context.Context) ([]Late, error) {
	var due []store.Deadline
	var keys []run.Key
	q := store.DeadlineQuery{Pipeline: l.only, From: l.now.Add(-lookBack), To: l.now, Limit: store.MaxPage}
	for {
		page, err := l.Store.Deadlines(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read deadlines: %w", err)
		}
		for _, d := range page.Items {
			if !d.DoneAt.IsZero() || d.State != sla.Breached && d.State != sla.Armed || l.Catalog.Current().Get(d.Key.Pipeline) == nil {
				continue
			}
			passed, err := l.passed(ctx, d.Key)
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
	runs, err := l.Store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read overdue runs: %w", err)
	}
	var out []Late
	for _, d := range due {
		if r := runs[d.Key]; r.Status != run.Completed && r.Status != run.Cancelled {
			out = append(out, Late{d, r})
		}
	}
	return out, nil
}

// overdue lists the runs past their deadline that have not completed, unless they are listed for another reason.
func (l *look) overdue(ctx context.Context) error {
	late, err := l.late(ctx)
	if err != nil {
		return err
	}
	for _, d := range late {
		if !l.named[d.Key] {
			l.addOverdue(d)
		}
	}
	return nil
}

func (l *look) addOverdue(d Late) {
	deadline := reason.At("deadline", d.BreachAt)
	why := reason.New("overdue", "the deadline {deadline} has passed, and the run is {phase}", deadline, reason.Str("phase", d.Run.Phase(l.now)))
	do := explained(d.Key)
	if d.Run.Status == "" {
		why = reason.New("overdue", "the deadline {deadline} has passed, and no run has opened", deadline, reason.Str("phase", "missing"))
		do = trigger(d.Key)
	}
	l.add(about(d.Key, Overdue, event.Critical, why, d.BreachAt, do))
}
