package api

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/store"
)

// OfPipeline is the path of a pipeline.
type OfPipeline struct {
	ID string `path:"id" doc:"The pipeline's id."`
}

func (a *API) pipelineRoutes(h huma.API) {
	register(h, get("/pipelines", "list-pipelines", "Pipelines", "List all pipelines with their states, by id"), a.listPipelines)
	register(h, get("/attention", "list-attention", "Pipelines", "List what needs attention, most urgent first"), a.listAttention)
	register(h, get("/pipelines/{id}", "get-pipeline", "Pipelines", "Get a pipeline and its state"), a.getPipeline)
	register(h, get("/pipelines/{id}/versions", "list-versions", "Pipelines", "List the accepted versions of a pipeline's file, newest first"), a.listVersions)
	text := get("/pipelines/{id}/versions/{version}", "get-version", "Pipelines", "Get one version of a pipeline's file, with its text")
	text.role = RoleOperator // a file may hold text that not every viewer should read
	register(h, text, a.getVersion)
	register(h, get("/pipelines/{id}/graph", "get-graph", "Pipelines", "Get a pipeline's upstream and downstream pipelines, and what blocks each"), a.getGraph)
	register(h, get("/pipelines/{id}/gate/history", "gate-history", "Pipelines", "Get the last writes of the sensors that a gate reads, rule by rule"), a.ruleHistory)
	register(h, get("/files", "list-files", "Files", "List the files that the server reads, by name, with their problems"), a.listFiles)
	register(h, get("/pipelines/{id}/gate", "get-gate", "Pipelines", "Check whether a run may start, rule by rule").patiently(), a.getGate)
	register(h, get("/pipelines/{id}/explain", "explain", "Pipelines", "Explain why a run is waiting, how it ended, or why there is none"), a.explain)
}

func (a *API) listPipelines(ctx context.Context, in *struct {
	Paging
	Removed bool `query:"removed" doc:"Include removed pipelines."`
},
) (*output[List[client.Pipeline]], error) {
	rows, err := a.store.Pipelines(ctx)
	if err != nil {
		return nil, fmt.Errorf("read pipelines: %w", err)
	}
	who := whoOf(ctx)
	after, err := a.afterID("pipelines", in.Cursor)
	if err != nil {
		return nil, err
	}
	needs, err := a.attentions(ctx, "")
	if err != nil {
		return nil, err
	}
	out := List[client.Pipeline]{Items: []client.Pipeline{}}
	for _, row := range rows {
		if row.ID == store.AllPipelines || row.ID <= after || !who.sees(row.ID) || row.Removed() && !in.Removed {
			continue
		}
		if out.full(in.Limit) {
			out.NextCursor = a.cursors.next("pipelines", out.last().ID)
			break
		}
		view, err := a.pipelineView(ctx, row, needs)
		if err != nil {
			return nil, err
		}
		out.add(view)
	}
	return answer(out), nil
}

