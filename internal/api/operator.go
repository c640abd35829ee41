package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Operator carries out what people ask for: package router does. A wish that is not granted is a *router.Refusal.
type Operator interface {
	Trigger(ctx context.Context, q router.TriggerRequest, now time.Time) (run.Run, error)
	Rerun(ctx context.Context, q router.RerunRequest, now time.Time) (store.Rerun, error)
	Cancel(ctx context.Context, key run.Key, by, why string, now time.Time) (run.Run, error)
	Report(ctx context.Context, o run.Outcome, now time.Time) (router.Reported, error)
	Pause(ctx context.Context, id pipeline.ID, p store.Pause, now time.Time) (store.Pause, error)
	PauseAll(ctx context.Context, p store.Pause, now time.Time) ([]pipeline.ID, error)
	Resume(ctx context.Context, id pipeline.ID, by, why string, now time.Time) error
	ResumeAll(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error)
	Backfill(ctx context.Context, q router.BackfillRequest, now time.Time) ([]router.Backfilled, error)
}

// noReason stands where nobody gave one.
const noReason = "no reason given"

// Asked is who asks for something, and why.
type Asked struct {
	Reason      string `json:"reason,omitempty" maxLength:"1000" doc:"Why."`
	RequestedBy string `json:"requestedBy,omitempty" maxLength:"200" doc:"Who asks, recorded beside the name of the token."`
}

// by is who is recorded: somebody always is.
func (q *Asked) by(ctx context.Context) string {
	said := ""
	if q != nil {
		said = q.RequestedBy
	}
	if by := whoOf(ctx).by(said); by != "" {
		return by
	}
	return "local"
}

func (q *Asked) why() string {
	if q == nil || q.Reason == "" {
		return noReason
	}
	return q.Reason
}

// Once lets a client send a request twice without asking twice.
type Once struct {
	Key string `header:"Idempotency-Key" maxLength:"100" doc:"The same key makes a repeated request the same request."`
}

func (in Once) id() string {
	if in.Key != "" {
		return in.Key
	}
	return rand.Text()
}

func (a *API) operatorRoutes(h huma.API) {
	trigger := post("/runs", "trigger", "Runs", "Open the run of a period")
	trigger.status = http.StatusCreated
	register(h, trigger, a.trigger)
	rerun := post("/runs/{pipeline}/{schedule}/{date}/reruns", "rerun", "Runs", "Ask for another attempt")
	rerun.status = http.StatusCreated
	register(h, rerun, a.rerun)
	register(h, post("/runs/{pipeline}/{schedule}/{date}/cancel", "cancel", "Runs", "End an open run"), a.cancel)
	report := post("/runs/{pipeline}/{schedule}/{date}/job", "report", "Runs", "Report the result of a run's job, also with the attempt's own callback token")
	report.role = RoleNone // the handler asks: the job itself may
	register(h, report, a.report)
	register(h, post("/pipelines/{id}/pause", "pause", "Pipelines", "Stop a pipeline: readings are kept, nothing opens or starts"), a.pause)
	register(h, post("/pipelines/{id}/resume", "resume", "Pipelines", "End a pause"), a.resume)
	register(h, post("/pipelines/{id}/backfill", "backfill", "Pipelines", "Open the runs of all expected periods of a stretch of time"), a.backfill)
	register(h, post("/pause", "pause-all", "Pipelines", "Stop every pipeline"), a.pauseAll)
	register(h, post("/resume", "resume-all", "Pipelines", "End every pause"), a.resumeAll)
}

// TriggerRequest opens a run.
type TriggerRequest struct {
	Pipeline   string `json:"pipeline" doc:"The pipeline's id."`
	Date       string `json:"date,omitempty" doc:"The period; that of a fire now unless said."`
	Force      bool   `json:"force,omitempty" doc:"Also a period that the calendar excludes, and beyond the budget."`
	BypassGate bool   `json:"bypassGate,omitempty" doc:"Start whatever the gate says. Needs a reason."`
	Asked
}

// created is an answer that says where what was made lies.
type created[T any] struct {
	Location string `header:"Location" doc:"Where the run lies."`
	Body     T
}

