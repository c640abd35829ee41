package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == command.KeeperArg {
		os.Exit(command.Keep())
	}
	os.Exit(dynamotest.Main(m))
}

func inFunction(t *testing.T) inside {
	t.Helper()
	commands, err := command.New(command.Options{Jobs: filepath.Join(t.TempDir(), "jobs"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	return inside{commands: commands}
}

func TestCommandHasEndedWhenItsStartReturns(t *testing.T) {
	for text, want := range map[string]run.Result{"true": run.ResultSuccess, "exit 3": run.ResultFail} {
		config := &command.Config{Command: document.TextOrList{Values: []string{text}, IsText: true}, Shell: true}
		started, err := inFunction(t).Start(t.Context(), job.Attempt{ID: "orders/cron/2026-03-03/1", Config: config})
		if err != nil || started.Result == nil || started.Result.Result != want {
			t.Errorf("%q: %+v, %v", text, started, err)
		}
	}
}

// A pipeline with a command may have been accepted before the deployment stopped offering them.
func TestDeploymentWithoutCommandsRunsNone(t *testing.T) {
	kind := inFunction(t)
	kind.off = true
	ran := filepath.Join(t.TempDir(), "ran")
	config := &command.Config{Command: document.TextOrList{Values: []string{"touch", ran}}}
	_, err := kind.Start(t.Context(), job.Attempt{ID: "orders/cron/2026-03-03/1", Config: config})
	var refused *job.Refusal
	if !errors.As(err, &refused) || refused.Category != run.Permanent || !strings.Contains(err.Error(), "enable_command_trigger") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command has run")
	}
}

func TestCommandRunsNoLongerThanItsFunction(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: longest, time.Minute: time.Minute, time.Hour: longest} {
		if got, is := (inside{}).Limit(&command.Config{Timeout: document.Duration(timeout)}); !is || got != want {
			t.Errorf("timeout %s: %s, %t; want %s", timeout, got, is, want)
		}
	}
}

// A command in another function cannot be searched for: such a start is held, and never silently
// repeated.
func TestCommandCanNeitherBeFoundNorRepeated(t *testing.T) {
	var kind job.Type = inside{}
	if _, is := kind.(job.Finder); is {
		t.Error("it claims to be searchable")
	}
	if _, is := kind.(job.Deduplicator); is {
		t.Error("it claims to reject repeats")
	}
	if _, is := kind.(job.Local); is {
		t.Error("it claims to belong to one controller")
	}
}
