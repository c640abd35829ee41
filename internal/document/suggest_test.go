package document_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/document"
)

func TestSuggestionsAreNear(t *testing.T) {
	known := []string{"schedule", "sla", "validation", "job", "postRun", "timezone", "time"}
	tests := map[string]string{
		"schedul": "schedule", "shcedule": "schedule", "SCHEDULE": "schedule", "scheduel": "schedule", "schedules": "schedule",
		"postrun": "postRun", "post_run": "postRun", "jobs": "job", "timzone": "timezone", "tiem": "time",
		"validaton": "validation", "x": "", "sl": "sla", "xyz": "", "": "", "pipeline": "", "é": "", strings.Repeat("schedule", 1000): "",
	}
	for word, want := range tests {
		got, ok := document.Suggest(word, known)
		if got != want || ok != (want != "") {
			t.Errorf("%.20s: got %q, %v; want %q", word, got, ok, want)
		}
	}
	if got, ok := document.Suggest("x", nil); ok {
		t.Errorf("suggested %q of nothing", got)
	}
}
