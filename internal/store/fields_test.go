package store_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

func samePeriod(a, b period.Period) bool { return a == b }

func stored[T any](t *testing.T, v T) T {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStoredNumbersStayExact(t *testing.T) {
	const large = int64(math.MaxInt64)
	post := store.PostRun{Key: key(t, "2026-03-03"), Version: 3, Baseline: map[string]sensor.Fields{
		"rows": {"count": large, "part": 0.5, "list": []any{large}}, "none": {},
	}}
	if diff := cmp.Diff(post, stored(t, post), cmp.Comparer(samePeriod)); diff != "" {
		t.Error(diff)
	}
	snapshot := store.Snapshot{
		ID: "s1", Outcome: rule.Pass,
		Leaves: []store.SeenLeaf{
			{Key: "rows", Needs: large, Value: large - 1, Outcome: rule.Unknown},
			{Key: "status", Needs: []any{large, "x"}, Outcome: rule.Fail},
		},
		Sensors: []store.SeenSensor{{Key: "rows", Version: large, Fields: sensor.Fields{"count": large}}, {Key: "status"}},
	}
	if diff := cmp.Diff(snapshot, stored(t, snapshot), cmp.Comparer(samePeriod)); diff != "" {
		t.Error(diff)
	}
}

func TestStoredFieldsAreNotRejectedForTheirSize(t *testing.T) {
	want := sensor.Fields{"text": strings.Repeat("<", sensor.MaxBytes)} // six times as long when escaped
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got sensor.Fields
	if err := got.UnmarshalJSON(text); err != nil || !sensor.SameData(got, want) {
		t.Errorf("read back %d fields, error %v", len(got), err)
	}
}

func TestStoredFieldsAreAnObject(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "1", `"text"`} {
		var got sensor.Fields
		if err := got.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was read as %v", text, got)
		}
	}
	var got sensor.Fields
	if err := got.UnmarshalJSON([]byte("null")); err != nil || got != nil {
		t.Errorf("null was read as %v, error %v", got, err)
	}
}
