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

// Keep is how long after its end a failure needs attention if nothing resolves it.
const Keep = 30 * 24 * time.Hour

// How many unresolved failures are read, and of how many of them the job log and the rules.
const (
	maxFailed   = 2 * store.MaxPage
	maxDetailed = 200
)

// failed lists the runs that ended without success: until they are rerun and complete, for as long
// as Keep. A later period that completes does not resolve them.
func (b *builder) failed(ctx context.Context) error {
	var runs []run.Run
	for _, status := range []run.Status{run.FailedFinal, run.ValidationExhausted} {
		all, err := b.unresolved(ctx, status)
		if err != nil {
			return err
		}
		runs = append(runs, all...)
	}
	slices.SortStableFunc(runs, func(a, b run.Run) int { return b.EndedAt.Compare(a.EndedAt) })
	logs, err := b.logs(ctx, runs[:min(len(runs), maxDetailed)])
	if err != nil {
		return err
	}
	for i, r := range runs {
		if err := b.addFailed(ctx, r, logs[r.Key], i < maxDetailed); err != nil {
			return err
		}
	}
	return nil
}

// unresolved lists the runs with a status that ended within Keep, latest periods first. If there
// are more than maxFailed, it adds the last run of each pipeline, so that none is forgotten.
func (b *builder) unresolved(ctx context.Context, status run.Status) ([]run.Run, error) {
	found := map[run.Key]bool{}
	var runs []run.Run
	add := func(r run.Run) {
		// A removed pipeline is not rerun.
		if r.Status == status && !found[r.Key] && r.EndedAt.After(b.now.Add(-Keep)) && b.Catalog.Current().Get(r.Pipeline) != nil {
			found[r.Key], runs = true, append(runs, r)
		}
	}
	q := store.RunQuery{Pipeline: b.only, Status: status, Limit: store.MaxPage}
	for read := 0; read < maxFailed; read += q.Limit {
		page, err := b.Store.Runs(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read failed runs: %w", err)
		}
		for _, r := range page.Items {
			add(r)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return runs, nil
		}
	}
	for _, e := range b.Catalog.Current().All() {
		if b.only != "" && e.ID != b.only {
			continue
		}
		last, err := b.lastEnded(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		add(last)
	}
	return runs, nil
}

// addFailed adds an unresolved failure. Once a later period has ended it is less urgent than what
// fails now.
func (b *builder) addFailed(ctx context.Context, r run.Run, log []store.JobEntry, detailed bool) error {
	kind, severity, e := Failed, event.Critical, explain.Evidence{Log: log, Now: b.now}
	passed, err := b.passed(ctx, r.Key)
	if err != nil {
		return err
	}
	if passed || r.Status == run.ValidationExhausted {
		severity = b.severity(r.Pipeline, event.Warning)
	}
	if r.Status == run.ValidationExhausted {
		kind = Exhausted
	}
	if kind == Exhausted && detailed {
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

// Late is a deadline that has passed, and its run, which has not completed; without a Status if
// none has opened.
type Late struct {
	store.Deadline
	Run run.Run
}

// LateRuns lists the deadlines that have passed and whose runs have not completed, including held
// and failed ones, for as long as Keep: for one pipeline, or for all if only is "".
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
	q := store.DeadlineQuery{Pipeline: b.only, From: b.now.Add(-Keep), To: b.now, Limit: store.MaxPage}
	for {
		page, err := b.Store.Deadlines(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read deadlines: %w", err)
		}
		for _, d := range page.Items {
			if !d.DoneAt.IsZero() || d.State != sla.Breached && d.State != sla.Armed || b.Catalog.Current().Get(d.Key.Pipeline) == nil {
				continue
			}
			keys, due = append(keys, d.Key), append(due, d)
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
		r := runs[d.Key]
		if !r.SucceededAt().IsZero() || r.Status == run.Cancelled {
			continue
		}
		gone, err := b.skipped(ctx, d.Key, r)
		if err != nil {
			return nil, err
		}
		if !gone {
			out = append(out, Late{d, r})
		}
	}
	return out, nil
}

// skipped reports whether a period without a run has a fire that was missed, and a later period has
// ended: then the gap is listed, not each of its deadlines.
func (b *builder) skipped(ctx context.Context, key run.Key, r run.Run) (bool, error) {
	if r.Status != "" || b.Catalog.Current().Get(key.Pipeline).Schedule.FireFor(key.Period).IsZero() {
		return false, nil
	}
	return b.passed(ctx, key)
}

// overdue lists the runs past their deadline that have not completed, unless they are listed for
// another reason.
func (b *builder) overdue(ctx context.Context) error {
	late, err := b.late(ctx)
	if err != nil {
		return err
	}
	for _, d := range late {
		if b.named[d.Key] {
			continue
		}
		if err := b.addOverdue(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// addOverdue adds a run past its deadline. Once a later period has ended it is less urgent.
func (b *builder) addOverdue(ctx context.Context, d Late) error {
	severity := event.Critical
	passed, err := b.passed(ctx, d.Key)
	if err != nil {
		return err
	}
	if passed {
		severity = b.severity(d.Key.Pipeline, event.Warning)
	}
	deadline := reason.At("deadline", d.BreachAt)
	why := reason.New("overdue", "the deadline {deadline} has passed, and the run is {phase}", deadline, reason.Str("phase", d.Run.Phase(b.now)))
	do := explained(d.Key)
	if d.Run.Status == "" {
		why = reason.New("overdue", "the deadline {deadline} has passed, and no run has opened", deadline, reason.Str("phase", "missing"))
		do = trigger(d.Key)
	}
	b.add(about(d.Key, Overdue, severity, why, d.BreachAt, do))
	return nil
}
