package databricks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/run"
)

// Type starts runs and polls them. A run cannot be found by its idempotency token, but a repeated
// start with the same token returns the existing run.
type Type struct{ client *rest.Client }

var (
	_ job.Type         = (*Type)(nil)
	_ job.Stopper      = (*Type)(nil)
	_ job.Deduplicator = (*Type)(nil)
	_ job.Checker      = (*Type)(nil)
)

// New returns a Type that connects through the guard.
func New(g *egress.Guard) *Type { return &Type{rest.New(g)} }

// RefusesRepeats returns true: a workspace starts one run per token.
func (t *Type) RefusesRepeats() bool { return true }

// token returns the idempotency token of an attempt. Databricks allows at most 64 characters, which
// is the length of the hash.
func token(id run.AttemptID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// workspace is the workspace of one attempt's run.
type workspace struct {
	rest.API
	*Config
}

func (t *Type) workspace(a job.Attempt) (workspace, error) {
	c, err := job.ConfigOf[Config](a)
	if err != nil {
		return workspace{}, err
	}
	return workspace{rest.API{Client: t.client, Base: c.WorkspaceURL, Headers: c.Headers, Limit: c.Timeout.D(), Secrets: a.Secrets}, c}, nil
}

// Start runs the job, or submits the one-time run.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	w, err := t.workspace(a)
	if err != nil {
		return job.Started{}, err
	}
	id, err := w.start(ctx, token(a.ID))
	if err != nil {
		return job.Started{}, rest.Started(err)
	}
	return job.Started{Handle: run.Handle(strconv.FormatInt(id, 10))}, nil
}

// Status reads the run.
func (t *Type) Status(ctx context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	w, id, err := t.known(a, h)
	if err != nil {
		return job.Status{}, err
	}
	seen, err := w.readRun(ctx, id)
	if err != nil {
		return job.Status{}, err
	}
	return w.status(ctx, seen)
}

// Stop cancels the run. It returns nil for a run that has ended, whatever the workspace answers.
func (t *Type) Stop(ctx context.Context, a job.Attempt, h run.Handle) error {
	w, id, err := t.known(a, h)
	if err != nil {
		return err
	}
	err = w.cancel(ctx, id)
	if answered, ok := errors.AsType[*rest.Answered](err); ok && answered.Code == http.StatusBadRequest {
		if seen, lookErr := w.readRun(ctx, id); lookErr == nil && seen.end().done {
			return nil
		}
	}
	return err
}

// known returns the run of a handle.
func (t *Type) known(a job.Attempt, h run.Handle) (workspace, int64, error) {
	w, err := t.workspace(a)
	if err != nil {
		return w, 0, err
	}
	id, err := strconv.ParseInt(string(h), 10, 64)
	if err != nil || id <= 0 {
		return w, 0, job.ErrUnknownHandle
	}
	return w, id, nil
}

// Check reads the job or, for a one-time run, only checks that the workspace accepts the
// credentials.
func (t *Type) Check(ctx context.Context, a job.Attempt) error {
	w, err := t.workspace(a)
	if err != nil {
		return err
	}
	unsure := "the workspace accepts the credentials; only a submission shows whether they may submit these tasks and whether the tasks can run"
	if id := w.job(); id != "" {
		err = w.getJob(ctx, id)
		unsure = "job " + id + " exists; only a run shows whether the credentials may run it"
	} else {
		err = w.listJobs(ctx)
	}
	if err != nil {
		return rest.Checked(err)
	}
	return &job.Unsure{Reason: w.Secrets.Text(unsure)}
}

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

// asText returns a parameter's value as text, because Databricks accepts only text. Other values
// are encoded as JSON.
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

// readRun reads a run. It returns job.ErrUnknownHandle if there is none.
func (w workspace) readRun(ctx context.Context, id int64) (jobRun, error) {
	var seen jobRun
	what := fmt.Sprintf("get run %d", id)
	err := w.Do(ctx, rest.Call{What: what, Method: http.MethodGet, Path: path("runs", "get"), Query: runQuery(id)}, &seen)
	if missing(err) {
		return seen, job.ErrUnknownHandle
	}
	if err == nil && seen.ID != id {
		err = fmt.Errorf("%s: unexpected response; check job.config.workspaceURL", what)
	}
	return seen, err
}

func runQuery(id int64) url.Values { return url.Values{"run_id": {strconv.FormatInt(id, 10)}} }

// missing reports whether the workspace itself says that the run does not exist. Databricks uses an
// invalid-parameter error for that as often as 404.
func missing(err error) bool {
	answered, ok := errors.AsType[*rest.Answered](err)
	if !ok {
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
		err = fmt.Errorf("%s: unexpected response; check job.config.workspaceURL", w.Secrets.Text(what))
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
		err = errors.New(what + ": unexpected response; check job.config.workspaceURL")
	}
	return err
}
