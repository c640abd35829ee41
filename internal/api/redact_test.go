package api_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// withSecret is a pipeline whose job gets a secret, and may report its own result.
const withSecret = `
pipeline: {id: nightly, owner: data}
job: {type: command, config: {command: [load], env: {PASSWORD: "${env:PASSWORD}"}}, maxRetries: 0}
`

const (
	password = "Zq9-Xv8-Jw7"
	known    = "runner-token-0123456789"
)

// newSecretive returns a world with an open run of withSecret, whose job runs, and the job's
// callback token. The secret can be read unless it is gone.
func newSecretive(t *testing.T, gone *bool) (*world, string) {
	t.Helper()
	w := newWorld(t, func(d *api.Deps) {
		secrets, err := job.NewSecrets([]string{"PASSWORD"}, nil, func(string) (string, bool) { return password, !*gone })
		if err != nil {
			t.Fatal(err)
		}
		d.Expand = all.Expander(secrets, callbacks.For)
		d.Settings.Tokens = []api.Token{{Name: "ops", Role: api.RoleOperator, Secret: known}}
	})
	w.token = known
	w.Apply(withSecret)
	w.Settle()
	w.post("/api/v1/runs", `{"pipeline":"nightly","date":"2026-03-02"}`).object(201)
	w.Settle()
	day, err := period.Parse("2026-03-02")
	w.Check(err)
	return w, callbacks.For(run.Key{Pipeline: "nightly", Schedule: "manual", Period: day}, 1).Token
}

// shows fails the test if the run, its events or the log contain one of the secrets.
func (w *world) shows(secrets ...string) {
	w.Helper()
	seen := map[string]string{
		"run": string(w.get(nightlyRun).body), "output": string(w.get(nightlyRun + "/output").body),
		"events": string(w.get("/api/v1/events?pipeline=nightly").body), "log": w.log.String(),
	}
	for where, text := range seen {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				w.Errorf("the %s contains %s: %s", where, secret, text)
			}
		}
	}
}

func TestReportedTextsShowNoTokens(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	permit := w.post(nightlyRun+"/claim", `{"worker":"w1"}`).object(200)["permit"].(string)
	w.Settle()
	bearer := "Authorization: Bearer " + permit
	coded := base64.RawStdEncoding.EncodeToString([]byte(permit))
	w.post(nightlyRun+"/heartbeat", fmt.Sprintf(`{"output":"env: %s, %s"}`, permit, coded), bearer).object(200)
	w.shows(permit, coded)
	if o := w.get(nightlyRun + "/output").object(200); o["output"] != "env: ***, ***" {
		t.Errorf("the output is %v", o["output"])
	}
	w.post(nightlyRun+"/job", fmt.Sprintf(`{"result":"fail","message":"exit code 1: %s","output":"env: %s"}`, permit, permit), bearer).object(200)
	w.Settle()
	w.shows(permit)
	if r := w.get(nightlyRun).object(200); !strings.Contains(fmt.Sprint(r["attempts"]), "exit code 1: ***") {
		t.Errorf("the message is not redacted but missing: %v", r["attempts"])
	}
	w.post(nightlyRun+"/job", fmt.Sprintf(`{"result":"success","message":"late %s"}`, permit), bearer).problem(409, "claim-lost")
	w.shows(permit)
}

func TestReportedTextsShowNoSecretsOfTheJob(t *testing.T) {
	w, token := newSecretive(t, new(bool))
	w.post(nightlyRun+"/job", fmt.Sprintf(`{"result":"fail","message":"login with %s and %s failed"}`, password, token), "Authorization: Bearer "+token).object(200)
	w.Settle()
	w.shows(password, token)
	if r := w.get(nightlyRun).object(200); !strings.Contains(fmt.Sprint(r["attempts"]), "login with *** and *** failed") {
		t.Errorf("the attempts are %v", r["attempts"])
	}
}

func TestOperatorsReportShowsNeitherSecretsNorTokens(t *testing.T) {
	w, token := newSecretive(t, new(bool))
	w.post(nightlyRun+"/job", fmt.Sprintf(`{"result":"fail","message":"%s, %s, %s"}`, password, token, known)).object(200)
	w.Settle()
	w.shows(password, token, known)
}

// A secret that cannot be read cannot be found in a message either. The result still counts.
func TestMessageIsNotStoredIfItsSecretsCannotBeRead(t *testing.T) {
	gone := false
	w, token := newSecretive(t, &gone)
	gone = true
	w.post(nightlyRun+"/job", fmt.Sprintf(`{"result":"fail","message":"login with %s failed"}`, password), "Authorization: Bearer "+token).object(200)
	w.Settle()
	w.shows(password)
	r := w.get(nightlyRun).object(200)
	if !strings.Contains(fmt.Sprint(r["attempts"]), "the message was not stored") || r["status"] != "FAILED_FINAL" {
		t.Errorf("the run is %v: %v", r["status"], r["attempts"])
	}
}

// The secrets of a job are in the version of the file that its attempt opened with. Without that
// version, any text may contain one.
func TestMessageIsNotStoredIfTheVersionOfItsJobIsNotAvailable(t *testing.T) {
	for name, configs := range map[string][]store.Config{
		"not stored": nil,
		"broken":     {{Pipeline: "nightly", Version: "lost", File: pipeline.Source{File: "2.yaml", Data: []byte("pipeline: {id: nightly}")}}},
	} {
		t.Run(name, func(t *testing.T) {
			w, token := newSecretive(t, new(bool))
			w.loseVersion("nightly/manual/2026-03-02", configs...)
			w.post(nightlyRun+"/job", fmt.Sprintf(`{"result":"fail","message":"login with %s failed","output":"%s"}`, password, password), "Authorization: Bearer "+token).object(200)
			w.shows(password)
			r, err := w.Store.Run(ctx, w.Key("nightly/manual/2026-03-02"))
			w.Check(err)
			if report := r.Progress.Report; report.Result != run.ResultFail || !strings.Contains(report.Message, "the message was not stored") {
				t.Errorf("the report is %+v", report)
			}
		})
	}
}

// loseVersion makes the version "lost" that of a run's attempt. It is not available, unless configs
// hold it.
func (w *world) loseVersion(key string, configs ...store.Config) {
	w.Helper()
	old, err := w.Store.Run(ctx, w.Key(key))
	w.Check(err)
	next := old
	next.Progress.Opening.ConfigVersion = "lost"
	next.Version++
	b := store.Batch{ID: "lose", Configs: configs}
	b.Swap(old, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
}
