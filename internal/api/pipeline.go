package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/store"
)

// Pipeline is a pipeline and how it stands.
type Pipeline struct {
	ID          string            `json:"id"`
	State       string            `json:"state" enum:"ok,paused,degraded,rejected,removed" doc:"degraded: its newest file has problems or cannot be read, and an older version is active; rejected: no version was ever active."`
	Owner       string            `json:"owner"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags"`
	File        *string           `json:"file" doc:"The path of the active version's file."`
	Version     *string           `json:"version" doc:"The active version."`
	Problems    []string          `json:"problems" doc:"Why its newest file is not active or cannot be read; empty if it is active."`
	Schedule    *string           `json:"schedule" enum:"cron,stream,manual" doc:"What opens its runs."`
	Period      *string           `json:"period" enum:"month,week,day,hour,minute" doc:"The slice of data that a run is for."`
	Timezone    *string           `json:"timezone"`
	After       []string          `json:"after" doc:"Its upstream pipelines."`
	JobType     *string           `json:"jobType" doc:"null if the pipeline has no job."`
	DryRun      bool              `json:"dryRun"`
	MaxActive   int               `json:"maxActive" doc:"Open jobs at once; 0 is no limit."`
	Pause       Pause             `json:"pause" doc:"Its own pause."`
	PauseAll    Pause             `json:"pauseAll" doc:"The pause of all pipelines, if it covers this one. The pipeline is paused while either is in effect."`
	Horizon     *time.Time        `json:"horizon" doc:"Its first acceptance: nothing before it is opened or missed."`
	AcceptedAt  *time.Time        `json:"acceptedAt" doc:"When the active version was accepted."`
	RemovedAt   *time.Time        `json:"removedAt"`
	OpenRuns    int               `json:"openRuns" doc:"How many of its runs have not ended."`
	LastRun     Maybe[Run]        `json:"lastRun" doc:"The run of its latest period; null if there is none."`
	Attention   []Attention       `json:"attention" doc:"What needs a person, most pressing first; empty if nothing does."`
	Next        NextFire          `json:"next" doc:"What opens next automatically; all null while a pause without an end is in effect."`
	Current     Maybe[Current]    `json:"current" doc:"The period whose gate says most now; null if the pipeline is not active."`
	Probes      []Probe           `json:"probes" doc:"Its probes, in the order of its file."`
}

// Pause is an operator's stop of a pipeline, or of all.
type Pause struct {
	Paused  bool       `json:"paused"`
	By      *string    `json:"by"`
	Why     *string    `json:"why"`
	Since   *time.Time `json:"since"`
	Until   *time.Time `json:"until" doc:"When it ends automatically; null if never."`
	HoldSLA bool       `json:"holdSla" doc:"Deadlines are cancelled meanwhile."`
}

// NextFire is the next period that a schedule opens by itself. All is null where a sensor, an upstream or an operator
// opens them.
type NextFire struct {
	Date     *string    `json:"date"`
	FireAt   *time.Time `json:"fireAt"`
	WarnAt   *time.Time `json:"warnAt" doc:"When its deadline warns."`
	BreachAt *time.Time `json:"breachAt" doc:"Its deadline."`
}

// Version is one accepted version of a pipeline's file.
type Version struct {
	Version string    `json:"version"`
	At      time.Time `json:"at" doc:"When it was accepted."`
	File    string    `json:"file" doc:"Where it was read."`
	InForce bool      `json:"inForce"`
}

// VersionText is a version with its text.
type VersionText struct {
	Version
	Text       string       `json:"text" doc:"The file as it was read."`
	Calendars  []SourceText `json:"calendars" doc:"The calendars it was read with."`
	Archetypes []SourceText `json:"archetypes" doc:"The archetypes it was read with."`
}

// SourceText is a file that belongs to a version.
type SourceText struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// OfPipeline is the path of a pipeline.
type OfPipeline struct {
	ID string `path:"id" doc:"The pipeline's id."`
}

func (a *API) pipelineRoutes(h huma.API) {
	register(h, get("/pipelines", "list-pipelines", "Pipelines", "All pipelines with their states, by id"), a.listPipelines)
	register(h, get("/attention", "list-attention", "Pipelines", "What needs a person now, most pressing first"), a.listAttention)
	register(h, get("/pipelines/{id}", "get-pipeline", "Pipelines", "A pipeline and its state"), a.getPipeline)
	register(h, get("/pipelines/{id}/versions", "list-versions", "Pipelines", "The accepted versions of a pipeline's file, newest first"), a.listVersions)
	text := get("/pipelines/{id}/versions/{version}", "get-version", "Pipelines", "One version of a pipeline's file, with its text")
	text.role = RoleOperator // a file may hold what not every viewer should read
	register(h, text, a.getVersion)
	register(h, get("/pipelines/{id}/graph", "get-graph", "Pipelines", "The upstream and downstream pipelines of a pipeline, and what blocks each"), a.getGraph)
	register(h, get("/pipelines/{id}/gate/history", "gate-history", "Pipelines", "The last writes of the sensors that a gate reads, rule by rule"), a.ruleHistory)
	register(h, get("/files", "list-files", "Files", "The files that the server reads, by name, with their problems"), a.listFiles)
	gate := get("/pipelines/{id}/gate", "get-gate", "Pipelines", "Whether a run may start: the gate's verdict, rule by rule")
	gate.patient = true
	register(h, gate, a.getGate)
	register(h, get("/pipelines/{id}/explain", "explain", "Pipelines", "Why a run is waiting, how it went, or why there is none"), a.explain)
}

