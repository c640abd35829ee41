package main

import (
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/settings"
)

func TestEveryTypeThatAFileMayNameIsRun(t *testing.T) {
	j, err := newJobs(settings.Default(), os.Getenv, api.Callbacks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range all.Kinds() {
		if j.types[kind.Name] == nil {
			t.Errorf("the server cannot run jobs of type %s", kind.Name)
		}
	}
	if len(j.types) != len(all.Kinds()) {
		t.Errorf("%d types for %d names", len(j.types), len(all.Kinds()))
	}
}

// TestAServerRunsJobsElsewhere also searches for the secret in everything that the server prints.
func TestAServerRunsJobsElsewhere(t *testing.T) {
	file := func(id, url string) string {
		job := strings.Replace(airflowJob(url, "${env:TOKEN}"), "job: {", "job: {pollInterval: 1s, maxCodeRetries: 0, ", 1)
		return "pipeline: {id: " + id + ", owner: me}\n" + job
	}
	s := serve(t, site{
		pipelines: map[string]string{
			"good.yaml":   file("good", aDAG(t, "success").URL),
			"failed.yaml": file("failed", aDAG(t, "failed").URL),
			"denied.yaml": strings.Replace(file("denied", aDAG(t, "success").URL), "Bearer ", "Bearer x", 1),
		},
		config: "egress: {allow: [127.0.0.1]}\nsecrets: {env: [TOKEN]}\n",
		env:    map[string]string{"TOKEN": "Zq9Xv8Jw7Kp6"},
	})
	wants := map[string]struct {
		status  client.Status
		message string
	}{
		"good":   {client.Completed, "the DAG run succeeded"},
		"failed": {client.FailedFinal, "the DAG run failed"},
		"denied": {client.FailedFinal, "answered 401 Unauthorized: Unauthorized: not with Bearer x***"},
	}
	for id := range wants {
		s.must(exitFine, "trigger", id, "--date", "2026-03-03")
	}
	for id, want := range wants {
		s.reaches(id+"/manual/2026-03-03", want.status)
		shown := s.must(exitFine, "run", "show", id, "--date", "2026-03-03").stdout
		if !strings.Contains(shown, want.message) {
			t.Errorf("%s: no %q in\n%s", id, want.message, shown)
		}
		if id != "denied" && !strings.Contains(shown, id+"~manual~2026-03-03~1") {
			t.Errorf("%s does not show its DAG run:\n%s", id, shown)
		}
	}
	told := s.must(exitFine, "events", "--format", "json").stdout + s.must(exitFine, "runs", "--format", "json").stdout
	if strings.Contains(told, "Zq9X") || !strings.Contains(told, "***") {
		t.Errorf("the output contains a secret:\n%s", told)
	}
}

func TestProgramsOfTheServersFile(t *testing.T) {
	with := func(text string) settings.File {
		f, problems := settings.Parse("f", []byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return f
	}
	policy, err := programs(with("jobs: {command: off, user: no-such-user, memory: 1GiB, processes: 0, cgroup: off}\n"))
	if want := (program.Policy{Off: true, Limits: program.Limits{Memory: 1 << 30, Output: 4 << 30}}); err != nil || policy != want {
		t.Errorf("got %+v, %v", policy, err)
	}
	for text, want := range map[string]string{
		"jobs: {user: no-such-user}\n":        `jobs.user: there is no user "no-such-user"`,
		"jobs: {cgroup: " + t.TempDir() + "}": "jobs.cgroup: ",
	} {
		if _, err := programs(with(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
