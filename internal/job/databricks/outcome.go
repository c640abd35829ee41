package databricks

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/run"
)

// jobRun is what a workspace tells of a run or of one of its tasks, in the older form (state), the newer (status) or both.
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
	Tasks []jobRun `json:"tasks"`
	Key   string   `json:"task_key"` // of a task
}

// end is how far a run is.
type end struct {
	known    bool // the state is one that Databricks documents
	done     bool
	success  bool
	category run.Category
	name     string // as Databricks calls it
	message  string
}

// end reads whichever form there is. The older one is looked at first, since the categories are told in its words.
func (r jobRun) end() end {
	if r.State.LifeCycle != "" {
		return r.endByState()
	}
	return r.endByStatus()
}

func (r jobRun) endByState() end {
	e := end{known: true, name: r.State.LifeCycle, message: r.State.Message}
	switch r.State.LifeCycle {
	case "PENDING", "RUNNING", "TERMINATING", "BLOCKED", "WAITING_FOR_RETRY", "QUEUED":
		return e
	case "TERMINATED":
		e.done, e.name = true, r.State.Result
		e.success = e.name == "SUCCESS" || e.name == "SUCCESS_WITH_FAILURES"
		e.category, e.known = categoryOf(e.name)
	case "INTERNAL_ERROR", "SKIPPED":
		e.done = true
		e.category = run.Transient
	default:
		e.known = false
	}
	return e
}

// categoryOf is whose fault a run's result is.
func categoryOf(result string) (c run.Category, known bool) {
	switch result {
	case "SUCCESS", "SUCCESS_WITH_FAILURES":
		return run.Unknown, true
	case "FAILED", "UPSTREAM_FAILED":
		return run.Permanent, true
	case "TIMEDOUT":
		return run.Timeout, true
	case "CANCELED", "UPSTREAM_CANCELED", "MAXIMUM_CONCURRENT_RUNS_REACHED", "EXCLUDED", "DISABLED":
		return run.Transient, true
	default:
		return run.Unknown, false
	}
}

func (r jobRun) endByStatus() end {
	t := r.Status.Termination
	e := end{known: true, name: r.Status.State, message: t.Message}
	switch r.Status.State {
	case "PENDING", "RUNNING", "TERMINATING", "BLOCKED", "WAITING", "QUEUED":
		return e
	case "TERMINATED":
		e.done, e.name = true, t.Code
		e.success = t.Code == "SUCCESS" || t.Code == "SUCCESS_WITH_FAILURES"
		e.category, e.known = categoryOfCode(t.Code, t.Type)
	default:
		e.known = false
	}
	return e
}

// categoryOfCode is whose fault a termination is. There are many codes, and there will be more: those that stand for what a
// second try may change are listed, the others go by their type.
func categoryOfCode(code, kind string) (c run.Category, known bool) {
	switch {
	case code == "":
		return run.Unknown, false
	case code == "SUCCESS", code == "SUCCESS_WITH_FAILURES":
		return run.Unknown, true
	case strings.Contains(code, "TIMEDOUT"), strings.Contains(code, "TIMEOUT"):
		return run.Timeout, true
	case code == "CANCELED", code == "USER_CANCELED", code == "SKIPPED", code == "DISABLED", code == "INTERNAL_ERROR", code == "CLOUD_FAILURE",
		strings.HasSuffix(code, "_EXCEEDED"), kind == "INTERNAL_ERROR", kind == "CLOUD_FAILURE":
		return run.Transient, true
	default:
		return run.Permanent, true
	}
}

// status is what a run's state means for the job.
func (w workspace) status(ctx context.Context, r jobRun) (job.Status, error) {
	e := r.end()
	switch {
	case !e.known:
		return job.Status{}, fmt.Errorf("look at run %d: unknown state %s", r.ID, w.Secrets.Text(fmt.Sprintf("%.100q", e.name)))
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
	if failed, ok := r.failedTask(); ok {
		what += fmt.Sprintf("; task %s ended as %s", failed.Key, failed.end().name)
		var text string
		if text, s.Output = w.output(ctx, failed.ID); text != "" {
			why = text
		}
	}
	s.Message = w.line(what, why)
	return s, nil
}

// failedTask is the first task that failed by itself, not because of another.
func (r jobRun) failedTask() (jobRun, bool) {
	for _, task := range r.Tasks {
		if e := task.end(); e.done && !e.success && !strings.HasPrefix(e.name, "UPSTREAM_") && e.name != "EXCLUDED" && task.ID > 0 {
			return task, true
		}
	}
	return jobRun{}, false
}

// output is the error of a task, and the end of its trace. That is a help to the reader only, so nothing depends on whether
// it can be had.
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

// line is one line without secrets.
func (w workspace) line(what, why string) string {
	if why = strings.TrimSpace(why); why != "" {
		what += ": " + why
	}
	return job.Line(w.Secrets.Text(what))
}
