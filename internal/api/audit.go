package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/pipeline"
)

type auditInput struct {
	Paging
	Actor    string `query:"actor" doc:"Only entries of this token, certificate, user or person."`
	Action   string `query:"action" doc:"Only entries of this operation, such as trigger or login."`
	Pipeline string `query:"pipeline" doc:"Only entries about this pipeline."`
	Outcome  string `query:"outcome" enum:"done,refused,failed" doc:"Only entries with this outcome."`
	Since    string `query:"since" doc:"Only entries at or after this time: RFC 3339, a period, or a duration ago such as 2h."`
	Until    string `query:"until" doc:"Only entries before this time: RFC 3339, a period, or a duration ago such as 2h."`
}

func (a *API) auditRoutes(h huma.API) {
	rt := get("/audit", "list-audit", "Audit", "List the audit record: operators' actions, logins, changed files and tokens; newest first")
	rt.role = RoleAdmin
	register(h, rt, a.listAudit)
}

func (a *API) listAudit(ctx context.Context, in *auditInput) (*output[List[client.AuditEntry]], error) {
	if a.auditor.log == nil {
		return nil, problem(http.StatusNotFound, plainKind, "this server has no audit record")
	}
	id, p1 := parseID(whoOf(ctx), in.Pipeline)
	since, p2 := parseInstant("query.since", in.Since, a.now())
	until, p3 := parseInstant("query.until", in.Until, a.now())
	if p := cmp.Or(p1, p2, p3); p != nil {
		return nil, p
	}
	cursor, err := a.cursors.open("audit", in.Cursor)
	if err != nil {
		return nil, err
	}
	page, err := a.auditor.log.List(ctx, audit.Query{
		Actor: in.Actor, Action: in.Action, Outcome: audit.Outcome(in.Outcome), Pipeline: id, Since: since, Until: until, Limit: in.Limit, Cursor: cursor,
	})
	if err != nil {
		return nil, err
	}
	page.Next = a.cursors.seal("audit", page.Next)
	return answer(list(page, everything, auditView)), nil
}

func auditView(e audit.Entry) client.AuditEntry {
	v := client.AuditEntry{
		ID: e.ID, At: e.At.UTC(), Actor: e.Actor, Role: text(e.Role), RequestedBy: text(e.RequestedBy), Remote: text(e.Remote), RequestID: text(e.Request),
		Action: e.Action, Pipeline: text(e.Pipeline), Subject: text(e.Subject), Reason: text(e.Reason), Parameters: e.Parameters,
		Outcome: text(e.Outcome), Error: text(e.Error),
	}
	if v.Parameters == nil {
		v.Parameters = map[string]any{}
	}
	if ch := e.Change; ch != nil {
		v.Change = &client.ConfigChange{
			Kind: ch.Kind, File: ch.File, Was: text(ch.Was), Before: text(ch.Before), After: text(ch.After),
			Owner: text(ch.Owner), Commit: text(ch.Commit), Diff: append([]string{}, ch.Diff...),
		}
	}
	return v
}

// auditor records the requests of clients.
type auditor struct {
	log      *audit.Log // nil: no audit record
	unknown  allowance  // for entries about unknown tokens: anyone can send one
	rejected allowances // for entries about rejected requests of known clients
}

// audits reports whether requests of a route are recorded: those that change something, except
// readings, which have their own history.
func (rt route) audits() bool {
	return rt.method != http.MethodGet && rt.role >= RoleOperator || rt.recorded
}

// recording wraps the handler of a route so that its requests are recorded. If the entry cannot be
// stored, the action does not happen: the store would not accept the action either.
func recording[I, O any](rt route, handle func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		c := callOf(ctx)
		a := c.api
		if a.auditor.log == nil || c.who.callback != "" { // a job's own report is in the job log
			return handle(ctx, in)
		}
		e := c.entry(rt.name)
		describeRequest(&e, c.request, in)
		begun, err := a.auditor.log.Begin(ctx, e, a.now())
		if err != nil {
			return nil, err
		}
		out, err := handle(ctx, in)
		begun.Outcome, begun.Error = outcomeOf(err)
		a.finishAudit(ctx, c.who, begun)
		return out, err
	}
}

// finishAudit completes an entry, even after the client has disconnected. If the client has too
// many rejected requests, it withdraws the entry of another one.
func (a *API) finishAudit(ctx context.Context, who principal, e audit.Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditLimit)
	defer cancel()
	end := a.auditor.log.End
	if e.Outcome == audit.Refused {
		skipped, ok := a.auditor.rejected.of(who.name).take(a.now())
		if !ok {
			end = a.auditor.log.Withdraw
		}
		e.Skipped(skipped)
	}
	if err := end(ctx, e, a.now()); err != nil {
		// The entry stays without an outcome. The action has happened, and the client needs its
		// response.
		a.logger.Error("cannot complete an audit entry", "entry", e.ID, "action", e.Action, "outcome", string(e.Outcome), "error", err)
	}
}

