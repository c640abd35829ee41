//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// action is the content of action.yml.
type action struct {
	Inputs map[string]struct {
		Default  string `yaml:"default"`
		Required bool   `yaml:"required"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Value string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Steps []struct {
			ID               string            `yaml:"id"`
			Shell            string            `yaml:"shell"`
			WorkingDirectory string            `yaml:"working-directory"`
			Env              map[string]string `yaml:"env"`
			Run              string            `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"runs"`
}

const actionDir = "../../integrations/github-action"

func readAction(t *testing.T) action {
	t.Helper()
	isInput(t, actionDir)
	text, err := os.ReadFile(filepath.Join(actionDir, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Runs.Steps) != 1 || a.Runs.Steps[0].Shell != "bash" {
		t.Fatalf("the steps are %+v", a.Runs.Steps)
	}
	return a
}

// expression matches an expression that GitHub replaces.
var expression = regexp.MustCompile(`\$\{\{ *(\S+?) *\}\}`)

// workflow runs the action's step as GitHub does.
type workflow struct {
	*daemon
	action action
}

func (w *workflow) fill(text string, inputs map[string]string) string {
	w.Helper()
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		name := expression.FindStringSubmatch(found)[1]
		if input, ok := strings.CutPrefix(name, "inputs."); ok {
			in, known := w.action.Inputs[input]
			if !known {
				w.Fatalf("action.yml has no input %s", input)
			}
			if given, ok := inputs[input]; ok {
				return given
			}
			if in.Required {
				w.Fatalf("input %s is required", input)
			}
			return in.Default
		}
		known, ok := map[string]string{"github.repository": "acme/etl", "github.run_id": "77", "github.run_attempt": "2"}[name]
		if !ok {
			w.Fatalf("action.yml uses %s", name)
		}
		return known
	})
}

func (w *workflow) command(inputs map[string]string) *exec.Cmd {
	w.Helper()
	step := w.action.Runs.Steps[0]
	for name, value := range map[string]string{"server": w.url, "token": "", "pipeline": "orders", "date": execDay, "interlock": w.binary} {
		if _, given := inputs[name]; !given {
			inputs[name] = value
		}
	}
	w.write("step.sh", step.Run)
	w.write("outputs", "")
	path, err := filepath.Abs(actionDir)
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", w.path("step.sh"))
	cmd.Dir = filepath.Join(w.dir, w.fill(step.WorkingDirectory, inputs))
	cmd.Env = append(os.Environ(), "GITHUB_ACTION_PATH="+path, "GITHUB_OUTPUT="+w.path("outputs"), "INTERLOCK_CONFIG_HOME="+w.dir)
	for name, value := range step.Env {
		cmd.Env = append(cmd.Env, name+"="+w.fill(value, inputs))
	}
	return cmd
}

// given returns the outputs of the step, by their names in action.yml.
func (w *workflow) given() map[string]string {
	w.Helper()
	text, err := os.ReadFile(w.path("outputs"))
	if err != nil {
		w.Fatal(err)
	}
	written := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		written["steps."+w.action.Runs.Steps[0].ID+".outputs."+name] = value
	}
	given := map[string]string{}
	for name, output := range w.action.Outputs {
		value, ok := written[expression.FindStringSubmatch(output.Value)[1]]
		if !ok {
			w.Errorf("the step does not write output %s", name)
		}
		given[name] = value
	}
	return given
}

func TestGitHubActionRunsUnderTheGate(t *testing.T) {
	w := &workflow{daemon: execGround(t, ""), action: readAction(t)}
	w.pipeline("late", strings.ReplaceAll(externalJob, "landed", "arrived"))
	until(t, "the pipeline is active", func() bool {
		_, err := w.api.Gate(t.Context(), "late", execDay)
		return err == nil
	})
	const away = "http://127.0.0.1:1"
	for _, c := range []struct {
		name         string
		inputs       map[string]string
		code, stdout string
		ran          string
	}{
		{"a failing script", map[string]string{"run": "echo \"$INTERLOCK_DATE\"\nfalse\necho not reached"}, "1", execDay + "\n", "true"},
		{"the second attempt, with text that looks like code", map[string]string{"run": "echo '\"; exit 9; \"' \"$(echo it)\" `echo ran`", "wait": "30s"}, "0", "\"; exit 9; \" it ran\n", "true"},
		{"a COMPLETED run", map[string]string{"run": "echo it ran"}, "0", "", "false"},
		{"a closed gate", map[string]string{"run": "echo it ran", "pipeline": "late"}, "100", "", "false"},
		{"a name that looks like code", map[string]string{"run": "echo it ran", "pipeline": "$(touch code)"}, "102", "", "false"},
		{"no server", map[string]string{"run": "echo it ran", "server": away}, "103", "", "false"},
		{"no server, and open", map[string]string{"run": "echo it ran; exit 7", "server": away, "on-unreachable": "open"}, "7", "it ran\n", "true"},
		{"no binary", map[string]string{"run": "echo it ran", "interlock": "no-such-binary"}, "127", "", "false"},
	} {
		got := runToEnd(t, w.command(c.inputs))
		if diff := cmp.Diff(map[string]string{"exit-code": c.code, "ran": c.ran}, w.given()); diff != "" || got.stdout != c.stdout {
			t.Errorf("%s: %+v, -want +got: %s", c.name, got, diff)
		}
	}
	if _, err := os.Stat(w.path("code")); err == nil {
		t.Error("the shell executed an input as code")
	}
	if r := w.reaches(execRun, client.Completed); *r.Worker != "github:acme/etl/77/2" {
		t.Errorf("the worker is %s", *r.Worker)
	}
}

// On cancellation, GitHub interrupts the step's own process.
func TestCancelledWorkflowReportsItsAttempt(t *testing.T) {
	w := &workflow{daemon: execGround(t, ""), action: readAction(t)}
	cmd := w.command(map[string]string{"run": "echo $$ >" + w.path("pid") + "; while :; do sleep 0.05; done"})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command runs", func() bool {
		text, err := os.ReadFile(w.path("pid"))
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the result is in ProcessState
	if diff := cmp.Diff(map[string]string{"exit-code": "143", "ran": "true"}, w.given()); diff != "" || cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("%v, -want +got: %s", cmd.ProcessState, diff)
	}
	if first := w.reaches(execRun, client.Triggering).Attempts[0]; *first.Category != "TRANSIENT" || !strings.Contains(*first.Message, "signal 15") {
		t.Errorf("reported %+v", first)
	}
}
