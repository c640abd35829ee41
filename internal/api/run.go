package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func (a *API) runView(r run.Run) client.Run {
	p, o := r.Progress, r.Progress.Opening
	v := client.Run{
		Pipeline: string(r.Pipeline), Schedule: string(r.Schedule), Date: r.Period.String(), Status: client.Status(r.Status), Phase: string(r.Phase(a.now())), Attempt: r.Attempt,
		Reason: text(r.Reason), Cause: text(o.Cause), RequestedBy: text(o.By), RequestReason: text(o.Reason),
		Forced: o.Forced, GateBypassed: o.GateBypassed, Degraded: startedWithout(r),
		OpenedAt: instant(r.OpenedAt), UpdatedAt: instant(r.UpdatedAt), StartedAt: instant(p.StartedAt), EndedAt: instant(r.EndedAt),
		WindowStart: instant(p.WindowStart), WindowEnd: instant(p.WindowEnd), LastEvaluation: instant(p.LastEvaluation),
		WaitingForSlot: !p.WaitingSince.IsZero(), Held: text(p.Held.Reason), HeldSince: instant(p.Held.Since), Handle: text(p.Handle),
		Result: text(p.Report.Result), Category: text(p.Report.Category), Message: text(p.Report.Message),
		JobMayRun: p.Left == run.JobMayRun, JobStopping: p.Left == run.JobStopping, ConfigVersion: text(o.ConfigVersion), Version: r.Version,
		Counters: client.Counters{
			Retries: r.Counters.Retries, CodeRetries: r.Counters.CodeRetries, DriftReruns: r.Counters.DriftReruns,
			ManualReruns: r.Counters.ManualReruns, Reopenings: r.Counters.Reopenings, Forced: r.Counters.Forced,
		},
	}
	if o := p.Offer; !o.Since.IsZero() {
		v.OfferedSince, v.Worker, v.LastHeartbeat = instant(o.Since), text(o.Worker), instant(o.Heartbeat)
		if o.Worker != "" {
			v.ClaimedAt = instant(p.StartedAt)
		}
	}
	if o := p.Offer; o.Worker != "" && (r.Status == run.Running || p.Left == run.JobStopping) {
		v.NextBy = instant(p.NextBy())
	}
	if r.Status == run.Pending {
		v.NextEvaluation = instant(p.NextEvaluation)
	}
	if r.Status == run.Running {
		v.Deadline = instant(p.Deadline())
		v.Unread, v.UnreadSince = text(p.Unread.Reason), instant(p.Unread.Since)
	}
	if p.Report.Exited {
		v.ExitCode = &p.Report.ExitCode
	}
	return v
}

// startedWithout names the preferred sensors that the latest attempt started without. A pending run
// has not started.
func startedWithout(r run.Run) []string {
	if r.Status == run.Pending || r.Progress.Degraded == "" {
		return []string{}
	}
	return strings.Split(r.Progress.Degraded, ",")
}

func attemptView(a explain.Attempt) client.Attempt {
	return client.Attempt{
		Attempt: a.Number, Cause: text(a.Cause), RequestedBy: text(a.By), Reason: text(a.Reason), Forced: a.Forced, GateBypassed: a.GateBypassed,
		OpenedAt: instant(a.OpenedAt), StartedAt: instant(a.StartedAt), EndedAt: instant(a.EndedAt), Snapshot: text(a.Snapshot),
		Handle: text(a.Handle), Result: text(a.Result), Category: text(a.Category), Message: text(a.Message), ExitCode: a.ExitCode, Output: text(a.Output),
	}
}

func jobEntryView(e store.JobEntry) client.JobEntry {
	return client.JobEntry{
		Attempt: e.Attempt, At: e.At.UTC(), Event: string(e.Event), Try: e.Try, Handle: text(e.Handle), Category: text(e.Category),
		Message: text(e.Message), Output: text(e.Output), By: text(e.By),
	}
}

