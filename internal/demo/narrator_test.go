package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
)

var now = time.Date(2026, 3, 3, 10, 20, 30, 0, time.UTC)

// about is an event about someMinute of earthquake-silver.
func about(t event.Type, attempt int, message string, extra event.Extra) event.Event {
	return event.New(t, event.About{Pipeline: quakeSilver, Schedule: "stream", Date: someMinute, Attempt: attempt, At: now}, message, extra)
}

func TestColoursAreOnlyWhereTheyAreWanted(t *testing.T) {
	for _, colours := range []bool{false, true} {
		var out bytes.Buffer
		n := narrator{out: &out, colours: colours}
		n.heading("title")
		n.action(now, operator, "looks")
		n.event(about(event.JobCompleted, 1, "", event.Finished{}), "done")
		if got := strings.Contains(out.String(), "\x1b"); got != colours {
			t.Errorf("colours %t: %q", colours, out.String())
		}
	}
}

func TestWhatJobsPrintCannotMoveTheCursor(t *testing.T) {
	var out bytes.Buffer
	n := narrator{out: &out}
	n.event(about(event.JobCompleted, 1, "the job succeeded", event.Finished{}), "\x1b[2J\rgone")
	if got, want := out.String(), "  10:20:30  earthquake-silver 10:15: the job succeeded: ?[2J?gone (JOB_COMPLETED)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProseFitsEveryTerminal(t *testing.T) {
	var out bytes.Buffer
	n := narrator{out: &out}
	for _, c := range chapters {
		n.prose(c.prose)
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 || strings.Contains(line, "  ") {
			t.Errorf("too wide, or with gaps: %q", line)
		}
	}
}

func TestMinutesOfAnotherDayHaveTheirDate(t *testing.T) {
	tests := map[string]string{"2026-03-03T10:15": "10:15", "2026-01-01T00:00": "2026-01-01T00:00", "2026-03-03": "2026-03-03"}
	for name, want := range tests {
		p, err := period.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := short(p, now); got != want {
			t.Errorf("%s is shown as %s", name, got)
		}
	}
}
