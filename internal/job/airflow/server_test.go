package airflow_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/job/jobtest"
)

// server is a fake of the parts of Airflow's REST API that jobs use: v1 as in Airflow 2, v2 as in
// Airflow 3. It fails the test on a request that Airflow would not understand.
type server struct {
	*httptest.Server
	*testing.T
	version string
	wire    jobtest.Wire
	mu      sync.Mutex
	runs    map[string]*dagRun // by id
	creates map[string]int
	dates   map[string]string // run id by logical date
	lossy   bool
}

type dagRun struct{ state string }

func newServer(t *testing.T, version string) *server {
	s := &server{T: t, version: version, runs: map[string]*dagRun{}, creates: map[string]int{}, dates: map[string]string{}}
	routes := http.NewServeMux()
	dag := "/team/api/" + version + "/dags/{dag}"
	routes.HandleFunc("GET "+dag, s.getDAG)
	routes.HandleFunc("POST "+dag+"/dagRuns", s.create)
	routes.HandleFunc("GET "+dag+"/dagRuns/{run}", s.getRun)
	routes.HandleFunc("PATCH "+dag+"/dagRuns/{run}", s.patch)
	routes.HandleFunc("GET "+dag+"/dagRuns/{run}/taskInstances", s.tasks)
	s.Server = httptest.NewServer(s.wire.Record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+jobtest.Secret {
			problem(w, 401, "Unauthorized", "token "+r.Header.Get("Authorization")+" has expired")
			return
		}
		if r.Header.Get("Accept") != "application/json" {
			t.Errorf("%s %s accepts %q", r.Method, r.URL, r.Header.Get("Accept"))
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

func problem(w http.ResponseWriter, code int, title, detail string) {
	w.Header().Set("Retry-After", "7")
	answer(w, code, map[string]any{
		"detail": detail, "status": code, "title": title, "type": "https://airflow.apache.org/docs/apache-airflow/2.10.4/stable-rest-api-ref.html#section/Errors",
	})
}

func (s *server) getDAG(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("dag")
	switch id {
	case "absent":
		problem(w, 404, "DAG not found", fmt.Sprintf("The DAG with dag_id: %s was not found", id))
	case "forbidden":
		problem(w, 403, "Forbidden", "")
	default:
		shown := map[string]any{
			"dag_id": id, "dag_display_name": id, "is_paused": id == "paused", "has_import_errors": id == "broken",
			"tags": []any{}, "owners": []string{"data"}, "max_active_runs": 16,
		}
		if s.version == "v1" {
			shown["is_active"], shown["schedule_interval"] = id != "removed", nil
		} else {
			shown["is_stale"], shown["timetable_summary"] = id == "removed", nil
		}
		answer(w, 200, shown)
	}
}

// create accepts only the body that the version documents.
func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Header.Get("Content-Type") != "application/json" {
		s.Errorf("body of type %q: %v", r.Header.Get("Content-Type"), err)
	}
	if !s.valid(w, body) {
		return
	}
	id, dag := body["dag_run_id"].(string), r.PathValue("dag")
	conf, _ := body["conf"].(map[string]any)
	date, _ := body["logical_date"].(string)
	switch {
	case dag == "absent":
		problem(w, 404, "DAG not found", "DAG with dag_id: 'absent' not found")
		return
	case dag == "forbidden":
		problem(w, 403, "Forbidden", "token "+jobtest.Secret+" may not")
		return
	case dag == "busy":
		problem(w, 429, "Too Many Requests", "")
		return
	case s.runs[id] != nil:
		problem(w, 409, "Conflict", fmt.Sprintf("DAGRun with DAG ID: '%s' and DAGRun ID: '%s' already exists", dag, id))
		return
	case date != "" && s.dates[date] != "":
		problem(w, 409, "Conflict", fmt.Sprintf("DAGRun with DAG ID: '%s' and DAGRun logical date: '%s' already exists", dag, date))
		return
	}
	state, _ := conf["end"].(string)
	if state == "" {
		state = "success"
	}
	s.runs[id], s.dates[date] = &dagRun{state}, id
	s.creates[id]++
	if s.lossy {
		panic(http.ErrAbortHandler)
	}
	s.show(w, dag, id, "queued")
}

// valid reports whether Airflow would accept a body, and otherwise answers with Airflow's error.
func (s *server) valid(w http.ResponseWriter, body map[string]any) bool {
	known := []string{"dag_run_id", "conf", "logical_date", "note", "data_interval_start", "data_interval_end"}
	if s.version == "v1" {
		known = append(known, "execution_date")
	} else if _, given := body["logical_date"]; !given {
		answer(w, 422, map[string]any{"detail": []any{map[string]any{"type": "missing", "loc": []string{"body", "logical_date"}, "msg": "Field required"}}})
		return false
	}
	if date, given := body["logical_date"]; given && date == nil && s.version == "v1" {
		problem(w, 400, "Bad Request", "None is not of type 'string' - 'logical_date'")
		return false
	}
	for key := range body {
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+key+" ") {
			problem(w, 400, "Bad Request", fmt.Sprintf("{'%s': ['Unknown field.']}", key))
			return false
		}
	}
	return true
}

func (s *server) show(w http.ResponseWriter, dag, id, state string) {
	answer(w, 200, map[string]any{
		"conf": map[string]any{}, "dag_id": dag, "dag_run_id": id, "state": state, "run_type": "manual", "external_trigger": true,
		"logical_date": "2026-03-03T07:00:00.000001+00:00", "start_date": nil, "end_date": nil, "note": nil,
	})
}

func (s *server) getRun(w http.ResponseWriter, r *http.Request) {
	found, ok := s.find(w, r)
	if ok {
		s.show(w, r.PathValue("dag"), r.PathValue("run"), found.state)
	}
}

// find returns a run, or answers that there is none.
func (s *server) find(w http.ResponseWriter, r *http.Request) (*dagRun, bool) {
	dag, id := r.PathValue("dag"), r.PathValue("run")
	found := s.runs[id]
	switch {
	case found != nil:
	case s.version == "v1":
		problem(w, 404, "DAGRun not found", fmt.Sprintf("DAGRun with DAG ID: '%s' and DagRun ID: '%s' not found", dag, id))
	default:
		answer(w, 404, map[string]any{"detail": fmt.Sprintf("The DagRun with dag_id: `%s` and run_id: `%s` was not found", dag, id)})
	}
	return found, found != nil
}

func (s *server) patch(w http.ResponseWriter, r *http.Request) {
	found, ok := s.find(w, r)
	if !ok {
		return
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body) != 1 || body["state"] != "failed" {
		s.Errorf("got %v, %v", body, err)
	}
	if found.state == "success" {
		s.Errorf("a run that succeeded is marked as failed")
	}
	found.state = "failed"
	s.show(w, r.PathValue("dag"), r.PathValue("run"), "failed")
}

func (s *server) tasks(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("state") != "failed" || r.URL.Query().Get("limit") != "5" {
		s.Errorf("got %s", r.URL)
	}
	answer(w, 200, map[string]any{"total_entries": 2, "task_instances": []any{
		map[string]any{"task_id": "load", "dag_run_id": r.PathValue("run"), "state": "failed", "try_number": 3, "map_index": -1, "rendered_fields": map[string]any{"token": jobtest.Secret}},
		map[string]any{"task_id": "check " + jobtest.Secret, "state": "failed", "try_number": 1},
	}})
}
