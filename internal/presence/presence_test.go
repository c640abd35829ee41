package presence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/presence"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func span(from, to int) run.Span { return run.Span{From: at(from), To: at(to)} }

// attend is what one process does: it attends at these seconds after noon.
type attend []int

func TestRecordHasTheAbsencesOfAllReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		processes []attend
		want      []run.Span
	}{
		"one process":                  {[]attend{{0, 5, 10}}, []run.Span{span(0, 10)}},
		"restarted":                    {[]attend{{0, 5}, {9, 14}}, []run.Span{span(0, 5), span(9, 14)}},
		"suspended":                    {[]attend{{0, 5, 60, 65}}, []run.Span{span(0, 5), span(60, 65)}},
		"busy":                         {[]attend{{0, 5, 16, 21}}, []run.Span{span(0, 21)}},
		"crashes beside another":       {[]attend{{0, 5}, {0, 5, 10, 15, 20, 25}, {20, 25}}, []run.Span{span(0, 25)}},
		"the clock was set back a bit": {[]attend{{10, 5}}, []run.Span{span(5, 5), span(10, 10)}},
		"one writes for two":           {[]attend{{0, 6}, {1, 7}}, []run.Span{span(0, 6)}},
	} {
		s := memory.New()
		for _, process := range c.processes {
			r := presence.New(s)
			for _, seconds := range process {
				if err := r.Attend(t.Context(), at(seconds)); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := presence.Read(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Spans); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
