package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/timeline"
)

// Explanation is why a run stands as it does.
type Explanation struct {
	Pipeline  string        `json:"pipeline"`
	Schedule  *string       `json:"schedule"`
	Date      *string       `json:"date"`
	At        time.Time     `json:"at"`
	State     string        `json:"state" enum:"not opened,waiting,starting,offered,held,running,settling,completed,would start,failed,exhausted,cancelled"`
	Summary   string        `json:"summary" doc:"One sentence."`
	Why       Maybe[Reason] `json:"why" doc:"The cause in one line, with its parameters; null if there is nothing to say."`
	Reasons   []string      `json:"reasons" doc:"The reasons, most important first."`
	Opens     []string      `json:"opens" doc:"What would open it, most direct first."`
	Said      Said          `json:"said" doc:"Summary, reasons and opens with their codes and parameters."`
	Next      Next          `json:"next" doc:"Whether it goes on automatically."`
	DryRun    bool          `json:"dryRun"`
	Run       Maybe[Run]    `json:"run" doc:"null if there is none."`
	Budgets   Budgets       `json:"budgets" doc:"How many further attempts each cause may open, by the active file."`
	Gate      Maybe[Shown]  `json:"gate" doc:"The result of the rules; null if there was nothing to evaluate."`
	Attempts  []Attempt     `json:"attempts"`
	JobLog    []JobEntry    `json:"jobLog"`
	Reruns    []Rerun       `json:"reruns"`
	Deadlines []Deadline    `json:"deadlines"`
	Silenced  []Silenced    `json:"silenced" doc:"Silences that held back alerts about it."`
	Probes    []Probe       `json:"probes" doc:"The probes whose answers its gate reads now."`
	Text      string        `json:"text" doc:"All of it, for people."`
	Lines     []Line        `json:"lines" doc:"The text line by line, each with its kind."`
}

// Said is what an explanation says, as codes with parameters.
type Said struct {
	Summary Reason   `json:"summary"`
	Reasons []Reason `json:"reasons"`
	Opens   []Reason `json:"opens"`
}

// Next says whether a run goes on automatically, and if not, what a person can do.
type Next struct {
	By     string     `json:"by" enum:"start,time,data,slot,worker,job,operator,nothing" doc:"What it needs to go on: start: its job is about to start. time: at an instant, or a moment from now. data: its rules, or what opens it, must be met. slot: another job of the pipeline must end. worker: a worker must claim it. job: its job must end. operator: it does not go on automatically. nothing: it is done, or its pipeline is not active."`
	At     *time.Time `json:"at" doc:"When it goes on, if its data stays as it is; null if that is unknown."`
	Until  *time.Time `json:"until" doc:"When it stops waiting; null if it does not."`
	Action *string    `json:"action" enum:"resume,trigger,rerun,job-complete,exec" doc:"The most direct action of a person; null if there is none."`
}

// Line is a line of an explanation.
type Line struct {
	Style string `json:"style" enum:"plain,title,heading,pass,fail,unknown" doc:"A rule has its outcome."`
	Text  string `json:"text" doc:"Of a rule, without the mark for its outcome."`
}

// Budgets are how many attempts each cause may open. Counters of the run say how many it has.
type Budgets struct {
	Retries      int `json:"retries"`
	CodeRetries  int `json:"codeRetries"`
	DriftReruns  int `json:"driftReruns"`
	ManualReruns int `json:"manualReruns"`
}

func budgetsOf(e *catalog.Entry) Budgets {
	if e == nil || e.Job == nil {
		return Budgets{}
	}
	j := e.Job
	return Budgets{Retries: j.MaxRetries, CodeRetries: j.MaxCodeRetries, DriftReruns: j.MaxDriftReruns, ManualReruns: j.MaxManualReruns}
}

// Silenced is a silence that kept back alerts about a run.
type Silenced struct {
	By     string `json:"by" doc:"The silence's id."`
	Alerts int    `json:"alerts" doc:"How many."`
}

// Shown is what the rules of a gate showed at some moment.
type Shown struct {
	Live     bool      `json:"live" doc:"The rules now, rather than at the start of the run."`
	At       time.Time `json:"at"`
	Open     bool      `json:"open" doc:"The run starts, or started, on it. Rules that pass while nothing waits for them do not open it."`
	Outcome  string    `json:"outcome" enum:"pass,fail,unknown" doc:"What the rules alone say."`
	Bypassed bool      `json:"bypassed" doc:"An operator had the gate skipped."`
	Rules    []Rule    `json:"rules"`

	PreferUntil *time.Time `json:"preferUntil" doc:"When preferred rules cease to close the gate; null without such rules."`
	Degraded    []string   `json:"degraded" doc:"The preferred rules that did not pass and without which the gate was open."`
	OpensAt     *time.Time `json:"opensAt" doc:"When a closed gate opens if its data stays as it is; null if time alone does not open it."`
}

