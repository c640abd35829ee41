package databricks_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/job/jobtest"
)

// server is a fake of the parts of a Databricks workspace (Jobs API 2.1) that jobs use. It fails
// the test on a request that Databricks would not understand.
type server struct {
	*httptest.Server
	*testing.T
	wire   jobtest.Wire
	mu     sync.Mutex
	tokens map[string]int64 // run id by idempotency token
	starts map[string]int
	ends   map[int64]string // how a run ends: see show
	lossy  bool
}

// firstRun is an id that, like those of Databricks, does not fit a float64.
const firstRun = int64(9007199254740993)

func newServer(t *testing.T) *server {
	s := &server{T: t, tokens: map[string]int64{}, starts: map[string]int{}, ends: map[int64]string{}}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /api/2.1/jobs/run-now", s.runNow)
	routes.HandleFunc("POST /api/2.1/jobs/runs/submit", s.submit)
	routes.HandleFunc("GET /api/2.1/jobs/runs/get", s.getRun)
	routes.HandleFunc("GET /api/2.1/jobs/runs/get-output", s.getOutput)
	routes.HandleFunc("POST /api/2.1/jobs/runs/cancel", s.cancel)
	routes.HandleFunc("GET /api/2.1/jobs/get", s.getJob)
	routes.HandleFunc("GET /api/2.1/jobs/list", s.list)
	s.Server = httptest.NewServer(s.wire.Record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if got := r.Header.Get("Authorization"); got != "Bearer "+jobtest.Secret {
			problem(w, 401, "", "Invalid access token. "+got)
			return
		}
		routes.ServeHTTP(w, r)
	})))
	t.Cleanup(s.Close)
	return s
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(body)
}

func problem(w http.ResponseWriter, code int, name, message string) {
	if code == 429 {
		w.Header().Set("Retry-After", "7")
	}
	answer(w, code, map[string]any{"error_code": name, "message": message})
}

// startRequest is the body of run-now and runs/submit.
type startRequest struct {
	JobID  *int64            `json:"job_id"`
	Params map[string]string `json:"job_parameters"`
	Token  string            `json:"idempotency_token"`
	Name   string            `json:"run_name"`
	Tasks  []struct {
		Key string `json:"task_key"`
	} `json:"tasks"`
}

// read reads a body strictly.
func (s *server) read(r *http.Request, into any) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || r.Header.Get("Content-Type") != "application/json" {
		s.Errorf("%s: body of type %q: %v", r.URL, r.Header.Get("Content-Type"), err)
	}
}

func (s *server) runNow(w http.ResponseWriter, r *http.Request) {
	var body startRequest
	s.read(r, &body)
	if body.JobID == nil || body.Tasks != nil {
		s.Errorf("run-now of %+v", body)
		return
	}
	switch *body.JobID {
	case 404:
		problem(w, 400, "INVALID_PARAMETER_VALUE", "Job 404 does not exist.")
	case 403:
		problem(w, 403, "PERMISSION_DENIED", "User with token "+jobtest.Secret+" does not have Manage Run permission")
	case 429:
		problem(w, 429, "REQUEST_LIMIT_EXCEEDED", "Current request limit is 100 per second")
	default:
		s.begin(w, body, body.Params["end"])
	}
}

func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	var body startRequest
	s.read(r, &body)
	if body.JobID != nil || len(body.Tasks) == 0 {
		s.Errorf("submit of %+v", body)
		return
	}
	s.begin(w, body, body.Tasks[0].Key)
}

// begin starts a run, or answers with the run that the token started before.
func (s *server) begin(w http.ResponseWriter, body startRequest, end string) {
	if len(body.Token) == 0 || len(body.Token) > 64 {
		problem(w, 400, "INVALID_PARAMETER_VALUE", "idempotency_token may have at most 64 characters")
		return
	}
	id := s.tokens[body.Token]
	if id == 0 {
		id = firstRun + int64(len(s.tokens))
		s.tokens[body.Token], s.ends[id] = id, end
		s.starts[body.Token]++
		if s.lossy {
			panic(http.ErrAbortHandler)
		}
	}
	answer(w, 200, map[string]any{"run_id": id, "number_in_job": id})
}

// run reports whether a run exists, and otherwise answers that it does not.
func (s *server) run(w http.ResponseWriter, id int64) bool {
	if _, ok := s.ends[id]; !ok {
		problem(w, 400, "INVALID_PARAMETER_VALUE", "Run "+strconv.FormatInt(id, 10)+" does not exist.")
		return false
	}
	return true
}

