package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckedInPageIsFresh(t *testing.T) {
	page, err := os.ReadFile("../../../docs/EVENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(render(), string(page)); diff != "" {
		t.Errorf("docs/EVENTS.md does not match the catalogue; run `make generate` (-want +got):\n%s", diff)
	}
}
