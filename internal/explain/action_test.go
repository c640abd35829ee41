package explain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// offers compares "kind", or "push PIPELINE/KEY#PERIOD DATA", of each action.
func (w *world) offers(x explain.Explanation, want ...string) {
	w.Helper()
	got := []string{}
	for _, a := range x.Actions {
		text := string(a.Kind)
		if a.Kind == explain.ActPush {
			data, err := json.Marshal(a.Fields)
			w.Check(err)
			text = fmt.Sprintf("push %s/%s#%s %s", a.Pipeline, a.Key, a.Period, data)
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		w.Errorf("(-want +got):\n%s%s", diff, x.Text())
	}
}

// effect returns what an action does and skips.
func effect(x explain.Explanation, kind explain.ActionKind) string {
	for _, a := range x.Actions {
		if a.Kind == kind {
			return a.Effect.String() + " " + strings.Join(a.Skips, "; ")
		}
	}
	return "not offered"
}

func (w *world) trigger(id, date string) {
	w.Helper()
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: id + date, Pipeline: w.Key(id + "/manual/" + date).Pipeline, Period: w.Period(date), By: "ada"}, w.Now())
	w.Check(err)
	w.Settle()
}

func TestPushIsOfferedOnlyWhereItSatisfiesTheRule(t *testing.T) {
	for _, c := range []struct {
		name, rules, wrote string // wrote: "key field=value"
		want               []string
	}{
		{"a value", "{key: rows, check: gte, field: count, value: 1000}", "", []string{`push p/rows#2026-03-03 {"count":1000}`, "start", "cancel"}},
		{"more than a value", "{key: rows, check: gt, field: load.count, value: 5}", "", []string{`push p/rows#2026-03-03 {"load.count":6}`, "start", "cancel"}},
		{"two rules on one sensor", "{key: rows, check: gte, field: count, value: 9}, {key: rows, check: equals, field: ok, value: true}", "", []string{`push p/rows#2026-03-03 {"count":9,"ok":true}`, "start", "cancel"}},
		{"what another rule holds on", "{key: rows, check: gte, field: count, value: 9}, {key: rows, check: equals, field: state, value: done}", "rows state=done", []string{`push p/rows#2026-03-03 {"count":9,"state":"done"}`, "start", "cancel"}},
		{"a pattern", "{key: rows, check: matches, field: name, value: a.*}", "", []string{`push p/rows#2026-03-03 {"name":"a"}`, "start", "cancel"}},
		{"a group that needs one", "{any: [{key: a, check: exists}, {key: b, check: exists}]}", "", []string{`push p/a#2026-03-03 {"ready":true}`, "start", "cancel"}},
		{"a group that passes", "{any: [{key: a, check: exists}, {key: b, check: exists}]}, {key: c, check: exists}", "a on=true", []string{`push p/c#2026-03-03 {"ready":true}`, "start", "cancel"}},
		{"a veto that a reading may end", "{not: {key: freeze, check: equals, field: on, value: true}}", "freeze on=true", []string{`push p/freeze#2026-03-03 {"on":false}`, "cancel"}},
		{"a veto that no reading ends", "{not: {key: freeze, check: exists}}", "freeze on=true", []string{"cancel"}},
		{"a veto that is not known", "{not: {key: freeze, check: equals, field: on, value: true}}", "", []string{`push p/freeze#2026-03-03 {"on":false}`, "start", "cancel"}},
		{"an advisory rule", "{key: a, check: exists}, {key: b, check: exists, level: advisory}", "", []string{`push p/a#2026-03-03 {"ready":true}`, "start", "cancel"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "pipeline: {id: p, owner: data}\nvalidation: {rules: ["+c.rules+"]}\njob: {type: command, config: {command: [load]}}\n")
			if key, data, wrote := strings.Cut(c.wrote, " "); wrote {
				w.Write("p", key+"#2026-03-03", data)
			}
			w.trigger("p", "2026-03-03")
			w.offers(w.explain("p", "2026-03-03"), c.want...)
		})
	}
}

func TestWhatTheEngineOrAProbeWritesIsNotPushed(t *testing.T) {
	w := newWorld(t, "pipeline: {id: up, owner: data}\nschedule: {trigger: {key: go, check: exists}}\n", `
pipeline: {id: down, owner: data}
schedule: {after: [up]}
probes: [{key: quality, command: [check], ttl: 1h, timeout: 10s}]
validation: {rules: [{key: quality, check: equals, field: status, value: PASS}]}
job: {type: command, config: {command: [load]}}
`)
	w.offers(w.explain("down", "2026-03-03"), "trigger")
}

