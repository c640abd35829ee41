package airflow_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/airflow"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

func newType(t *testing.T, _ string, allow ...string) job.Type {
	return airflow.New(jobtest.Guard(t, allow...))
}

func newConfig() pipeline.JobConfig { return new(airflow.Config) }

// handle returns the id of an attempt's DAG run.
func handle(id run.AttemptID) run.Handle {
	return run.Handle(strings.ReplaceAll(string(id), "/", "~"))
}

// config returns the config of a job in this Airflow.
func (s *server) config(dag, extra string) string {
	return "url: " + s.URL + "/team/\ndagID: " + dag + "\napiVersion: " + s.version + "\ntimeout: 20s\nheaders: {Authorization: 'Bearer ${env:JOBTEST_TOKEN}'}\n" + extra
}

func (s *server) bench() jobtest.Bench {
	ends := func(state string) string { return s.config("load", "conf: {day: '${DATE}', end: "+state+"}\n") }
	permanent := func(reason string) job.Refusal { return job.Refusal{Category: run.Permanent, Reason: reason} }
	return jobtest.Bench{
		New:       func(t *testing.T) job.Type { return newType(t, s.URL, "127.0.0.1") },
		NewConfig: newConfig,
		Good:      s.config("load", "conf: {day: '${DATE}'}\n"),
		Endless:   ends("running"),
		Ends: []jobtest.End{
			{Name: "success", Config: ends("success"), Want: job.Status{Result: run.ResultSuccess, Message: "succeeded"}},
			{Name: "failed", Config: ends("failed"), Want: job.Status{Result: run.ResultFail, Message: "failed; failed tasks: load (try 3), check *** (try 1)"}},
			{Name: "with a body", Config: s.config("load", "body: {conf: {end: failed}, note: 'run ${RUN_ID}'}\n"), Want: job.Status{Result: run.ResultFail}},
		},
		Busy:         map[string]string{"queued": ends("queued"), "running": ends("running")},
		Undocumented: map[string]string{"a state of tomorrow": ends("dreaming"), "a secret": ends("'${env:JOBTEST_TOKEN}'")},
		Refused: []jobtest.Refusal{
			{Name: "no such DAG", Config: s.config("absent", ""), Want: job.Refusal{Category: run.Permanent, Reason: `create a run of DAG "absent": answered 404 Not Found: DAG not found: DAG with dag_id: 'absent' not found; check dagID, and apiVersion`, After: 7 * time.Second}},
			{Name: "not allowed", Config: s.config("forbidden", ""), Want: job.Refusal{Category: run.Permanent, Reason: "token *** may not; the credentials in job.config.headers do not allow this", After: 7 * time.Second}},
			{Name: "busy", Config: s.config("busy", ""), Want: job.Refusal{Category: run.Transient, Reason: "answered 429", After: 7 * time.Second}},
			{Name: "expired token", Config: strings.Replace(s.config("load", ""), "'Bearer ", "'Bearer old-", 1), Want: job.Refusal{Category: run.Permanent, Reason: "token Bearer old-*** has expired; the credentials in job.config.headers are missing, wrong or expired", After: 7 * time.Second}},
			{Name: "not in its API", Config: s.config("load", "body: {color: red}\n"), Want: job.Refusal{Category: run.Permanent, Reason: "Unknown field", After: 7 * time.Second}},
		},
		Unfit: []jobtest.Refusal{
			{Name: "no such DAG", Config: s.config("absent", ""), Want: job.Refusal{Category: run.Permanent, Reason: `get DAG "absent": answered 404 Not Found: DAG not found: The DAG with dag_id: absent was not found; check dagID, and apiVersion`, After: 7 * time.Second}},
			{Name: "not allowed", Config: s.config("forbidden", ""), Want: job.Refusal{Category: run.Permanent, Reason: "do not allow this", After: 7 * time.Second}},
			{Name: "removed", Config: s.config("removed", ""), Want: permanent(`DAG "removed" has been removed`)},
			{Name: "paused", Config: s.config("paused", ""), Want: permanent(`DAG "paused" is paused`)},
			{Name: "broken", Config: s.config("broken", ""), Want: permanent(`DAG "broken" has import errors`)},
		},
		Wire:       &s.wire,
		Authorised: func(c jobtest.Call) bool { return c.Header.Get("Authorization") == "Bearer "+jobtest.Secret },
		Starts: func(_ *testing.T, id run.AttemptID) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.creates[string(handle(id))]
		},
		Lose: func(t *testing.T) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lossy = true
			t.Cleanup(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.lossy = false
			})
		},
	}
}

