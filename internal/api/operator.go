package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Operator carries out operators' requests; package router implements it. A rejected request is a
// *router.Refusal.
type Operator interface {
	Trigger(ctx context.Context, q router.TriggerRequest, now time.Time) (run.Run, error)
	Rerun(ctx context.Context, q router.RerunRequest, now time.Time) (store.Rerun, error)
	Cancel(ctx context.Context, key run.Key, by, why string, now time.Time) (run.Run, error)
	Report(ctx context.Context, o run.Outcome, now time.Time) (router.Reported, error)
	Claim(ctx context.Context, q router.ClaimRequest, now time.Time) (run.Run, error)
	Heartbeat(ctx context.Context, key run.Key, attempt int, beat router.Heartbeat, now time.Time) (run.Run, error)
	Trace(ctx context.Context, key run.Key) (string, error)
	Pause(ctx context.Context, id pipeline.ID, p store.Pause, now time.Time) (store.Pause, error)
	PauseAll(ctx context.Context, p store.Pause, now time.Time) ([]pipeline.ID, error)
	Resume(ctx context.Context, id pipeline.ID, by, why string, now time.Time) error
	ResumeAll(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error)
	Backfill(ctx context.Context, q router.BackfillRequest, now time.Time) ([]router.Backfilled, error)

	// Answered and KeepAnswer read and store the responses to requests with an Idempotency-Key.
	Answered(ctx context.Context, key string, now time.Time) (router.Answer, bool, error)
	KeepAnswer(ctx context.Context, key string, a router.Answer, now time.Time) error
}

// noReason is recorded if the request gives no reason.
const noReason = "no reason given"

// askedBy returns the name to record; it is never empty.
func askedBy(ctx context.Context, q *client.Asked) string {
	said := ""
	if q != nil {
		said = q.RequestedBy
	}
	if by := whoOf(ctx).by(said); by != "" {
		return by
	}
	return "local"
}

func askedWhy(q *client.Asked) string {
	if q == nil || q.Reason == "" {
		return noReason
	}
	return q.Reason
}

func (a *API) operatorRoutes(h huma.API) {
	trigger := post("/runs", "trigger", "Runs", "Open the run of a period")
	trigger.status = http.StatusCreated
	trigger.role, trigger.recorded = RoleRunner, true // the handler checks what a runner may open
	trigger.small = maxRequest
	trigger.needs = needsRole(RoleRunner) + " Triggering a pipeline that has a schedule, force and bypassGate need the role operator."
	register(h, trigger, a.trigger)
	rerun := post("/runs/{pipeline}/{schedule}/{date}/reruns", "rerun", "Runs", "Request another attempt of a run")
	rerun.status = http.StatusCreated
	register(h, rerun, a.rerun)
	register(h, post("/runs/{pipeline}/{schedule}/{date}/cancel", "cancel", "Runs", "Cancel an open run"), a.cancel)
	report := post("/runs/{pipeline}/{schedule}/{date}/job", "report", "Runs", "Report the result of a run's job; the attempt's callback token is accepted too")
	report.role, report.recorded = RoleNone, true // the job itself may report, without a role
	report.small, report.ofJobs, report.proves = maxJobReport, true, (*API).provesReporter
	report.needs = needsRole(RoleRunner) + " Pipelines with a job need the role operator, or the attempt's own callback token or permit."
	register(h, report, a.report)
	register(h, post("/pipelines/{id}/pause", "pause", "Pipelines", "Pause a pipeline: readings are stored, nothing opens or starts").briefly(), a.pause)
	register(h, post("/pipelines/{id}/resume", "resume", "Pipelines", "End a pause").briefly(), a.resume)
	register(h, many("/pipelines/{id}/backfill", "backfill", "Open the runs of all expected periods in a range"), a.backfill)
	register(h, many("/pause", "pause-all", "Pause all pipelines, including those added later; needs a reason").briefly(), a.pauseAll)
	register(h, many("/resume", "resume-all", "End the pause of all pipelines").briefly(), a.resumeAll)
	purge := many("/pipelines/{id}/purge", "purge", "Delete what is stored about a removed pipeline, with its events; needs a reason")
	purge.role, purge.small = RoleAdmin, maxRequest
	register(h, purge, a.purge)
	accept := many("/config/accept-removal", "accept-removal", "Remove the pipelines whose files are missing")
	accept.tag = "Files"
	register(h, accept, a.acceptRemoval)
}

// many returns a route that acts on many periods or pipelines.
func many(path, name, summary string) route {
	return post(path, name, "Pipelines", summary).patiently()
}

func (a *API) cancel(ctx context.Context, in *struct {
	OfRun
	Body *client.Asked
},
) (*output[client.Run], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	r, err := a.operator.Cancel(ctx, key, askedBy(ctx, in.Body), askedWhy(in.Body), a.now())
	if err != nil {
		return nil, fmt.Errorf("cancel %s: %w", key, a.orNoRun(ctx, key, err))
	}
	return answer(a.runView(r)), nil
}

// mayOpen returns a Problem unless the client may open the run that q asks for. A runner may open
// only runs that no schedule opens, and may not skip safeguards; an operator may do both.
func (a *API) mayOpen(ctx context.Context, q client.TriggerRequest) *Problem {
	who, id := whoOf(ctx), pipeline.ID(q.Pipeline)
	if p := who.may(RoleRunner, id); p != nil || who.role.includes(RoleOperator) {
		return p
	}
	if q.Force || q.BypassGate {
		return problem(http.StatusForbidden, plainKind, "force and bypassGate need the role operator; the token has the role %s", who.role)
	}
	e, p := a.entry(ctx, id)
	if p != nil {
		return p
	}
	if e.Opens != pipeline.ByHand {
		return problem(http.StatusForbidden, plainKind,
			"the schedule of %s (%s) opens its runs; opening one by hand needs the role operator, and the token has the role %s", id, e.Opens, who.role)
	}
	return nil
}

// mayReport returns a Problem unless the client may report the result of a pipeline's job without
// the permit of a claim. A runner may if no job is configured: otherwise Interlock, or the worker
// that claimed it, knows the result.
func (a *API) mayReport(ctx context.Context, id pipeline.ID) *Problem {
	who := whoOf(ctx)
	if p := who.may(RoleRunner, id); p != nil || who.role.includes(RoleOperator) {
		return p
	}
	e, p := a.entry(ctx, id)
	if p != nil {
		return p
	}
	if e.Job != nil {
		return problem(http.StatusForbidden, plainKind,
			"a runner reports results of %s with the permit of its claim; reporting without a permit needs the role operator", id)
	}
	return nil
}
