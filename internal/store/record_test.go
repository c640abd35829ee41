package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

func TestWithoutTextsKeepsNames(t *testing.T) {
	source := func(name, text string) pipeline.Source { return pipeline.Source{File: name, Data: []byte(text)} }
	full := store.Config{Pipeline: "orders", Version: "v1", File: source("a", "x"), Calendars: []pipeline.Source{source("b", "y")}}
	got := full.WithoutTexts()
	want := store.Config{Pipeline: "orders", Version: "v1", File: pipeline.Source{File: "a"}, Calendars: []pipeline.Source{{File: "b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if string(full.Calendars[0].Data) != "y" {
		t.Error("the config itself lost its text")
	}
}