func TestAirflow2KeepsThePromises(t *testing.T) { jobtest.Run(t, newServer(t, "v1").bench()) }

func TestAirflow3KeepsThePromises(t *testing.T) { jobtest.Run(t, newServer(t, "v2").bench()) }

func TestOtherServersAreToldApartFromAirflow(t *testing.T) {
	want := jobtest.OfAPI()
	want["409"] = jobtest.Unknown // and the existing run cannot be read
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: newType, NewConfig: newConfig, Handle: handle,
		Config: func(url string) string {
			return "url: " + url + "\ndagID: load\ntimeout: 1s\nheaders: {X-Key: '${env:JOBTEST_TOKEN}'}\nconf: {key: '${env:JOBTEST_TOKEN}'}\n"
		},
		Want: want,
	})
}

func TestARequestHasTheFormOfItsVersion(t *testing.T) {
	tests := map[string]struct{ version, extra, want string }{
		"nothing given, v1": {"v1", "", `{"dag_run_id":"orders~cron~2026-03-03T07~2"}`},
		"nothing given, v2": {"v2", "", `{"dag_run_id":"orders~cron~2026-03-03T07~2","logical_date":null}`},
		"conf":              {"v1", "conf: {n: 1, html: '<&'}\n", `{"conf":{"html":"<&","n":1},"dag_run_id":"orders~cron~2026-03-03T07~2"}`},
		"a date of one's own": {
			"v2", "body: {logical_date: '${DATE}T00:00:00Z', note: x}\n",
			`{"dag_run_id":"orders~cron~2026-03-03T07~2","logical_date":"2026-03-03T00:00:00Z","note":"x"}`,
		},
	}
	for name, tt := range tests {
		s := newServer(t, tt.version)
		a := attempt(t, s.config("load.all", tt.extra))
		if _, err := newType(t, s.URL, "127.0.0.1").Start(t.Context(), a); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		call := s.wire.Calls()[0]
		if diff := cmp.Diff(tt.want, string(call.Body)); diff != "" || call.Method != "POST" || call.URI != "/team/api/"+tt.version+"/dags/load.all/dagRuns" {
			t.Errorf("%s: %s %s (-want +got):\n%s", name, call.Method, call.URI, diff)
		}
	}
}

// attempt returns the attempt of a new run.
func attempt(t *testing.T, config string) job.Attempt {
	t.Helper()
	return jobtest.Expand(t, jobtest.AttemptOf(t, "orders/cron/2026-03-03T07/2"), config, new(airflow.Config))
}

func TestAnotherRunOfTheSameLogicalDateIsNotAdopted(t *testing.T) {
	s := newServer(t, "v2")
	s.dates["2026-03-03T00:00:00Z"] = "somebody's"
	a := attempt(t, s.config("load", "body: {logical_date: '${DATE}T00:00:00Z'}\n"))
	_, err := newType(t, s.URL, "127.0.0.1").Start(t.Context(), a)
	refusal := (*job.Refusal)(nil)
	if !errors.As(err, &refusal) || refusal.Category != run.Permanent || !strings.Contains(refusal.Reason, "another run has the same logical date") {
		t.Errorf("got %v", err)
	}
}

func TestAMissingDAGRunIsToldApartFromAWrongPath(t *testing.T) {
	s := newServer(t, "v2")
	kind := newType(t, s.URL, "127.0.0.1")
	a := attempt(t, s.config("load", ""))
	if _, err := kind.Status(t.Context(), a, handle(a.ID)); !errors.Is(err, job.ErrUnknownHandle) {
		t.Errorf("gone: got %v", err)
	}
	if _, err := kind.Status(t.Context(), a, "another"); !errors.Is(err, job.ErrUnknownHandle) || len(s.wire.Calls()) != 1 {
		t.Errorf("of another attempt: got %v after %d calls", err, len(s.wire.Calls()))
	}
	wrong := attempt(t, strings.Replace(s.config("load", ""), "/team/", "/", 1))
	if _, err := kind.Status(t.Context(), wrong, handle(a.ID)); err == nil || errors.Is(err, job.ErrUnknownHandle) {
		t.Errorf("wrong path: got %v", err)
	}
	for _, body := range []string{`{"detail": "Not Found"}`, `{"message": "no route for ` + string(handle(a.ID)) + `"}`, `{}`} {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, body)
		}))
		a := attempt(t, "url: "+front.URL+"\ndagID: load\n")
		if _, err := kind.Status(t.Context(), a, handle(a.ID)); err == nil || errors.Is(err, job.ErrUnknownHandle) {
			t.Errorf("%s: got %v", body, err)
		}
		front.Close()
	}
}
