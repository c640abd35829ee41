package api_test

import "testing"

const onDemand = `
pipeline: {id: on-demand, owner: data}
validation: {rules: [{key: source, check: exists}]}
`

const onCron = `
pipeline: {id: on-cron, owner: data}
schedule: {cron: "0 8 * * *"}
job: {type: command, config: {command: [load]}}
`

func TestRunnerOpensAndReportsOnDemandRuns(t *testing.T) {
	w := newWorld(t, withTokens)
	w.Apply(orders, silver, onDemand, onCron)
	w.Settle()
	w.token = runnerToken
	w.put("/api/v1/pipelines/on-demand/sensors/source", "{}").problem(403, "role sensor")
	w.get("/api/v1/pipelines/on-demand/gate").object(200)
	w.get("/api/v1/pipelines/orders/gate").problem(403, "limited")
	w.post("/api/v1/runs", `{"pipeline":"on-demand","date":"2026-03-03","bypassGate":true,"reason":"x"}`).problem(403, "role operator")
	w.post("/api/v1/runs", `{"pipeline":"on-cron","date":"2026-03-03"}`).problem(403, "schedule", "role operator")
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-03"}`).problem(403, "limited")
	w.post("/api/v1/runs", `{"pipeline":"on-nothing","date":"2026-03-03"}`).problem(404, "problem:unknown-pipeline")
	w.token = operatorToken
	w.put("/api/v1/pipelines/on-demand/sensors/source", "{}").object(200)
	w.token = runnerToken
	if got := w.post("/api/v1/runs", `{"pipeline":"on-demand","date":"2026-03-03"}`).object(201)["requestedBy"]; got != "cron" {
		t.Errorf("recorded %v", got)
	}
	w.Settle()
	run := "/api/v1/runs/on-demand/manual/2026-03-03"
	w.post(run+"/cancel", `{}`).problem(403, "role operator")
	w.post(run+"/job", `{"result":"success"}`).object(200)
	w.Settle()
	if got := w.get(run).object(200)["status"]; got != "COMPLETED" {
		t.Errorf("status is %v", got)
	}
	w.post(run+"/reruns", `{"reason":"again"}`).problem(403, "role operator")
}

func TestRunnerCannotReportForAJob(t *testing.T) {
	w := newWorld(t, withTokens)
	w.Apply(orders, silver, onCron)
	w.Settle()
	w.token = operatorToken
	w.post("/api/v1/runs", `{"pipeline":"on-cron","date":"2026-03-03"}`).object(201)
	w.Settle()
	w.token = runnerToken
	w.post("/api/v1/runs/on-cron/cron/2026-03-03/job", `{"result":"success"}`).problem(403, "permit")
}
