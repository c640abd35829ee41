package databricks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
)

// path returns the path of a Jobs API method.
func path(method ...string) []string { return append([]string{"api", "2.1", "jobs"}, method...) }

// start makes the call that starts the run, and returns its id.
func (w workspace) start(ctx context.Context, token string) (int64, error) {
	call := rest.Call{What: "run job " + w.job(), Method: http.MethodPost, Path: path("run-now")}
	if w.submits() {
		call.What, call.Path = "submit the run", path("runs", "submit")
	}
	call.Body = w.request(token)
	var started struct {
		RunID int64 `json:"run_id"`
	}
	err := w.Do(ctx, call, &started)
	if err == nil && started.RunID <= 0 {
		err = fmt.Errorf("%s: answered without a run_id; check job.config.workspaceURL", call.What)
	}
	return started.RunID, err
}

// submits reports whether the config is a one-time run.
func (w workspace) submits() bool {
	_, tasks := w.Body["tasks"]
	return tasks
}

// job returns the id of the job to run, or "" for a one-time run.
func (w workspace) job() string {
	if w.JobID != "" || w.submits() {
		return string(w.JobID)
	}
	return asText(w.Body["job_id"])
}

// request returns the body that starts the run.
func (w workspace) request(token string) map[string]any {
	body := maps.Clone(w.Body)
	if body == nil {
		body = map[string]any{"job_id": json.Number(w.JobID)}
	}
	if w.Params != nil {
		params := map[string]string{}
		for name, value := range w.Params {
			params[name] = asText(value)
		}
		body["job_parameters"] = params
	}
	body["idempotency_token"] = token
	return body
}

// asText returns a parameter's value as text, because Databricks accepts only text. Other values are encoded as JSON.
func asText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// look reads a run. It returns job.ErrUnknownHandle if there is none.
func (w workspace) look(ctx context.Context, id int64) (jobRun, error) {
	var seen jobRun
	what := fmt.Sprintf("get run %d", id)
	err := w.Do(ctx, rest.Call{What: what, Method: http.MethodGet, Path: path("runs", "get"), Query: runQuery(id)}, &seen)
	if missing(err) {
		return seen, job.ErrUnknownHandle
	}
	if err == nil && seen.ID != id {
		err = fmt.Errorf("%s: the answer is about something else; check job.config.workspaceURL", what)
	}
	return seen, err
}

func runQuery(id int64) url.Values { return url.Values{"run_id": {strconv.FormatInt(id, 10)}} }

// missing reports whether the workspace itself says that the run does not exist. Databricks uses an invalid-parameter
// error for that as often as 404.
func missing(err error) bool {
	answered := (*rest.Answered)(nil)
	if !errors.As(err, &answered) {
		return false
	}
	var problem struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(answered.Body), &problem) != nil {
		return false
	}
	return problem.Code == "RESOURCE_DOES_NOT_EXIST" || problem.Code == "INVALID_PARAMETER_VALUE" && strings.Contains(problem.Message, "does not exist")
}

// cancel cancels the run. The answer is an empty object.
func (w workspace) cancel(ctx context.Context, id int64) error {
	var nothing struct{}
	return w.Do(ctx, rest.Call{
		What: fmt.Sprintf("cancel run %d", id), Method: http.MethodPost, Path: path("runs", "cancel"), Body: map[string]any{"run_id": id},
	}, &nothing)
}

// getJob reads the job.
func (w workspace) getJob(ctx context.Context, id string) error {
	var found struct {
		ID json.Number `json:"job_id"`
	}
	what := "get job " + id
	err := w.Do(ctx, rest.Call{What: what, Method: http.MethodGet, Path: path("get"), Query: url.Values{"job_id": {id}}}, &found)
	if err == nil && string(found.ID) != id {
		err = fmt.Errorf("%s: the answer is about something else; check job.config.workspaceURL", w.Secrets.Text(what))
	}
	return err
}

// listJobs makes a call that is allowed with any valid credentials.
func (w workspace) listJobs(ctx context.Context) error {
	var list struct {
		More *bool `json:"has_more"`
	}
	const what = "list the jobs"
	err := w.Do(ctx, rest.Call{What: what, Method: http.MethodGet, Path: path("list"), Query: url.Values{"limit": {"1"}}}, &list)
	if err == nil && list.More == nil {
		err = errors.New(what + ": the answer is something else; check job.config.workspaceURL")
	}
	return err
}