func (a *API) listPipelines(ctx context.Context, in *struct {
	Paging
	Removed bool `query:"removed" doc:"Removed pipelines too."`
},
) (*output[List[Pipeline]], error) {
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
	out := List[Pipeline]{Items: []Pipeline{}}
	for _, row := range rows {
		if row.ID == store.AllPipelines || row.ID <= after || !who.sees(row.ID) || !row.RemovedAt.IsZero() && row.Config == "" && !in.Removed {
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

func (a *API) getPipeline(ctx context.Context, in *OfPipeline) (*output[Pipeline], error) {
	row, err := a.row(ctx, pipeline.ID(in.ID))
	if err != nil {
		return nil, err
	}
	needs, err := a.attentions(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	view, err := a.pipelineView(ctx, row, needs)
	if err != nil {
		return nil, err
	}
	return answer(view), nil
}

// row is a pipeline's own row; a Problem if there never was such a pipeline.
func (a *API) row(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	row, err := a.store.Pipeline(ctx, id)
	if errors.Is(err, store.ErrNotFound) || id == store.AllPipelines {
		return row, noPipeline(id)
	}
	if err != nil {
		return row, fmt.Errorf("read pipeline %s: %w", id, err)
	}
	return row, nil
}

func (a *API) pipelineView(ctx context.Context, row store.Pipeline, needs attentions) (Pipeline, error) {
	e := a.catalog.Current().Get(row.ID)
	v := Pipeline{
		ID: string(row.ID), State: a.stateOf(row), Version: text(row.Config), Problems: a.problemsOf(row),
		Pause: pauseView(row.Pause), PauseAll: pauseView(row.PauseAll),
		Horizon: instant(row.Horizon), AcceptedAt: instant(row.AcceptedAt), RemovedAt: instant(row.RemovedAt),
		Tags: map[string]string{}, After: []string{}, Probes: []Probe{}, Attention: needs.of(row.ID),
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
		v.LastRun = some(a.runView(latest.Items[0]))
	}
	return v, nil
}

// describePipeline fills in what the definition in force says.
func (a *API) describePipeline(v *Pipeline, e *catalog.Entry, row store.Pipeline) {
	v.Owner, v.Description, v.File = e.Owner, e.Description, text(e.File)
	v.Schedule, v.Period, v.Timezone = text(e.Opens), text(e.Schedule.Size().String()), text(e.Schedule.Zone().String())
	v.DryRun, v.MaxActive = e.DryRun, e.MaxActive
	if e.Tags != nil {
		v.Tags = e.Tags
	}
	for _, id := range e.After {
		v.After = append(v.After, string(id))
	}
	if e.Job != nil {
		v.JobType = text(e.Job.Type)
	}
	if e.Opens != pipeline.ByCron {
		return
	}
	v.Next = nextFire(e, row, a.now())
}

// problemsOf is why a pipeline's file does not count; empty where it does.
func (a *API) problemsOf(row store.Pipeline) []string {
	problems := append([]string{}, row.Problems()...)
	if t, in := a.catalog.TroubleOf(row.ID); in && row.Config != "" {
		problems = append(problems, t.Message)
	}
	return problems
}

func (a *API) stateOf(row store.Pipeline) string {
	switch {
	case row.Config == "" && !row.RemovedAt.IsZero():
		return "removed"
	case row.Config == "":
		return "rejected"
	case row.Paused():
		return "paused"
	case len(a.problemsOf(row)) > 0:
		return "degraded"
	}
	return "ok"
}

func pauseView(p store.Pause) Pause {
	if !p.Active() {
		return Pause{}
	}
	return Pause{
		Paused: true, By: text(p.By), Why: text(p.Why), Since: instant(p.Since), Until: instant(p.Until), HoldSLA: p.HoldSLA,
	}
}

func (a *API) listVersions(ctx context.Context, in *struct {
	OfPipeline
	Paging
},
) (*output[List[Version]], error) {
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

func versionView(row store.Pipeline) func(store.Config) Version {
	return func(c store.Config) Version {
		return Version{Version: c.Version, At: c.At.UTC(), File: c.File.File, InForce: c.Version == row.Config}
	}
}

func (a *API) getVersion(ctx context.Context, in *struct {
	OfPipeline
	Version string `path:"version"`
},
) (*output[VersionText], error) {
	row, err := a.row(ctx, pipeline.ID(in.ID))
	if err != nil {
		return nil, err
	}
	c, err := a.store.Config(ctx, row.ID, in.Version)
	if err != nil {
		return nil, fmt.Errorf("read version %.80q of %s: %w", in.Version, row.ID, err)
	}
	return answer(VersionText{
		Version: versionView(row)(c), Text: string(c.File.Data), Calendars: texts(c.Calendars), Archetypes: texts(c.Archetypes),
	}), nil
}

func texts(sources []pipeline.Source) []SourceText {
	out := make([]SourceText, len(sources))
	for i, s := range sources {
		out[i] = SourceText{File: s.File, Text: string(s.Data)}
	}
	return out
}
