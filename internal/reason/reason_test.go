package reason_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/reason"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func TestSentenceIsBuiltFromItsParameters(t *testing.T) {
	r := reason.New("retry", "attempt {attempt} starts {at}: {command}, after {wait}",
		reason.Int("attempt", 2), reason.At("at", noon), reason.Part{Kind: reason.Command, Name: "command", Text: "interlock explain orders"},
		reason.For("wait", 90*time.Second), reason.Int("exitCode", 75))
	if got, want := r.String(), "attempt 2 starts 2026-03-03T12:00:00Z: `interlock explain orders`, after 1m30s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := r.StringAt(noon.Add(-5*time.Minute)), "attempt 2 starts 2026-03-03T12:00:00Z (in 5m): `interlock explain orders`, after 1m30s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.Param("exitCode"); got != "75" {
		t.Errorf("the parameter that the sentence does not mention is missing: %q", got)
	}
}

func TestUnknownBracesStay(t *testing.T) {
	r := reason.New("x", "got {\"a\": {b}} and {unknown}", reason.Str("b", "{c}"))
	if got, want := r.String(), `got {"a": {c}} and {unknown}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFormattedSentenceKeepsItsInstantsAndCommands(t *testing.T) {
	r := reason.Say("opens", "100%% of %d, next %s: `interlock trigger %s --date %s` %s", 3, reason.At("next", noon), "orders", "2026-03-03", "opens `it`")
	if got, want := r.String(), "100% of 3, next 2026-03-03T12:00:00Z: `interlock trigger orders --date 2026-03-03` opens `it`"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var kinds []reason.Kind
	for _, p := range r.Parts {
		kinds = append(kinds, p.Kind)
	}
	if len(kinds) != 5 || kinds[1] != reason.Instant || kinds[3] != reason.Command || r.Parts[3].Text != "interlock trigger orders --date 2026-03-03" {
		t.Errorf("got %+v", r.Parts)
	}
}