// auditLimit is how long the store may take to complete an entry.
const auditLimit = 10 * time.Second

// outcomeOf returns the outcome and detail that the record shows for a handler's error.
func outcomeOf(err error) (audit.Outcome, string) {
	if err == nil {
		return audit.Done, ""
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		return audit.Failed, p.Detail
	}
	return audit.Refused, p.Detail
}

// recordRefusal records a request that was rejected before its handler ran, as long as the
// allowance lasts.
func (a *API) recordRefusal(c *call, action string, from *allowance, why *Problem) {
	if a.auditor.log == nil {
		return
	}
	skipped, ok := from.take(a.now())
	if !ok {
		return
	}
	e := c.entry(action)
	describeRequest(&e, c.request, struct{}{})
	e.Outcome, e.Error = audit.Refused, why.Detail
	e.Skipped(skipped)
	if err := a.auditor.log.Add(c, e, a.now()); err != nil {
		a.logger.Error("cannot store an audit entry", "action", action, "outcome", string(e.Outcome), "error", err)
	}
}

// entry starts an entry about the request.
func (c *call) entry(action string) audit.Entry {
	e := audit.Entry{Actor: c.who.name, Action: action, Request: c.id}
	switch {
	case c.who.role == RoleNone:
		e.Actor = "unknown"
	case e.Actor == "":
		e.Actor = "local"
	}
	if c.who.role != RoleNone {
		e.Role = c.who.role.String()
	}
	if at := c.address(); at.IsValid() {
		e.Remote = at.String()
	}
	return e
}

// recordedFields are the body fields that are recorded as parameters. All of them hold Interlock's
// own words and numbers; free text other than the reason, and anything that might hold a secret, is
// left out.
var recordedFields = []string{
	"date", "schedule", "from", "to", "force", "bypassGate", "onlyMissing", "dryRun", "until", "holdSla", "type", "result", "attempt", "category",
	"exitCode", "route", "sink", "ids", "all",
}

// describeRequest fills in the request's parameters: from its path and its body, or its query if
// there is no body.
func describeRequest(e *audit.Entry, r *http.Request, in any) {
	body := bodyOf(in)
	said := func(name string) string {
		if text, ok := body[name].(string); ok {
			return text
		}
		return r.URL.Query().Get(name)
	}
	e.Reason, e.RequestedBy = excerpt.Head(said("reason"), maxAudited), excerpt.Head(said("requestedBy"), maxAudited)
	e.Pipeline = pipeline.ID(excerpt.Head(r.PathValue("pipeline")+r.PathValue("id"), maxAudited))
	if e.Pipeline == "" {
		e.Pipeline = pipeline.ID(excerpt.Head(said("pipeline"), maxAudited))
	}
	switch {
	case r.PathValue("date") != "":
		e.Subject = excerpt.Head(string(e.Pipeline)+"/"+r.PathValue("schedule")+"/"+r.PathValue("date"), maxAudited)
	case r.PathValue("silence") != "":
		e.Subject = excerpt.Head("silence "+r.PathValue("silence"), maxAudited)
	}
	for name, value := range body {
		if !slices.Contains(recordedFields, name) || value == nil {
			continue
		}
		if e.Parameters == nil {
			e.Parameters = map[string]any{}
		}
		switch v := value.(type) {
		case string:
			value = excerpt.Head(v, maxAudited)
		case []any:
			if len(v) > maxItems {
				e.Parameters[name+"Count"] = len(v)
				value = v[:maxItems]
			}
		}
		e.Parameters[name] = value
	}
}

// maxAudited bounds text of an unchecked request in an entry, in bytes.
const maxAudited = 1000

// maxItems is how many items of a list an entry names.
const maxItems = 50

// bodyOf returns the body that huma read into a handler's input; nil if there is none.
func bodyOf(in any) map[string]any {
	v := reflect.Indirect(reflect.ValueOf(in))
	if v.Kind() != reflect.Struct {
		return nil
	}
	field := v.FieldByName("Body")
	if !field.IsValid() {
		return nil
	}
	data, err := json.Marshal(field.Interface())
	var body map[string]any
	if err != nil || json.Unmarshal(data, &body) != nil {
		return nil
	}
	return body
}
