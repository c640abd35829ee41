package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/timeline"
)

func budgetsOf(e *catalog.Entry) client.Budgets {
	if e == nil || e.Job == nil {
		return client.Budgets{}
	}
	j := e.Job
	return client.Budgets{Retries: j.MaxRetries, CodeRetries: j.MaxCodeRetries, DriftReruns: j.MaxDriftReruns, ManualReruns: j.MaxManualReruns}
}

func (a *API) explain(ctx context.Context, in *struct {
	OfPeriod
	Schedule string `query:"schedule" doc:"cron, stream or manual. Default: the pipeline's own."`
},
) (*output[client.Explanation], error) {
	date, p1 := parsePeriod("query.date", in.Date)
	schedule, p2 := parseSchedule("query.schedule", in.Schedule)
	if p := cmp.Or(p1, p2); p != nil {
		return nil, p
	}
	if e := a.catalog.Current().Get(pipeline.ID(in.ID)); e != nil {
		if p := checkName("query.date", e, date); p != nil {
			return nil, p
		}
	}
	q := explain.Question{Pipeline: pipeline.ID(in.ID), Schedule: schedule, Period: date}
	silenced, err := a.silenced(ctx)
	if err != nil {
		return nil, err
	}
	x, err := explain.Explain(ctx, explain.Sources{Store: a.store, Catalog: a.catalog, Silenced: silenced}, q, a.now())
	if errors.Is(err, explain.ErrUnknownPipeline) {
		return nil, a.noPipeline(ctx, q.Pipeline)
	}
	if err != nil {
		return nil, fmt.Errorf("explain %.140s: %w", in.ID, err)
	}
	v := a.explanationView(ctx, x)
	v.Budgets = budgetsOf(a.catalog.Current().Get(q.Pipeline))
	return answer(v), nil
}

// explanationView returns an explanation without the probes of other pipelines that the client may
// not see.
func (a *API) explanationView(ctx context.Context, x explain.Explanation) client.Explanation {
	x.Probes = slices.DeleteFunc(slices.Clone(x.Probes), func(s prober.Standing) bool { return !whoOf(ctx).sees(s.Pipeline) })
	v := client.Explanation{
		Pipeline: string(x.Key.Pipeline), Schedule: text(x.Key.Schedule), Date: date(x.Key.Period), At: x.At.UTC(),
		State: string(x.State), Summary: x.Summary, Reasons: append([]string{}, x.Reasons...), Opens: append([]string{}, x.Opens...),
		Said: client.Said{Summary: reasonView(x.Said.Summary), Reasons: views(x.Said.Reasons, reasonView), Opens: views(x.Said.Opens, reasonView)},
		Next: nextView(x.Next()), Actions: views(x.Actions, possibleView), DryRun: x.DryRun, Attempts: views(x.Attempts, attemptView), JobLog: views(x.Log, jobEntryView),
		Reruns: views(x.Reruns, rerunView), Deadlines: views(x.Deadlines, deadlineView), Text: x.Text(),
		Lines:    views(x.Lines(), func(l explain.Line) client.Line { return client.Line{Style: string(l.Style), Text: l.Text} }),
		Probes:   views(x.Probes, probeView),
		Silenced: views(x.Silenced, func(s explain.Silenced) client.Silenced { return client.Silenced{By: s.By, Alerts: s.Alerts} }),
	}
	if x.Run != nil {
		v.Run, v.Why = new(a.explainedRun(x)), maybeReason(x.Cause())
	}
	if x.Gate != nil {
		shown := shownView(*x.Gate)
		shown.Open = x.LetsStart()
		v.Gate = &shown
	}
	return v
}

func nextView(n explain.Next) client.Next {
	return client.Next{By: string(n.By), At: instant(n.At), Until: instant(n.Until), Action: text(n.Action), Outlook: maybeReason(n.Outlook)}
}

func possibleView(a explain.Action) client.Possible {
	data := map[string]any{}
	maps.Copy(data, a.Fields)
	return client.Possible{
		Kind: string(a.Kind), Pipeline: text(a.Pipeline), Key: text(a.Key), Date: date(a.Period), Data: data,
		Effect: reasonView(a.Effect), Skips: append([]string{}, a.Skips...),
	}
}

// explainedRun returns the run of an explanation. The job of a dry run never ran, so it has no
// result.
func (a *API) explainedRun(x explain.Explanation) client.Run {
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

func shownView(g explain.Gate) client.Shown {
	return client.Shown{
		Live: g.Live, At: g.At.UTC(), Open: g.Open(), Outcome: g.Outcome.String(), Bypassed: g.Bypassed,
		PreferUntil: instant(g.PreferUntil), Degraded: append([]string{}, g.Degraded...), OpensAt: instant(g.OpensAt),
		Rules: views(g.Leaves, func(l explain.Leaf) client.Rule {
			r := ruleView(l.SeenLeaf)
			r.Closes = g.Closes(l)
			r.Version, r.UpdatedAt, r.Source = number(l.Version), instant(l.UpdatedAt), text(l.Source)
			return r
		}),
		Files: views(g.Files, func(f store.UsedFile) client.UsedFile {
			return client.UsedFile{Kind: string(f.Kind), File: f.File, Digest: f.Digest}
		}),
	}
}

// views maps items to their views; never nil.
func views[T, V any](items []T, view func(T) V) []V {
	out := make([]V, len(items))
	for i, item := range items {
		out[i] = view(item)
	}
	return out
}
