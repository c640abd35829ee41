package probe_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func TestAnswerBecomesAReadingWithItsValueSpreadOut(t *testing.T) {
	for text, want := range map[string]sensor.Fields{
		`{"status": "PASS"}`:         {"status": "PASS"},
		" {\"status\": \"PASS\"} \n": {"status": "PASS"},
		`{"status": "FAIL", "value": {"count": 3, "newest": "2026-03-03T10:00:00Z"}, "reason": "too few", "failureCategory": "TRANSIENT"}`: {
			"status": "FAIL", "count": int64(3), "newest": "2026-03-03T10:00:00Z", "reason": "too few", "failureCategory": "TRANSIENT",
		},
		`{"status": "PASS", "value": null, "reason": null, "host": "db1"}`: {"status": "PASS"},
		`{"status": "PASS", "value": {"Status": "FAILED"}}`:                {"status": "PASS", "Status": "FAILED"},
	} {
		a, err := probe.ParseAnswer([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, a.Fields()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestInvalidAnswerSaysWhatItShouldBe(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "answer is empty",
		" \n":                              "answer is empty",
		"ok":                               "anything else to stderr",
		"[1]":                              "not one JSON object",
		`{"status": "PASS"} {}`:            "not one JSON object",
		`{"value": {}}`:                    `has no status; it must be "PASS" or "FAIL"`,
		`{"status": "pass"}`:               `the status "pass"; it must be "PASS" or "FAIL"`,
		`{"status": true}`:                 `the status "true"`,
		`{"status": "PASS", "value": 3}`:   "value of its answer is not an object",
		`{"status": "PASS", "reason": []}`: "the reason of its answer is not text",
		`{"status": "FAIL", "failureCategory": 1}`:                     "the failureCategory of its answer is not text",
		`{"status": "PASS", "value": {"status": "FAILED"}}`:            `has a field "status", which every answer has itself; give it another name in value`,
		`{"status": "PASS", "value": {"status": "PASS"}}`:              `has a field "status"`,
		`{"status": "PASS", "value": {"n": 1, "reason": null}}`:        `has a field "reason"`,
		`{"status": "FAIL", "value": {"failureCategory": "mine"}}`:     `has a field "failureCategory"`,
		`{"status": "PASS", "a": "` + strings.Repeat("x", 1<<17) + `"`: "not one JSON object",
	} {
		if _, err := probe.ParseAnswer([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

func TestLongReasonIsCutAtAWholeCharacter(t *testing.T) {
	text, err := json.Marshal(map[string]any{"status": "FAIL", "reason": strings.Repeat("ä", 900)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := probe.ParseAnswer(text)
	if want := strings.Repeat("ä", 500) + "…"; err != nil || a.Reason != want {
		t.Errorf("got %d bytes, %v", len(a.Reason), err)
	}
}

func TestProbeThatBreaksIsAskedLessAndLessOften(t *testing.T) {
	s := probe.State{}.For("v1")
	now, last := noon, time.Duration(0)
	for n := 1; n <= 12; n++ {
		s = s.Break(&probe.Failure{Category: run.Timeout, Reason: "slow"}, now)
		wait := s.Rest.Sub(now)
		if !s.Resting(now) || s.Resting(s.Rest) || wait < last || wait > 15*time.Minute {
			t.Errorf("after %d failures it rests for %s, after one less for %s", n, wait, last)
		}
		if s.Open() != (n >= 5) || s.Failures != n || !s.Since.Equal(noon) || !s.Failed.Equal(now) {
			t.Errorf("after %d failures: %+v", n, s)
		}
		now, last = s.Rest, wait
	}
	if last != 15*time.Minute {
		t.Errorf("it rests for %s in the end", last)
	}
}

func TestFailureLeavesTheLastAnswerAndAnAnswerEndsTheFailures(t *testing.T) {
	expires := noon.Add(time.Hour)
	answered := probe.State{}.For("v1").Answer(probe.Answer{Status: probe.Fail, Reason: "late"}, "2026-03-03", noon.Add(-time.Second), noon, expires)
	want := probe.State{Config: "v1", Answered: noon, Took: time.Second, Period: "2026-03-03", Status: probe.Fail, Reason: "late", ExpiresAt: expires}
	if diff := cmp.Diff(want, answered); diff != "" {
		t.Error(diff)
	}
	broken := answered.Break(&probe.Failure{Reason: "crash"}, noon.Add(time.Minute))
	if broken.Status != probe.Fail || !broken.ExpiresAt.Equal(expires) || broken.Failure != "crash" {
		t.Errorf("after a failure: %+v", broken)
	}
	if diff := cmp.Diff(want, broken.Answer(probe.Answer{Status: probe.Fail, Reason: "late"}, "2026-03-03", noon.Add(-time.Second), noon, expires)); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherVersionOfTheFileIsANewBeginning(t *testing.T) {
	s := probe.State{}.For("v1")
	for range 9 {
		s = s.Break(&probe.Failure{Reason: "no such program"}, noon)
	}
	if same := s.For("v1"); !same.Open() || !same.Resting(noon) {
		t.Errorf("the same version: %+v", same)
	}
	if next := s.For("v2"); next.Open() || next.Resting(noon) || next.Failure != "" {
		t.Errorf("another version: %+v", next)
	}
}

func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"status":"PASS","value":{"a":[1,2.5,null,{"b":"c"}]},"reason":"ä"}`, `{"status":"FAIL","failureCategory":"TIMEOUT"}`, "[", `{"status":"PASS"}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := probe.ParseAnswer(text)
		if err != nil {
			return
		}
		if _, err := sensor.Normalize(map[string]any(a.Fields())); err != nil {
			t.Errorf("no store takes the reading of %q: %v", text, err)
		}
		if s := a.Fields()["status"]; s != "PASS" && s != "FAIL" {
			t.Errorf("the reading of %q has the status %v", text, s)
		}
	})
}

func TestAnswersAreReadBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reason := rapid.StringN(0, 100, 400).Draw(t, "reason")
		count := rapid.Int64().Draw(t, "count")
		text, err := json.Marshal(map[string]any{"status": "PASS", "reason": reason, "value": map[string]any{"count": count}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := probe.ParseAnswer(text)
		if err != nil {
			t.Fatal(err)
		}
		if a.Fields()["count"] != count || a.Reason != strings.ToValidUTF8(reason, "�") {
			t.Errorf("%s became %v", text, a.Fields())
		}
	})
}
