package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPreCommitHookRunsValidateOnTheRightFiles(t *testing.T) {
	hooks := documents[[]struct {
		ID    string   `yaml:"id"`
		Entry string   `yaml:"entry"`
		Lang  string   `yaml:"language"`
		Files string   `yaml:"files"`
		Needs []string `yaml:"additional_dependencies"`
	}](t, ".pre-commit-hooks.yaml")[0]
	if len(hooks) != 1 || hooks[0].Entry != "interlock validate" || hooks[0].Lang != "golang" {
		t.Fatalf("%+v", hooks)
	}
	if _, err := os.Stat(filepath.Join(root, hooks[0].Needs[0])); err != nil {
		t.Error(err)
	}
	files := regexp.MustCompile(hooks[0].Files)
	for name, want := range map[string]bool{
		"pipelines/orders.yaml": true, "team/pipelines/deep/x.yml": true, "interlock.yaml": true, "calendars/us.yaml": true,
		"sources/a.yaml": true, "chart/values.yaml": false, "pipelines/readme.md": false, "mypipelines/x.yaml": false,
	} {
		if files.MatchString(name) != want {
			t.Errorf("%s: matched %t, want %t", name, !want, want)
		}
	}
}

// The action's script runs with a fake interlock that records its arguments.
func TestValidateActionCallsValidate(t *testing.T) {
	action := documents[struct {
		Runs struct {
			Steps []struct {
				Name string `yaml:"name"`
				Run  string `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}](t, "integrations/github-action-validate/action.yml")[0]
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "interlock"), []byte("#!/bin/sh\necho \"$@\" >>\"$CALLS\"\necho '{}'\nexit 1\n"), 0o755))
	calls := filepath.Join(dir, "calls")
	for _, step := range action.Runs.Steps {
		cmd := exec.Command("bash", "-e", "-c", step.Run)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls, "CHECK_PATH=pipelines calendars", "CHECK_ARGS=--platform aws",
			"SARIF="+filepath.Join(dir, "out.sarif"), "VERSION=v0", "RUNNER_TEMP="+dir, "GITHUB_PATH="+filepath.Join(dir, "path"))
		out, err := cmd.CombinedOutput()
		if step.Name == "Validate" && err == nil {
			t.Errorf("the step passes although validate fails: %s", out)
		} else if step.Name != "Validate" && err != nil {
			t.Errorf("%s: %v\n%s", step.Name, err, out)
		}
	}
	text, err := os.ReadFile(calls)
	check(t, err)
	want := []string{"validate pipelines calendars --platform aws --format sarif", "validate pipelines calendars --platform aws --format github"}
	if got := strings.Split(strings.TrimSpace(string(text)), "\n"); !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
}
