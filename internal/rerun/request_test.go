package rerun_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
)

func TestRequestIsRejectedForItsFirstObstacle(t *testing.T) {
	input := []rerun.Seen{{Sensor: "orders/status", Content: "aa"}}
	changed := []rerun.Seen{{Sensor: "orders/status", Content: "bb"}}
	left, spent := rerun.Budget{Max: 1}, rerun.Budget{Used: 1, Max: 1}
	for name, c := range map[string]struct {
		facts  rerun.Facts
		budget rerun.Budget
		want   rerun.Rejection
		forced rerun.Rejection
	}{
		"completed with new input":  {rerun.Facts{Run: completed, Then: input, Now: changed}, left, "", ""},
		"failed for good":           {rerun.Facts{Run: state(run.FailedFinal, 3), Then: input, Now: input}, left, "", ""},
		"exhausted":                 {rerun.Facts{Run: exhausted}, left, "", ""},
		"cancelled":                 {rerun.Facts{Run: state(run.Cancelled, 1)}, left, "", ""},
		"no such run":               {rerun.Facts{}, left, rerun.NoSuchRun, ""},
		"pending":                   {rerun.Facts{Run: state(run.Pending, 1)}, left, rerun.AlreadyOpen, rerun.AlreadyOpen},
		"running":                   {rerun.Facts{Run: state(run.Running, 1)}, left, rerun.AlreadyOpen, rerun.AlreadyOpen},
		"failure being settled":     {rerun.Facts{Run: failed}, left, rerun.AlreadyOpen, rerun.AlreadyOpen},
		"job still running":         {rerun.Facts{Run: state(run.Cancelled, 1), JobRunning: true}, left, rerun.JobRunning, ""},
		"job that cannot be read":   {rerun.Facts{Run: state(run.Cancelled, 1), JobUnread: true}, left, rerun.JobRunning, ""},
		"excluded":                  {rerun.Facts{Run: completed, Then: input, Now: changed, Excluded: "weekend"}, left, rerun.Excluded, ""},
		"excluded and never opened": {rerun.Facts{Excluded: "weekend"}, left, rerun.Excluded, rerun.Excluded},
		"completed on the same":     {rerun.Facts{Run: completed, Then: input, Now: input}, left, rerun.NothingNew, ""},
		"budget spent":              {rerun.Facts{Run: completed, Then: input, Now: changed}, spent, rerun.BudgetSpent, ""},
		"budget spent, failed":      {rerun.Facts{Run: state(run.FailedFinal, 2)}, spent, rerun.BudgetSpent, ""},
	} {
		for _, force := range []bool{false, true} {
			want := c.want
			if force {
				want = c.forced
			}
			got := rerun.Decide(rerun.Request{Force: force}, c.facts, c.budget, noon)
			if got.Rejection != want || got.Open != (want == "") || got.Reason == "" {
				t.Errorf("%s, force %v: %+v, want %q", name, force, got, want)
			}
			if got.Open && !got.At.Equal(noon) {
				t.Errorf("%s, force %v: opens at %s", name, force, got.At)
			}
		}
	}
}

func TestOnlyAnAttemptThatWaitsForItsGateIsReplaced(t *testing.T) {
	queued := state(run.Pending, 1)
	queued.Progress.WaitingSince = noon
	for name, c := range map[string]struct {
		run  run.Run
		q    rerun.Request
		open bool
	}{
		"waiting":             {state(run.Pending, 1), rerun.Request{Force: true, BypassGate: true}, true},
		"without a bypass":    {state(run.Pending, 1), rerun.Request{Force: true}, false},
		"without force":       {state(run.Pending, 1), rerun.Request{BypassGate: true}, false},
		"waiting for a slot":  {queued, rerun.Request{Force: true, BypassGate: true}, false},
		"start call was made": {state(run.Triggering, 1), rerun.Request{Force: true, BypassGate: true}, false},
		"running":             {state(run.Running, 1), rerun.Request{Force: true, BypassGate: true}, false},
	} {
		if got := rerun.Decide(c.q, rerun.Facts{Run: c.run}, rerun.Budget{}, noon); got.Open != c.open {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOnlyNewDataCountsAsChanged(t *testing.T) {
	then := []rerun.Seen{
		{Sensor: "a", Content: "1"},
		{Sensor: "b", Content: "2"},
		{Sensor: "gone", Content: "3"},
		{Sensor: "absent"},
		{Sensor: "twice", Content: "5"},
		{Sensor: "twice"}, // once as a rule saw it, once as the start condition did
	}
	for name, c := range map[string]struct {
		now  []rerun.Seen
		want []string
	}{
		"nothing":               {nil, nil},
		"the same again":        {then, nil},
		"in another order":      {[]rerun.Seen{then[1], then[0]}, nil},
		"a reading gone":        {[]rerun.Seen{{Sensor: "gone"}, then[0]}, nil},
		"other data":            {[]rerun.Seen{{Sensor: "a", Content: "9"}, then[1]}, []string{"a"}},
		"a first reading":       {[]rerun.Seen{{Sensor: "absent", Content: "9"}}, []string{"absent"}},
		"a sensor not seen yet": {[]rerun.Seen{{Sensor: "new", Content: "9"}}, []string{"new"}},
		"one of two views":      {[]rerun.Seen{{Sensor: "twice", Content: "5"}, {Sensor: "twice", Content: "5"}}, nil},
		"several, sorted":       {[]rerun.Seen{{Sensor: "b", Content: "9"}, {Sensor: "a", Content: "9"}}, []string{"a", "b"}},
	} {
		if diff := cmp.Diff(c.want, rerun.Changed(then, c.now)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
