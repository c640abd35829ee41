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

// dagRun is a DAG run as Airflow returns it.
type dagRun struct {
	ID    string `json:"dag_run_id"`
	State string `json:"state"`
}

// dag is a DAG as Airflow returns it.
type dag struct {
	ID     string `json:"dag_id"`
	Paused bool   `json:"is_paused"`
	Broken bool   `json:"has_import_errors"`
	Active *bool  `json:"is_active"` // v1
	Stale  bool   `json:"is_stale"`  // v2
}

// removed reports whether Airflow no longer finds the DAG in its files. Airflow returns such a DAG
// until it is deleted, but starts no runs of it.
func (d dag) removed() bool { return d.Stale || d.Active != nil && !*d.Active }

// path returns the API path of the DAG, or of something below it.
func (d target) path(more ...string) []string {
	return append([]string{"api", d.APIVersion, "dags", d.DagID}, more...)
}

// create creates the DAG run.
func (d target) create(ctx context.Context) error {
	return hinted(d.ask(ctx, rest.Call{
		What: fmt.Sprintf("create a run of DAG %q", d.DagID), Method: http.MethodPost, Path: d.path("dagRuns"), Body: d.request(),
	}))
}

// hinted adds what to check if the DAG does not exist: the wrong API version gives the same answer.
func hinted(err error) error {
	if answered, ok := errors.AsType[*rest.Answered](err); ok && answered.Code == http.StatusNotFound {
		answered.Text += "; check dagID, and apiVersion: v1 is for Airflow 2, v2 for Airflow 3"
	}
	return err
}

// request returns the body that creates the DAG run. Version 2 requires a logical date and accepts
// null for none; version 1 generates a missing one and rejects null.
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

// readRun reads the DAG run. It returns job.ErrUnknownHandle if there is none.
func (d target) readRun(ctx context.Context) (dagRun, error) {
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

// ask makes a call whose answer is the DAG run.
func (d target) ask(ctx context.Context, c rest.Call) error {
	var answered dagRun
	err := d.Do(ctx, c, &answered)
	if err == nil {
		err = d.same(answered)
	}
	return err
}

// same checks that an answer is about this DAG run: a proxy in front of Airflow may answer with
// JSON as well.
func (d target) same(seen dagRun) error {
	if seen.ID != d.run {
		return fmt.Errorf("the response is not about DAG run %s; check job.config.url", d.run)
	}
	return nil
}

// missing reports whether Airflow itself says that the DAG run does not exist. A 404 that does not
// name it came from a proxy, or is about the path.
func (d target) missing(err error) bool {
	answered, ok := errors.AsType[*rest.Answered](err)
	if !ok || answered.Code != http.StatusNotFound {
		return false
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	return json.Unmarshal([]byte(answered.Body), &problem) == nil && strings.Contains(problem.Detail, d.run)
}

// dag reads the DAG.
func (d target) dag(ctx context.Context) (dag, error) {
	var found dag
	err := d.Do(ctx, rest.Call{What: fmt.Sprintf("get DAG %q", d.DagID), Method: http.MethodGet, Path: d.path()}, &found)
	if err == nil && found.ID != d.DagID {
		err = d.unfit("the response is not about DAG %q; check job.config.url", d.DagID)
	}
	return found, hinted(err)
}

// outcome maps a DAG run's state to a job status.
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

// failedTasks names the failed tasks. It only helps the reader, so errors are ignored.
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
