//go:build linux

package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/run"
)

// BenchmarkBare is the lower bound of a start: the program starts and exits at once.
func BenchmarkBare(b *testing.B) {
	for b.Loop() {
		exec.Command("/proc/self/exe", deadArg).Run()
	}
}

func BenchmarkStart(b *testing.B) {
	kind, err := command.New(command.Options{Jobs: filepath.Join(b.TempDir(), "jobs"), Getenv: os.Getenv})
	if err != nil {
		b.Fatal(err)
	}
	config := &command.Config{Command: document.TextOrList{Values: []string{"/bin/true"}}}
	for n := 0; b.Loop(); n++ {
		a := job.Attempt{ID: run.AttemptID(fmt.Sprintf("bench/cron/2026-03-03/%d", n)), Config: config}
		started, err := kind.Start(b.Context(), a)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := kind.Wait(b.Context(), a, started.Handle); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