func TestActionsFollowTheStateOfTheRun(t *testing.T) {
	w := newWorld(t, "pipeline: {id: p, owner: data}\nvalidation: {rules: [{key: ready, check: exists}]}\njob: {type: command, config: {command: [load]}, maxCodeRetries: 0}\n")
	const key, push = "p/manual/2026-03-03", `push p/ready#2026-03-03 {"ready":true}`
	w.offers(w.explain("p", "2026-03-03"), push, "trigger")
	w.trigger("p", "2026-03-03")
	w.offers(w.explain("p", "2026-03-03"), push, "start", "cancel")
	_, err := w.Router.Pause(ctx, "p", store.Pause{By: "ann", Why: "migration"}, w.Now())
	w.Check(err)
	w.offers(w.explain("p", "2026-03-03"), "resume", push, "cancel")
	w.offers(w.explain("p", "2026-03-02"), "resume", `push p/ready#2026-03-02 {"ready":true}`)
	w.Check(w.Router.Resume(ctx, "p", "ann", "done", w.Now()))
	w.Write("p", "ready#2026-03-03", "status=ready")
	w.offers(w.explain("p", "2026-03-03"), "complete", "cancel")
	w.finish(key, run.Report{Result: run.ResultFail, Category: run.Permanent, Message: "no such table"})
	x := w.explain("p", "2026-03-03")
	w.offers(x, "rerun", "force")
	if got := effect(x, explain.ActRerun); got != "Opens attempt 2. The gate is evaluated again, then the job runs once more. This is manual rerun 1 of 1. " {
		t.Errorf("a rerun of a failed run: %s", got)
	}
	if got := effect(x, explain.ActForce); strings.Contains(got, "circuit breaker") || strings.Contains(got, "calendar") || !strings.Contains(got, "the budget of manual reruns, of which 0 of 1 are used") {
		t.Errorf("a forced rerun of a failed run: %s", got)
	}
	_, err = w.Router.Rerun(ctx, router.RerunRequest{ID: "1", Pipeline: "p", Period: w.Period("2026-03-03"), By: "ada", Reason: "again"}, w.Now())
	w.Check(err)
	w.Settle()
	w.finish(key, run.Report{Result: run.ResultFail, Category: run.Permanent, Message: "no such table"})
	w.offers(w.explain("p", "2026-03-03"), "force") // the budget is used up
	w.Apply(orders)                                 // instead of the other file
	w.offers(w.explain("p", "2026-03-03"))
}

func TestRerunOfARunThatDidNotStartSaysSo(t *testing.T) {
	w := newWorld(t, "pipeline: {id: p, owner: data}\nschedule: {evaluation: {window: 1h, interval: 5m}}\nvalidation: {rules: [{key: ready, check: exists}]}\njob: {type: command, config: {command: [load]}}\n")
	w.trigger("p", "2026-03-03")
	w.Pass(2 * time.Hour)
	x := w.explain("p", "2026-03-03")
	if got := effect(x, explain.ActRerun); !strings.Contains(got, "No job has run for this period. The gate is evaluated again in a new window.") || strings.Contains(got, "input has changed") {
		t.Errorf("a rerun: %s", got)
	}
	if got := effect(x, explain.ActForce); strings.Contains(got, "running job") || strings.Contains(got, "circuit breaker") {
		t.Errorf("a forced one: %s", got)
	}
}

func TestOutlookOfARunThatAPauseHolds(t *testing.T) {
	w := opened(t)
	w.pause("orders", 0)
	if got := w.explain("orders", "").Next().Outlook.String(); got != "It continues when the pipeline is resumed. Otherwise the run ends as VALIDATION_EXHAUSTED at 2026-03-04T11:00:00Z." {
		t.Errorf("%q", got)
	}
	if got := w.explain("orders", "2026-03-05").Next().Outlook.String(); got != "No run opens before the pipeline is resumed." {
		t.Errorf("%q", got)
	}
	w.Check(w.Router.Resume(ctx, "orders", "ann", "done", w.Now()))
	if got := w.explain("orders", "").Next().Outlook.String(); got != "" {
		t.Errorf("of a run that waits for data: %q", got)
	}
	w.pause("orders", time.Hour)
	if got := w.explain("orders", "").Next().Outlook.String(); got != "It continues when the pause ends, at 2026-03-04T09:10:00Z." {
		t.Errorf("%q", got)
	}
}