func (a *API) trigger(ctx context.Context, in *struct {
	Once
	Body TriggerRequest
},
) (*created[Run], error) {
	q := in.Body
	id := pipeline.ID(q.Pipeline)
	if p := whoOf(ctx).may(RoleOperator, id); p != nil {
		return nil, p
	}
	if _, p := a.entry(id); p != nil {
		return nil, p
	}
	date, p := parsePeriod("body.date", q.Date)
	if p != nil {
		return nil, p
	}
	r, err := a.operator.Trigger(ctx, router.TriggerRequest{
		ID: in.id(), Pipeline: id, Period: date, By: q.by(ctx), Reason: q.Reason, Force: q.Force, BypassGate: q.BypassGate,
	}, a.now())
	if err != nil {
		return nil, fmt.Errorf("trigger %s: %w", id, err)
	}
	return &created[Run]{Location: runPath(r.Key), Body: runView(r)}, nil
}

// RerunRequest asks for another attempt. What the path says need not be said again.
type RerunRequest struct {
	Pipeline   string `json:"pipeline,omitempty" doc:"As in the path."`
	Schedule   string `json:"schedule,omitempty" doc:"As in the path."`
	Date       string `json:"date,omitempty" doc:"As in the path."`
	Force      bool   `json:"force,omitempty" doc:"Skip circuit breaker, budget, calendar and a job that still runs; open a run that is not there."`
	BypassGate bool   `json:"bypassGate,omitempty" doc:"Start whatever the gate says."`
	Asked
}

func (a *API) rerun(ctx context.Context, in *struct {
	Once
	OfRun
	Body RerunRequest
},
) (*created[Rerun], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	q := in.Body
	if said, p := q.key(key); p != nil || said != key {
		return nil, badRequest("the body speaks of run %s, the path of %s", said, key)
	}
	if q.Reason == "" {
		return nil, badRequest("a rerun needs a reason").at("body.reason", "missing")
	}
	answer, err := a.operator.Rerun(ctx, router.RerunRequest{
		ID: in.id(), Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period,
		By: q.by(ctx), Reason: q.Reason, Force: q.Force, BypassGate: q.BypassGate,
	}, a.now())
	if err != nil {
		return nil, fmt.Errorf("rerun %s: %w", key, err)
	}
	if !answer.Accepted {
		return nil, problem(http.StatusConflict, refused, "%s", answer.Why)
	}
	return &created[Rerun]{Location: runPath(key), Body: rerunView(answer)}, nil
}

// key is the run that the body speaks of, which is the path's where it does not say.
func (q RerunRequest) key(path run.Key) (run.Key, *Problem) {
	or := func(said, unsaid string) string {
		if said != "" {
			return said
		}
		return unsaid
	}
	return parseKey(or(q.Pipeline, string(path.Pipeline)), or(q.Schedule, string(path.Schedule)), or(q.Date, path.Period.String()))
}

func (a *API) cancel(ctx context.Context, in *struct {
	OfRun
	Body *Asked
},
) (*output[Run], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	r, err := a.operator.Cancel(ctx, key, in.Body.by(ctx), in.Body.why(), a.now())
	if err != nil {
		return nil, fmt.Errorf("cancel %s: %w", key, err)
	}
	return answer(runView(r)), nil
}

// PauseRequest stops a pipeline.
type PauseRequest struct {
	Until   string `json:"until,omitempty" doc:"When it ends by itself: RFC 3339, or for how long, such as 2h."`
	HoldSLA bool   `json:"holdSla,omitempty" doc:"Cancel its deadlines meanwhile."`
	Asked
}

// pause is the pause that is asked for.
func (a *API) pauseOf(ctx context.Context, q *PauseRequest) (store.Pause, *Problem) {
	if q == nil {
		q = &PauseRequest{}
	}
	p := store.Pause{By: q.by(ctx), Why: q.why(), HoldSLA: q.HoldSLA}
	if q.Until == "" {
		return p, nil
	}
	if at, err := time.Parse(time.RFC3339, q.Until); err == nil {
		p.Until = at.UTC()
		return p, nil
	}
	d, err := document.ParseDuration(q.Until)
	if err != nil || d <= 0 {
		return p, badRequest("until %.60q is neither an instant nor a duration; write 2026-03-03T10:00:00Z or 2h", q.Until).at("body.until", "not understood")
	}
	p.Until = a.now().Add(d).UTC()
	return p, nil
}

