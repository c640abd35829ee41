package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
)

func TestTheStoryHasTheSameDataWheneverItIsTold(t *testing.T) {
	other := someMinute.Add(777, time.UTC)
	for _, make := range []func(lake, period.Period) *source{earthquakes, crypto} {
		for n := range played {
			a := make("", someMinute).records(someMinute.Add(n, time.UTC))
			b := make("", other).records(other.Add(n, time.UTC))
			for i := range b {
				b[i].Time = b[i].Time.Add(-777 * time.Minute)
			}
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("minute %d (-now +later):\n%s", n, diff)
			}
			if len(a) != perMinute {
				t.Errorf("%d records in a minute", len(a))
			}
		}
	}
}

func TestMinutesDiffer(t *testing.T) {
	s := earthquakes("", someMinute)
	if cmp.Equal(s.records(someMinute), s.records(someMinute.Add(1, time.UTC))) {
		t.Error("two minutes have the same records")
	}
}

func TestALateRecordIsTheStrongestOfAll(t *testing.T) {
	s := earthquakes("", someMinute)
	late := s.lateRecord(someMinute, 1)
	for n := range 100 {
		for _, r := range s.records(someMinute.Add(n, time.UTC)) {
			if r.Value != nil && *r.Value >= *late.Value {
				t.Errorf("minute %d has one of %g", n, *r.Value)
			}
		}
	}
}