func (a *API) explain(ctx context.Context, in *struct {
	OfPeriod
	Schedule string `query:"schedule" enum:"cron,stream,manual" doc:"Default: the pipeline's own."`
},
) (*output[Explanation], error) {
	date, p := parsePeriod("query.date", in.Date)
	if p != nil {
		return nil, p
	}
	q := explain.Question{Pipeline: pipeline.ID(in.ID), Schedule: pipeline.ScheduleID(in.Schedule), Period: date}
	silenced, err := a.silenced(ctx)
	if err != nil {
		return nil, err
	}
	x, err := explain.Look(ctx, explain.Sources{Store: a.store, Catalog: a.catalog, Silenced: silenced}, q, a.now())
	if errors.Is(err, explain.ErrUnknownPipeline) {
		return nil, noPipeline(q.Pipeline)
	}
	if err != nil {
		return nil, fmt.Errorf("explain %.140s: %w", in.ID, err)
	}
	v := a.explanationView(x)
	v.Budgets = budgetsOf(a.catalog.Current().Get(q.Pipeline))
	return answer(v), nil
}

func (a *API) explanationView(x explain.Explanation) Explanation {
	v := Explanation{
		Pipeline: string(x.Key.Pipeline), Schedule: text(x.Key.Schedule), Date: date(x.Key.Period), At: x.At.UTC(),
		State: string(x.State), Summary: x.Summary, Reasons: append([]string{}, x.Reasons...), Opens: append([]string{}, x.Opens...),
		Said: Said{Summary: reasonView(x.Said.Summary), Reasons: views(x.Said.Reasons, reasonView), Opens: views(x.Said.Opens, reasonView)},
		Next: nextView(x.Next()), DryRun: x.DryRun, Attempts: views(x.Attempts, attemptView), JobLog: views(x.Log, jobEntryView),
		Reruns: views(x.Reruns, rerunView), Deadlines: views(x.Deadlines, deadlineView), Text: x.Text(),
		Lines:    views(x.Lines(), func(l explain.Line) Line { return Line{Style: string(l.Style), Text: l.Text} }),
		Probes:   views(x.Probes, probeView),
		Silenced: views(x.Silenced, func(s explain.Silenced) Silenced { return Silenced{By: s.By, Alerts: s.Alerts} }),
	}
	if x.Run != nil {
		v.Run, v.Why = some(a.explainedRun(x)), maybeReason(x.Cause())
	}
	if x.Gate != nil {
		shown := shownView(*x.Gate)
		shown.Open = x.LetsStart()
		v.Gate = some(shown)
	}
	return v
}

func nextView(n explain.Next) Next {
	return Next{By: string(n.By), At: instant(n.At), Until: instant(n.Until), Action: text(n.Action)}
}

// explainedRun is the run of an explanation. The job of a dry run never ran, so it has no result.
func (a *API) explainedRun(x explain.Explanation) Run {
	r := a.runView(*x.Run)
	if !x.DryRun {
		return r
	}
	r.DryRun, r.Result, r.Message = true, nil, nil
	if r.Phase == string(run.Done) {
		r.Phase = string(timeline.WouldStart)
	}
	return r
}

func shownView(g explain.Gate) Shown {
	return Shown{
		Live: g.Live, At: g.At.UTC(), Open: g.Open(), Outcome: g.Outcome.String(), Bypassed: g.Bypassed,
		PreferUntil: instant(g.PreferUntil), Degraded: append([]string{}, g.Degraded...), OpensAt: instant(g.OpensAt),
		Rules: views(g.Leaves, func(l explain.Leaf) Rule {
			r := ruleView(l.SeenLeaf)
			r.Version, r.UpdatedAt, r.Source = number(l.Version), instant(l.UpdatedAt), text(l.Source)
			return r
		}),
	}
}

// views is a list of views; [] where there is nothing.
func views[T, V any](items []T, view func(T) V) []V {
	out := make([]V, len(items))
	for i, item := range items {
		out[i] = view(item)
	}
	return out
}