func (a *API) getPipeline(ctx context.Context, in *OfPipeline) (*output[client.Pipeline], error) {
	row, err := a.row(ctx, pipeline.ID(in.ID))
	if err != nil {
		return nil, err
	}
	needs, err := a.attentions(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	view, err := a.pipelineView(ctx, row, needs)
	return answer(view), err
}

// row returns a pipeline's row; a Problem if there never was such a pipeline.
func (a *API) row(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	row, err := a.store.Pipeline(ctx, id)
	if errors.Is(err, store.ErrNotFound) || id == store.AllPipelines {
		return row, a.noPipeline(ctx, id)
	}
	if err != nil {
		return row, fmt.Errorf("read pipeline %s: %w", id, err)
	}
	return row, nil
}

// onlyPipeline returns the pipeline that a query names; "" if it names none.
func (a *API) onlyPipeline(ctx context.Context, sent string) (pipeline.ID, error) {
	id, p := parseID(whoOf(ctx), sent)
	if p != nil {
		return "", p
	}
	if id == "" {
		return "", nil
	}
	_, err := a.row(ctx, id)
	return id, err
}

func (a *API) pipelineView(ctx context.Context, row store.Pipeline, needs attentions) (client.Pipeline, error) {
	e := a.catalog.Current().Get(row.ID)
	v := client.Pipeline{
		ID: string(row.ID), State: a.stateOf(row), Version: text(row.Config), Problems: a.problemsOf(row),
		Pause: pauseView(row.Pause), PauseAll: pauseView(row.PauseAll),
		Horizon: instant(row.Horizon), AcceptedAt: instant(row.AcceptedAt), RemovedAt: instant(row.RemovedAt),
		Tags: map[string]string{}, After: []string{}, Probes: []client.Probe{}, Attention: append([]client.Attention{}, needs[row.ID]...),
	}
	if e != nil {
		a.describePipeline(&v, e, row)
		probes, err := prober.Standings(ctx, a.store, e)
		if err != nil {
			return v, err
		}
		v.Probes = views(probes, probeView)
	}
	open, err := a.store.OpenRuns(ctx, row.ID)
	if err != nil {
		return v, fmt.Errorf("read open runs of %s: %w", row.ID, err)
	}
	v.OpenRuns = len(open)
	if e != nil {
		v.Current = currentOf(e, open, a.now())
	}
	latest, err := a.store.Runs(ctx, store.RunQuery{Pipeline: row.ID, Limit: 1})
	if err != nil {
		return v, fmt.Errorf("read runs of %s: %w", row.ID, err)
	}
	if len(latest.Items) > 0 {
		v.LastRun = new(a.runView(latest.Items[0]))
	}
	return v, nil
}

// describePipeline fills in the fields that come from the active definition.
func (a *API) describePipeline(v *client.Pipeline, e *catalog.Entry, row store.Pipeline) {
	v.Owner, v.Description, v.File = e.Owner, e.Description, text(e.File)
	v.Schedule, v.Period, v.Timezone = text(e.Opens), text(e.Schedule.Size().String()), text(e.Schedule.Zone().String())
	now := a.now()
	v.Slice = &client.Slice{StartsAt: e.Schedule.SliceStart(now).UTC(), EndsAt: e.Schedule.SliceEnd(now).UTC()}
	v.DryRun, v.MaxActive = e.DryRun, e.MaxActive
	if e.Tags != nil {
		v.Tags = e.Tags
	}
	v.After = names(e.After).Items
	if e.Job != nil {
		v.JobType = text(e.Job.Type)
	}
	if e.Opens != pipeline.ByCron {
		return
	}
	v.Next = nextFire(e, row, now)
}

// problemsOf returns why a pipeline's file is not active; empty if it is.
func (a *API) problemsOf(row store.Pipeline) []string {
	problems := append([]string{}, row.Problems()...)
	if t, in := a.catalog.TroubleOf(row.ID); in && row.Config != "" {
		problems = append(problems, t.Message)
	}
	return problems
}

func (a *API) stateOf(row store.Pipeline) client.State {
	switch {
	case row.Removed():
		return client.StateRemoved
	case row.Config == "":
		return client.StateRejected
	case row.Paused():
		return client.StatePaused
	case len(a.problemsOf(row)) > 0:
		return client.StateDegraded
	}
	return client.StateOK
}

func pauseView(p store.Pause) client.Pause {
	if !p.Active() {
		return client.Pause{}
	}
	return client.Pause{
		Paused: true, By: text(p.By), Why: text(p.Why), Since: instant(p.Since), Until: instant(p.Until), HoldSLA: p.HoldSLA,
	}
}

func (a *API) listVersions(ctx context.Context, in *struct {
	OfPipeline
	Paging
},
) (*output[List[client.Version]], error) {
	row, err := a.row(ctx, pipeline.ID(in.ID))
	if err != nil {
		return nil, err
	}
	configs, err := a.store.Configs(ctx, row.ID)
	if err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", row.ID, err)
	}
	return cut(a.cursors, "versions", in.Paging, configs, func(c store.Config) string {
		return fmt.Sprintf("%019d %s", math.MaxInt64-c.At.UnixNano(), c.Version)
	}, everything, versionView(row))
}

func versionView(row store.Pipeline) func(store.Config) client.Version {
	return func(c store.Config) client.Version {
		return client.Version{Version: c.Version, At: c.At.UTC(), File: c.File.File, InForce: c.Version == row.Config}
	}
}

func (a *API) getVersion(ctx context.Context, in *struct {
	OfPipeline
	Version string `path:"version"`
},
) (*output[client.VersionText], error) {
	row, err := a.row(ctx, pipeline.ID(in.ID))
	if err != nil {
		return nil, err
	}
	c, err := a.store.Config(ctx, row.ID, in.Version)
	if err != nil {
		return nil, fmt.Errorf("read version %.80q of %s: %w", in.Version, row.ID, err)
	}
	return answer(client.VersionText{
		Version: versionView(row)(c), Text: string(c.File.Data), Calendars: texts(c.Calendars), Archetypes: texts(c.Archetypes),
	}), nil
}

func texts(sources []pipeline.Source) []client.SourceText {
	return views(sources, func(s pipeline.Source) client.SourceText {
		return client.SourceText{File: s.File, Text: string(s.Data)}
	})
}

func probeView(s prober.Standing) client.Probe {
	p, state := s.Probe, s.State
	v := client.Probe{
		Pipeline: string(s.Pipeline), Key: p.Key, Kind: kindOf(p), Builtin: text(p.Builtin),
		TTL: document.Duration(p.TTL).String(), Timeout: document.Duration(p.Timeout).String(), State: probeState(s),
		Failures: client.ProbeFailures{
			Count: state.Failures, Since: instant(state.Since), At: instant(state.Failed), Reason: text(state.Failure),
			Category: text(state.Category), NextTry: instant(state.Rest),
		},
	}
	if p.Interval > 0 {
		v.Interval = text(document.Duration(p.Interval).String())
	}
	if !state.Answered.IsZero() {
		v.Answer = client.ProbeAnswer{
			At: instant(state.Answered), Date: text(state.Period), Status: text(state.Status), Reason: text(state.Reason),
			ExpiresAt: instant(state.ExpiresAt), Milliseconds: new(state.Took.Milliseconds()),
		}
	}
	return v
}

func kindOf(p pipeline.Probe) string {
	switch {
	case p.Builtin != "":
		return "builtin"
	case p.URL != "":
		return "url"
	}
	return "command"
}

func probeState(s prober.Standing) string {
	switch {
	case s.State.Open():
		return "open"
	case s.State.Failures > 0:
		return "failing"
	case s.State.Answered.IsZero():
		return "new"
	}
	return "ok"
}
