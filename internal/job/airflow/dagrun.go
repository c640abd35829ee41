package airflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/run"
)

// The states of a DAG run, the same in both versions of the API.
const (
	stateQueued  = "queued"
	stateRunning = "running"
	stateSuccess = "success"
	stateFailed  = "failed"
)

// dagRun is what Airflow tells of a DAG run.
type dagRun struct {
	ID    string `json:"dag_run_id"`
	State string `json:"state"`
}

// dag is a DAG as Airflow shows it.
type dag struct {
	ID     string `json:"dag_id"`
	Paused bool   `json:"is_paused"`
	Broken bool   `json:"has_import_errors"`
	Active *bool  `json:"is_active"` // v1
	Stale  bool   `json:"is_stale"`  // v2
}

// removed says that Airflow no longer finds the DAG in its files. It shows such a DAG until it is deleted, but starts no run
// of it.
func (d dag) removed() bool { return d.Stale || d.Active != nil && !*d.Active }

// path is where something of the DAG is.
func (d target) path(more ...string) []string {
	return append([]string{"api", d.APIVersion, "dags", d.DagID}, more...)
}

// create asks for the DAG run.
func (d target) create(ctx context.Context) error {
	return hinted(d.ask(ctx, rest.Call{
		What: fmt.Sprintf("create a run of DAG %q", d.DagID), Method: http.MethodPost, Path: d.path("dagRuns"), Body: d.request(),
	}))
}

// hinted says what to look at if there is no such DAG, which is also what the wrong version of the API answers.
func hinted(err error) error {
	if answered := (*rest.Answered)(nil); errors.As(err, &answered) && answered.Code == http.StatusNotFound {
		answered.Text += "; check dagID, and apiVersion: v1 is that of Airflow 2, v2 that of Airflow 3"
	}
	return err
}

// request is the body that creates the DAG run. Version 2 wants a logical date, and takes null for none; version 1 makes
// one up where there is none, and does not take null.
func (d target) request() map[string]any {
	body := maps.Clone(d.Body)
	if body == nil {
		body = map[string]any{}
	}
	if d.Conf != nil {
		body["conf"] = d.Conf
	}
	if _, given := body["logical_date"]; !given && d.APIVersion == "v2" {
		body["logical_date"] = nil
	}
	body["dag_run_id"] = d.run
	return body
}

// fail marks the DAG run as failed.
func (d target) fail(ctx context.Context) error {
	return d.ask(ctx, rest.Call{
		What: "stop DAG run " + d.run, Method: http.MethodPatch, Path: d.path("dagRuns", d.run), Body: map[string]any{"state": stateFailed},
	})
}

// look asks for the DAG run; job.ErrUnknownHandle if there is none.
func (d target) look(ctx context.Context) (dagRun, error) {
	var seen dagRun
	err := d.Do(ctx, rest.Call{What: "get DAG run " + d.run, Method: http.MethodGet, Path: d.path("dagRuns", d.run)}, &seen)
	if d.missing(err) {
		return seen, job.ErrUnknownHandle
	}
	if err == nil {
		err = d.same(seen)
	}
	return seen, err
}

// ask makes a call that answers with the DAG run.
func (d target) ask(ctx context.Context, c rest.Call) error {
	var answered dagRun
	err := d.Do(ctx, c, &answered)
	if err == nil {
		err = d.same(answered)
	}
	return err
}

// same makes sure that an answer is about this DAG run: what stands in front of Airflow may answer with JSON as well.
func (d target) same(seen dagRun) error {
	if seen.ID != d.run {
		return fmt.Errorf("the answer is about something else than DAG run %s; check job.config.url", d.run)
	}
	return nil
}

// missing says that Airflow itself knows no such DAG run. A 404 that does not name it came from elsewhere, or is about the
// path.
func (d target) missing(err error) bool {
	answered := (*rest.Answered)(nil)
	if !errors.As(err, &answered) || answered.Code != http.StatusNotFound {
		return false
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	return json.Unmarshal([]byte(answered.Body), &problem) == nil && strings.Contains(problem.Detail, d.run)
}

// dag asks for the DAG.
func (d target) dag(ctx context.Context) (dag, error) {
	var found dag
	err := d.Do(ctx, rest.Call{What: fmt.Sprintf("get DAG %q", d.DagID), Method: http.MethodGet, Path: d.path()}, &found)
	if err == nil && found.ID != d.DagID {
		err = d.unfit("the answer is about something else than DAG %q; check job.config.url", d.DagID)
	}
	return found, hinted(err)
}

// outcome is what a DAG run's state means for the job.
func (d target) outcome(ctx context.Context, seen dagRun) (job.Status, error) {
	switch seen.State {
	case stateQueued, stateRunning:
		return job.Status{}, nil
	case stateSuccess:
		return job.Status{Done: true, Result: run.ResultSuccess, Message: "the DAG run succeeded"}, nil
	case stateFailed:
		message := "the DAG run failed" + d.failedTasks(ctx)
		return job.Status{Done: true, Result: run.ResultFail, Message: d.Secrets.Text(message)}, nil
	default:
		return job.Status{}, fmt.Errorf("get DAG run %s: unknown state %s", d.run, d.Secrets.Text(fmt.Sprintf("%.100q", seen.State)))
	}
}

// failedTasks names the tasks that failed. That is a help to the reader only, so nothing depends on whether it can be had.
func (d target) failedTasks(ctx context.Context) string {
	const most = 5
	var list struct {
		Tasks []struct {
			ID  string `json:"task_id"`
			Try int    `json:"try_number"`
		} `json:"task_instances"`
	}
	err := d.Do(ctx, rest.Call{
		What: "list the tasks of DAG run " + d.run, Method: http.MethodGet, Path: d.path("dagRuns", d.run, "taskInstances"),
		Query: url.Values{"state": {stateFailed}, "limit": {fmt.Sprint(most)}},
	}, &list)
	if err != nil || len(list.Tasks) == 0 {
		return ""
	}
	var names []string
	for _, task := range list.Tasks[:min(len(list.Tasks), most)] {
		names = append(names, fmt.Sprintf("%s (try %d)", task.ID, task.Try))
	}
	return "; failed tasks: " + strings.Join(names, ", ")
}