func rerunView(r store.Rerun) client.Rerun {
	v := client.Rerun{
		ID: r.ID, Pipeline: string(r.Key.Pipeline), Schedule: string(r.Key.Schedule), Date: r.Key.Period.String(), Reason: r.Reason,
		RequestedBy: r.By, Force: r.Force, BypassGate: r.BypassGate, At: r.At.UTC(), Accepted: r.Accepted, Why: r.Why,
	}
	if r.Attempt > 0 {
		v.Attempt = &r.Attempt
	}
	return v
}

type runsInput struct {
	Paging
	Pipeline string `query:"pipeline" doc:"Only runs of this pipeline."`
	Date     string `query:"date" doc:"Only runs of this period."`
	From     string `query:"from" doc:"Only runs of this period and later ones."`
	To       string `query:"to" doc:"Only runs of this period and earlier ones."`
	Status   string `query:"status" doc:"Only runs with this status."`
}

// OfRun is the path of a run.
type OfRun struct {
	Pipeline string `path:"pipeline" doc:"The pipeline's id."`
	Schedule string `path:"schedule" doc:"cron, stream or manual."`
	Date     string `path:"date" doc:"The period, such as 2026-03-03 or 2026-03-03T07."`
}

func (in OfRun) key() (run.Key, *Problem) { return parseKey(in.Pipeline, in.Schedule, in.Date) }

func (a *API) runRoutes(h huma.API) {
	register(h, get("/runs", "list-runs", "Runs", "List runs, latest period first"), a.listRuns)
	register(h, get("/runs/{pipeline}/{schedule}/{date}", "get-run", "Runs", "Get a run with its attempts, job log, gate snapshot and deadlines"), a.getRun)
	register(h, get("/runs/{pipeline}/{schedule}/{date}/output", "get-output", "Runs", "Get the last output of an attempt's job, even while it runs").patiently(), a.getOutput)
	register(h, get("/deadlines", "list-deadlines", "Deadlines", "List deadlines, soonest first; armed ones by default"), a.listDeadlines)
	register(h, get("/deadlines/board", "deadline-board", "Deadlines", "List current deadlines: overdue, at risk, on track"), a.deadlineBoard)
	register(h, get("/timeline", "timeline", "Runs", "Get the expected periods of each pipeline in a time range, and their results"), a.timeline)
}

func (a *API) listRuns(ctx context.Context, in *runsInput) (*output[List[client.Run]], error) {
	who := whoOf(ctx)
	id, p1 := parseID(who, in.Pipeline)
	date, p2 := parsePeriod("query.date", in.Date)
	from, p3 := parsePeriod("query.from", in.From)
	to, p4 := parsePeriod("query.to", in.To)
	status, p5 := parseStatus(in.Status)
	if p := cmp.Or(p1, p2, p3, p4, p5); p != nil {
		return nil, p
	}
	page, err := a.store.Runs(ctx, store.RunQuery{Pipeline: id, Period: date, From: from, To: to, Status: status, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return answer(list(page, func(r run.Run) bool { return who.sees(r.Pipeline) }, a.runView)), nil
}

func (a *API) getRun(ctx context.Context, in *OfRun) (*output[client.RunDetail], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	r, err := a.store.Run(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, a.noRun(ctx, key)
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", key, err)
	}
	x, err := explain.Explain(ctx, explain.Sources{Store: a.store, Catalog: a.catalog},
		explain.Question{Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, Real: true}, a.now())
	if err != nil {
		return nil, err
	}
	v := a.explanationView(ctx, x)
	var out *string
	if n := len(v.Attempts); n > 0 {
		latest := &v.Attempts[n-1]
		if r.Claimed() {
			sent, err := a.sentOutput(ctx, r)
			if err != nil {
				return nil, err
			}
			latest.Output = text(sent)
		}
		out = latest.Output
	}
	return answer(client.RunDetail{Run: a.runView(r), Why: v.Why, Output: out, Attempts: v.Attempts, JobLog: v.JobLog, Gate: v.Gate, Deadlines: v.Deadlines, Reruns: v.Reruns}), nil
}