func (s *server) query(r *http.Request) int64 {
	id, err := strconv.ParseInt(r.URL.Query().Get("run_id"), 10, 64)
	if err != nil {
		s.Errorf("got %s", r.URL)
	}
	return id
}

func (s *server) getRun(w http.ResponseWriter, r *http.Request) {
	id := s.query(r)
	if s.run(w, id) {
		answer(w, 200, show(id, s.ends[id]))
	}
}

// show is a run that ends as that text says: a life cycle and a result of the older form, "status"
// and a state, code and type of the newer, or "both" and all of them.
func show(id int64, end string) map[string]any {
	words := append(strings.Fields(end), "", "", "", "", "")
	shown := map[string]any{"run_id": id, "job_id": 123, "run_page_url": "https://workspace.example/?o=1#job/123/run/1", "run_type": "JOB_RUN"}
	switch {
	case end == "":
		shown["state"] = map[string]any{"life_cycle_state": "TERMINATED", "result_state": "SUCCESS", "state_message": ""}
		shown["status"] = map[string]any{"state": "TERMINATED", "termination_details": map[string]any{"code": "SUCCESS", "type": "SUCCESS", "message": ""}}
	case words[0] == "status":
		details := map[string]any{"code": words[2], "type": words[3], "message": "why, " + jobtest.Secret}
		shown["status"] = map[string]any{"state": words[1], "termination_details": details}
	case words[0] == "both":
		shown["state"] = map[string]any{"life_cycle_state": words[1], "result_state": words[2], "state_message": ""}
		shown["status"] = map[string]any{"state": "TERMINATED", "termination_details": map[string]any{"code": words[3], "type": words[4], "message": "why, " + jobtest.Secret}}
	default:
		state := map[string]any{"life_cycle_state": words[0], "state_message": "why, " + jobtest.Secret, "user_cancelled_or_timedout": false}
		if words[1] != "" {
			state["result_state"] = words[1]
		}
		shown["state"] = state
	}
	if words[1] == "FAILED" {
		shown["tasks"] = []any{
			map[string]any{"run_id": id + 100000, "task_key": "bronze", "state": map[string]any{"life_cycle_state": "TERMINATED", "result_state": "SUCCESS"}},
			map[string]any{"run_id": id + 200000, "task_key": "gold", "state": map[string]any{"life_cycle_state": "TERMINATED", "result_state": "UPSTREAM_FAILED"}},
			map[string]any{"run_id": id + 300000, "notebook_task": map[string]any{"base_parameters": map[string]any{"tasks": []any{1, nil}}}, "task_key": "silver", "state": map[string]any{"life_cycle_state": "TERMINATED", "result_state": "FAILED"}},
		}
	}
	return shown
}

func (s *server) getOutput(w http.ResponseWriter, r *http.Request) {
	if id := s.query(r); s.ends[id-300000] == "" {
		s.Errorf("asked for the output of %d, which did not fail", id)
	}
	answer(w, 200, map[string]any{
		"metadata": map[string]any{}, "error": "AnalysisException: no table orders with " + jobtest.Secret + "\nmore",
		"error_trace": strings.Repeat("at frame "+jobtest.Secret+"\n", 20000) + "the end",
	})
}

func (s *server) cancel(w http.ResponseWriter, r *http.Request) {
	var body struct {
		RunID int64 `json:"run_id"`
	}
	s.read(r, &body)
	if !s.run(w, body.RunID) {
		return
	}
	if strings.HasPrefix(s.ends[body.RunID], "TERMINATED") {
		problem(w, 400, "INVALID_STATE", "Run is already terminated")
		return
	}
	s.ends[body.RunID] = "TERMINATED CANCELED"
	answer(w, 200, map[string]any{})
}

func (s *server) getJob(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.URL.Query().Get("job_id"), 10, 64)
	switch {
	case err != nil:
		s.Errorf("got %s", r.URL)
	case id == 404:
		problem(w, 400, "INVALID_PARAMETER_VALUE", "Job 404 does not exist.")
	case id == 403:
		problem(w, 403, "PERMISSION_DENIED", "User does not have View permission")
	default:
		answer(w, 200, map[string]any{"job_id": id, "creator_user_name": "a@b", "settings": map[string]any{"name": "load", "max_concurrent_runs": 1}})
	}
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "limit=1" {
		s.Errorf("got %s", r.URL)
	}
	answer(w, 200, map[string]any{"has_more": false})
}
