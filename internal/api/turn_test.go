package api_test

import (
	"testing"
	"time"
)

func TestUnfinishedPeriodOfAStreamIsNotDue(t *testing.T) {
	w := newWorld(t)
	w.Apply("pipeline: {id: minutes, owner: data}\nschedule: {period: minute, trigger: {key: go, check: exists}}\n")
	got := w.get("/api/v1/pipelines/minutes/gate").object(200)
	if got["date"] != "2026-03-03T09:10" || got["due"] != false || got["dueAt"] != "2026-03-03T09:11:00Z" || got["startsAt"] != "2026-03-03T09:10:00Z" {
		t.Errorf("got %v", got)
	}
	if got := w.get("/api/v1/pipelines/minutes/gate?date=2026-03-03T09:09").object(200); got["due"] != true {
		t.Errorf("a period that is over: %v", got)
	}
}

func TestCurrentGateIsThatOfTheOpenRun(t *testing.T) {
	w := newWorld(t)
	w.Apply("pipeline: {id: nightly, owner: data}\nschedule: {cron: \"0 8 * * *\", offset: -1}\njob: {type: command, jobPollWindowSeconds: 86400, config: {command: [load]}}\n")
	current := func() any {
		return at(w.get("/api/v1/pipelines/nightly").object(200), "current")
	}
	if got := current(); at(got, "date") != "2026-03-02" || at(got, "openRun") != false {
		t.Errorf("without a run: %v", got)
	}
	w.Pass(23 * time.Hour)
	w.Pass(20 * time.Hour) // another day has begun, and yesterday's run is open
	if got := current(); at(got, "date") != "2026-03-03" || at(got, "openRun") != true || at(got, "due") != true {
		t.Errorf("with an open run: %v", got)
	}
}

func TestPausedPipelineHasNoNextFireBeforeItsEnd(t *testing.T) {
	w := newWorld(t)
	next := func() any { return at(w.get("/api/v1/pipelines/orders").object(200), "next", "fireAt") }
	w.post("/api/v1/pipelines/orders/pause", `{"reason":"migration","until":"2026-03-06T00:00:00Z"}`).object(200)
	if got := next(); got != "2026-03-06T08:00:00Z" {
		t.Errorf("paused until Friday, it opens next at %v", got)
	}
	w.post("/api/v1/pipelines/orders/resume", `{}`).object(200)
	w.post("/api/v1/pipelines/orders/pause", `{"reason":"migration"}`).object(200)
	if got := next(); got != nil {
		t.Errorf("paused without an end, it opens next at %v", got)
	}
}

func TestDryRunHasNoResult(t *testing.T) {
	w := newWorld(t)
	w.Apply("pipeline: {id: dry, owner: data}\nschedule: {trigger: {key: go, check: exists}}\njob: {type: command, config: {command: [load]}}\ndryRun: true\n")
	w.Write("dry", "go#2026-03-03", "on=true")
	got := w.get("/api/v1/pipelines/dry/explain?date=2026-03-03").object(200)
	if at(got, "run", "phase") != "would-start" || at(got, "run", "result") != nil || at(got, "why", "code") != "would-start" || at(got, "run", "dryRun") != true {
		t.Errorf("got %v", got)
	}
}

func TestRunShowsItsCauseInOneLine(t *testing.T) {
	w := running(t)
	for range 2 {
		w.post(wednesday+"/job", `{"result":"fail","category":"PERMANENT","message":"no such table"}`).object(200)
		w.Settle()
		w.Pass(time.Minute)
	}
	got := w.get(wednesday).object(200)
	if at(got, "why", "code") != "failed" || at(got, "why", "text") != "failed after 2 attempts: no such table (maxCodeRetries: 1 used up)" {
		t.Errorf("got %v", at(got, "why"))
	}
}
