//go:build linux

package command_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// withoutDescriptors calls do while this process cannot open files.
func withoutDescriptors(t *testing.T, do func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	if _, err := os.Open(os.DevNull); !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("a file was opened all the same: %v", err)
	}
	do()
}

func TestControllerWithoutDescriptorsDoesNotFailTheJob(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("orders", p.config("", "exit", "0"))
	withoutDescriptors(t, func() {
		_, err := p.kind.Start(p.Context(), a)
		var refusal *job.Refusal
		if !errors.As(err, &refusal) || !refusal.Own || refusal.Category != run.Transient {
			t.Errorf("Start returned %#v, want a refusal that is the controller's own", err)
		}
	})
	p.end(a, p.start(a))
}
