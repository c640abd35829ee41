package panicked_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/panicked"
)

var none []int

func TestPanicIsAnErrorThatSaysWhere(t *testing.T) {
	err := panicked.Catch(func() error { return errors.New(string(rune(none[3]))) })
	if err == nil || !strings.Contains(err.Error(), "index out of range [3]") || !strings.Contains(err.Error(), "panicked_test.go:14") {
		t.Errorf("got %v", err)
	}
	if stack := panicked.Stack(err); !strings.Contains(stack, "TestPanicIsAnErrorThatSaysWhere") {
		t.Errorf("stack %s", stack)
	}
}

func TestPanicTellsNoSecret(t *testing.T) {
	err := panicked.Catch(func() error { panic(errors.New("password hunter2")) })
	if err == nil || strings.Contains(err.Error()+panicked.Stack(err), "hunter2") || !strings.Contains(err.Error(), "*errors.errorString") {
		t.Errorf("got %v\n%s", err, panicked.Stack(err))
	}
}

func TestWithoutAPanicTheErrorIsTheFunctionsOwn(t *testing.T) {
	want := errors.New("no")
	if got := panicked.Catch(func() error { return want }); got != want || panicked.Stack(got) != "" {
		t.Errorf("got %v", got)
	}
	if err := panicked.Catch(func() error { return nil }); err != nil {
		t.Error(err)
	}
}
