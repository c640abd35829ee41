package explain_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/store"
)

// Every sentence has a code, and its times and commands are separate parts.
func TestExplanationHasCodesAndParts(t *testing.T) {
	w := newWorld(t, "pipeline: {id: nightly, owner: data}\nschedule: {cron: \"0 1 * * *\"}\n")
	x := w.explain("nightly", "2026-03-04")
	if x.State != explain.NotOpened || x.Said.Summary.Code != "opens-at" || x.Summary != "the schedule opens this run 2026-03-04T01:00:00Z (in 15h50m)" {
		t.Fatalf("got %q: %+v", x.Summary, x.Said.Summary)
	}
	if parts := x.Said.Summary.Parts; len(parts) != 2 || parts[1].Kind != reason.Instant || !parts[1].At.Equal(time.Date(2026, 3, 4, 1, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", parts)
	}
	_, err := w.Router.Pause(ctx, "nightly", store.Pause{By: "ada", Why: "migration"}, w.Now())
	w.Check(err)
	x = w.explain("nightly", "2026-03-04")
	if x.Said.Summary.Code != "paused" || len(x.Said.Reasons) == 0 || x.Said.Reasons[0].Code != "paused" || x.Said.Reasons[0].Param("by") != "ada" {
		t.Errorf("got %+v", x.Said)
	}
	if opens := x.Said.Opens; len(opens) == 0 || opens[0].Code != "resume" || opens[0].Parts[1].Kind != reason.Command || opens[0].Parts[1].Text != "interlock resume nightly" {
		t.Errorf("got %+v", opens)
	}
	if len(x.Said.Reasons) != len(x.Reasons) || len(x.Said.Opens) != len(x.Opens) {
		t.Errorf("%d of %d reasons and %d of %d hints have codes", len(x.Said.Reasons), len(x.Reasons), len(x.Said.Opens), len(x.Opens))
	}
}
