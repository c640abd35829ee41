package run_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/run"
)

func span(from, to int) run.Span { return run.Span{From: at(from), To: at(to)} }

func TestPresenceJoinsWhatTouches(t *testing.T) {
	for name, c := range map[string]struct {
		add, want []run.Span
	}{
		"one replica":              {[]run.Span{span(0, 1), span(1, 2), span(0, 3)}, []run.Span{span(0, 3)}},
		"an absence":               {[]run.Span{span(0, 1), span(5, 5), span(5, 6)}, []run.Span{span(0, 1), span(5, 6)}},
		"another replica was here": {[]run.Span{span(0, 1), span(5, 5), span(0, 6)}, []run.Span{span(0, 6)}},
		"the clock was ahead":      {[]run.Span{span(5, 6), span(0, 1)}, []run.Span{span(0, 1)}},
		"long ago":                 {[]run.Span{span(0, 1), span(5000, 5001)}, []run.Span{span(5000, 5001)}},
	} {
		var p run.Presence
		for _, s := range c.add {
			p = p.Add(s)
		}
		if diff := cmp.Diff(c.want, p.Spans); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The worker was heard at minute 10 and may be silent for two minutes.
func TestOnlyARecordedAbsenceExcusesAWorker(t *testing.T) {
	for name, c := range map[string]struct {
		spans  []run.Span
		lost   int
		proven bool
	}{
		"a replica was there":         {[]run.Span{span(0, 20)}, 12, true},
		"no replica was there since":  {[]run.Span{span(0, 11)}, 12, false},
		"nothing is known":            {nil, 12, false},
		"away, and back":              {[]run.Span{span(0, 11), span(30, 33)}, 32, true},
		"just back":                   {[]run.Span{span(0, 11), span(30, 30)}, 32, false},
		"away before it was heard":    {[]run.Span{span(0, 5), span(9, 20)}, 12, true},
		"away after it was lost":      {[]run.Span{span(0, 15), span(30, 40)}, 12, true},
		"away twice":                  {[]run.Span{span(0, 11), span(20, 21), span(30, 40)}, 32, true},
		"away again once it was lost": {[]run.Span{span(0, 11), span(20, 25), span(30, 40)}, 22, true},
		"away when it was heard":      {[]run.Span{span(11, 40)}, 13, true},
	} {
		var p run.Presence
		p.Spans = c.spans
		if lost, proven := p.SilentUntil(at(10), at(12), 2*time.Minute, at(60)); !lost.Equal(at(c.lost)) || proven != c.proven {
			t.Errorf("%s: lost at %s, proven: %t", name, lost, proven)
		}
	}
}
