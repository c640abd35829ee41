package databricks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/run"
)

// jobRun is a run or one of its tasks as a workspace returns it, in the older form (state), the
// newer (status) or both.
type jobRun struct {
	ID    int64 `json:"run_id"`
	State struct {
		LifeCycle string `json:"life_cycle_state"`
		Result    string `json:"result_state"`
		Message   string `json:"state_message"`
	} `json:"state"`
	Status struct {
		State       string `json:"state"`
		Termination struct {
			Code    string `json:"code"`
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"termination_details"`
	} `json:"status"`
	Key string `json:"task_key"` // of a task

	failed *jobRun // the first task that failed by itself, not because of another
}

// end is the progress of a run.
type end struct {
	known    bool // Databricks documents the state
	done     bool
	success  bool
	category run.Category
	name     string // Databricks's name
	message  string
}

// end reads both forms. The newer one says more about a failure: if it has details, they decide the
// category. Only a timeout has no code of its own there.
func (r jobRun) end() end {
	older, newer := r.endByState(), r.endByStatus()
	switch {
	case r.State.LifeCycle == "" || !older.known && newer.known:
		return newer
	case older.done && !older.success && older.category != run.Timeout && newer.known && newer.done && !newer.success:
		older.category = newer.category
		if newer.name != older.name {
			older.name += " (" + newer.name + ")"
		}
		older.message = cmp.Or(older.message, newer.message)
	}
	return older
}

func (r jobRun) endByState() end {
	e := end{known: true, name: r.State.LifeCycle, message: r.State.Message}
	switch r.State.LifeCycle {
	case "PENDING", "RUNNING", "TERMINATING", "BLOCKED", "WAITING_FOR_RETRY", "QUEUED":
		return e
	case "TERMINATED":
		e.done, e.name, e.success = true, r.State.Result, isSuccess(r.State.Result)
		e.category, e.known = results[e.name]
	case "INTERNAL_ERROR", "SKIPPED":
		e.done = true
		e.category = run.Transient
	default:
		e.known = false
	}
	return e
}

// results are the results that Databricks documents, and the categories of the failures among them.
var results = map[string]run.Category{
	"SUCCESS":                         run.Unknown,
	"SUCCESS_WITH_FAILURES":           run.Unknown,
	"FAILED":                          run.Permanent,
	"UPSTREAM_FAILED":                 run.Permanent,
	"TIMEDOUT":                        run.Timeout,
	"CANCELED":                        run.Transient,
	"UPSTREAM_CANCELED":               run.Transient,
	"MAXIMUM_CONCURRENT_RUNS_REACHED": run.Transient,
	"EXCLUDED":                        run.Transient,
	"DISABLED":                        run.Transient,
}

// isSuccess reports whether a result or a termination code is a success.
func isSuccess(name string) bool { return name == "SUCCESS" || name == "SUCCESS_WITH_FAILURES" }

func (r jobRun) endByStatus() end {
	t := r.Status.Termination
	e := end{known: true, name: r.Status.State, message: t.Message}
	switch r.Status.State {
	case "PENDING", "RUNNING", "TERMINATING", "BLOCKED", "WAITING", "QUEUED":
		return e
	case "TERMINATED":
		e.done, e.name, e.success = true, t.Code, isSuccess(t.Code)
		e.category, e.known = categoryOfCode(t.Code, t.Type)
	default:
		e.known = false
	}
	return e
}

// codes are the termination codes whose category does not depend on their type.
var codes = map[string]run.Category{
	"CANCELED":                       run.Transient,
	"USER_CANCELED":                  run.Transient,
	"SKIPPED":                        run.Transient,
	"DISABLED":                       run.Transient,
	"INTERNAL_ERROR":                 run.Transient,
	"CLOUD_FAILURE":                  run.Transient,
	"BREAKING_CHANGE":                run.Transient, // Databricks retries it in another way
	"REPOSITORY_CHECKOUT_FAILED":     run.Transient, // the Git provider could not be reached
	"WORKSPACE_RUN_LIMIT_EXCEEDED":   run.Transient,
	"CLUSTER_REQUEST_LIMIT_EXCEEDED": run.Transient,
	"MAX_CONCURRENT_RUNS_EXCEEDED":   run.Transient,
	"MAX_SPARK_CONTEXTS_EXCEEDED":    run.Transient,
	"MAX_JOB_QUEUE_SIZE_EXCEEDED":    run.Transient,

	"RUN_EXECUTION_ERROR":       run.Permanent,
	"RESOURCE_NOT_FOUND":        run.Permanent,
	"UNAUTHORIZED_ERROR":        run.Permanent,
	"FEATURE_DISABLED":          run.Permanent,
	"INVALID_CLUSTER_REQUEST":   run.Permanent,
	"INVALID_RUN_CONFIGURATION": run.Permanent,
}

// categoryOfCode returns the category of a termination. Databricks adds codes; the category of an
// unlisted one depends on its type.
func categoryOfCode(code, kind string) (c run.Category, known bool) {
	if c, ok := codes[code]; ok {
		return c, true
	}
	switch {
	case code == "":
		return run.Unknown, false
	case isSuccess(code):
		return run.Unknown, true
	case strings.Contains(code, "TIMEDOUT"), strings.Contains(code, "TIMEOUT"):
		return run.Timeout, true
	case kind == "INTERNAL_ERROR", kind == "CLOUD_FAILURE", strings.HasSuffix(code, "_EXCEEDED"):
		return run.Transient, true
	case kind == "CLIENT_ERROR":
		return run.Permanent, true
	default:
		return run.Unknown, true
	}
}

// status maps a run's state to a job status.
func (w workspace) status(ctx context.Context, r jobRun) (job.Status, error) {
	e := r.end()
	switch {
	case !e.known:
		return job.Status{}, fmt.Errorf("get run %d: unknown state %s", r.ID, w.Secrets.Text(fmt.Sprintf("%.100q", e.name)))
	case !e.done:
		return job.Status{}, nil
	case e.success:
		return job.Status{Done: true, Result: run.ResultSuccess, Message: w.line("the run ended as "+e.name, e.message)}, nil
	}
	s := job.Status{Done: true, Result: run.ResultFail, Category: e.category}
	if e.category == run.Timeout {
		s.Result = run.ResultTimeout
	}
	what, why := "the run ended as "+e.name, e.message
	if failed := r.failed; failed != nil {
		what += fmt.Sprintf("; task %s ended as %s", failed.Key, failed.end().name)
		var text string
		if text, s.Output = w.output(ctx, failed.ID); text != "" {
			why = text
		}
	}
	s.Message = w.line(what, why)
	return s, nil
}

// failedByItself reports whether a task failed, and not because of another one.
func (r jobRun) failedByItself() bool {
	e := r.end()
	return e.done && !e.success && !strings.HasPrefix(e.name, "UPSTREAM_") && !strings.HasPrefix(e.name, "EXCLUDED") && r.ID > 0
}

// output returns the error of a task and the end of its trace. It only helps the reader, so errors
// are ignored.
func (w workspace) output(ctx context.Context, task int64) (message, trace string) {
	var got struct {
		Error string `json:"error"`
		Trace string `json:"error_trace"`
	}
	err := w.Do(ctx, rest.Call{What: fmt.Sprintf("read the output of run %d", task), Method: http.MethodGet, Path: path("runs", "get-output"), Query: runQuery(task)}, &got)
	if err != nil {
		return "", ""
	}
	return got.Error, job.Tail(w.Secrets.Text(got.Trace))
}

// line returns one line without secrets.
func (w workspace) line(what, why string) string {
	if why = strings.TrimSpace(why); why != "" {
		what += ": " + why
	}
	return job.Line(w.Secrets.Text(what))
}

// DecodeFrom decodes a run while it arrives. The API cannot omit a run's tasks, of which there may
// be a thousand with all of their settings, so only the first failed one is kept.
func (r *jobRun) DecodeFrom(d *json.Decoder) error {
	return eachField(d, func(name string) error {
		switch name {
		case "run_id":
			return d.Decode(&r.ID)
		case "state":
			return d.Decode(&r.State)
		case "status":
			return d.Decode(&r.Status)
		case "tasks":
			return r.decodeTasks(d)
		default:
			return d.Decode(new(json.RawMessage))
		}
	})
}

func (r *jobRun) decodeTasks(d *json.Decoder) error {
	switch begin, err := d.Token(); {
	case err != nil || begin == nil:
		return err
	case begin != json.Delim('['):
		return errors.New("tasks is not a list")
	}
	for d.More() {
		var task jobRun
		if err := d.Decode(&task); err != nil {
			return err
		}
		if r.failed == nil && task.failedByItself() {
			r.failed = &task
		}
	}
	_, err := d.Token()
	return err
}

// eachField reads an object and calls read for the value of each field.
func eachField(d *json.Decoder, read func(name string) error) error {
	begin, err := d.Token()
	if err != nil {
		return err
	}
	if begin != json.Delim('{') {
		return errors.New("not an object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := read(name.(string)); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