func (a *API) pause(ctx context.Context, in *struct {
	OfPipeline
	Body *PauseRequest
},
) (*output[Pause], error) {
	e, p := a.entry(pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	q, p := a.pauseOf(ctx, in.Body)
	if p != nil {
		return nil, p
	}
	done, err := a.operator.Pause(ctx, e.ID, q, a.now())
	if err != nil {
		return nil, fmt.Errorf("pause %s: %w", e.ID, err)
	}
	return answer(pauseView(done)), nil
}

func (a *API) resume(ctx context.Context, in *struct {
	OfPipeline
	Body *Asked
},
) (*output[Pause], error) {
	e, p := a.entry(pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	if err := a.operator.Resume(ctx, e.ID, in.Body.by(ctx), in.Body.why(), a.now()); err != nil {
		return nil, fmt.Errorf("resume %s: %w", e.ID, err)
	}
	return answer(pauseView(store.Pause{})), nil
}

func (a *API) pauseAll(ctx context.Context, in *struct{ Body *PauseRequest }) (*output[List[string]], error) {
	q, p := a.pauseOf(ctx, in.Body)
	if p != nil {
		return nil, p
	}
	if p := forAll(ctx); p != nil {
		return nil, p
	}
	ids, err := a.operator.PauseAll(ctx, q, a.now())
	if err != nil {
		return nil, fmt.Errorf("pause all pipelines: %w", err)
	}
	return answer(names(ids)), nil
}

func (a *API) resumeAll(ctx context.Context, in *struct{ Body *Asked }) (*output[List[string]], error) {
	if p := forAll(ctx); p != nil {
		return nil, p
	}
	ids, err := a.operator.ResumeAll(ctx, in.Body.by(ctx), in.Body.why(), a.now())
	if err != nil {
		return nil, fmt.Errorf("resume all pipelines: %w", err)
	}
	return answer(names(ids)), nil
}

// forAll refuses those who are limited to some pipelines.
func forAll(ctx context.Context) *Problem {
	if whoOf(ctx).unlimited() {
		return nil
	}
	return problem(http.StatusForbidden, plainKind, "the token is limited to some pipelines")
}

func names(ids []pipeline.ID) List[string] {
	return List[string]{Items: views(ids, func(id pipeline.ID) string { return string(id) })}
}

// BackfillRequest runs all periods of a stretch of time.
type BackfillRequest struct {
	From        string `json:"from" doc:"The first period."`
	To          string `json:"to" doc:"The last period, included."`
	OnlyMissing bool   `json:"onlyMissing,omitempty" doc:"Leave runs alone that are there, whatever became of them."`
	DryRun      bool   `json:"dryRun,omitempty" doc:"Only say what would be done."`
	Asked
}

// Backfilled is what became, or would become, of one period.
type Backfilled struct {
	Date   string  `json:"date"`
	Action string  `json:"action" enum:"open,rerun,skip"`
	Reason *string `json:"reason" doc:"Why it is left alone."`
}

func (a *API) backfill(ctx context.Context, in *struct {
	Once
	OfPipeline
	Body BackfillRequest
},
) (*output[List[Backfilled]], error) {
	e, p := a.entry(pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	q := router.BackfillRequest{
		ID: in.id(), Pipeline: e.ID, By: in.Body.by(ctx), Reason: in.Body.why(), OnlyMissing: in.Body.OnlyMissing, DryRun: in.Body.DryRun,
	}
	if q.From, p = parsePeriod("body.from", in.Body.From); p != nil {
		return nil, p
	}
	if q.To, p = parsePeriod("body.to", in.Body.To); p != nil {
		return nil, p
	}
	done, err := a.operator.Backfill(ctx, q, a.now())
	if err != nil {
		return nil, fmt.Errorf("backfill %s: %w", e.ID, err)
	}
	return answer(List[Backfilled]{Items: views(done, func(b router.Backfilled) Backfilled {
		return Backfilled{Date: b.Period.String(), Action: string(b.Action), Reason: text(b.Reason)}
	})}), nil
}
