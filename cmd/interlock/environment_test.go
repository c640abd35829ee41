package main

import (
	"os"
	"testing"
)

func TestTakenVariablesAreReadButNotInherited(t *testing.T) {
	t.Setenv("TAKEN", "secret")
	t.Setenv("LEFT", "plain")
	e := &environment{read: os.Getenv, unset: os.Unsetenv}
	e.take([]string{"TAKEN", "NOT_SET"})
	if got := e.get("TAKEN") + " " + e.get("LEFT") + e.get("NOT_SET"); got != "secret plain" {
		t.Errorf("read %q", got)
	}
	if _, there := os.LookupEnv("TAKEN"); there {
		t.Error("the variable is still in the environment")
	}
	e.take([]string{"TAKEN"}) // as a reload does
	if got := e.get("TAKEN"); got != "secret" {
		t.Errorf("after another take: %q", got)
	}
}
