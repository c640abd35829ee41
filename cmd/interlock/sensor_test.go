package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shelfFile has no schedule or job: its sensors start nothing.
const shelfFile = "pipeline: {id: shelf, owner: data}\n"

func TestSensorSetTakesValuesAsTheyAreWritten(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	s.must(0, "sensor", "set", "shelf", "facts", "n=1200", "big=9007199254740993", "part=1.5", "yes=true", "no=false", "none=null",
		"text=ready", "empty=", "quoted=\"7\"", "zero=07", "sum=a=b", "list=[1]", "two=1 2", "nan=NaN")
	got := s.must(0, "sensor", "get", "shelf", "facts", "--format", "json").stdout
	want := map[string]any{
		"n": json.Number("1200"), "big": json.Number("9007199254740993"), "part": json.Number("1.5"), "yes": true, "no": false, "none": nil,
		"text": "ready", "empty": "", "quoted": "7", "zero": "07", "sum": "a=b", "list": "[1]", "two": "1 2", "nan": "NaN",
	}
	if diff := cmp.Diff(any(want), parsed(t, got).(map[string]any)["data"]); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if shown := s.must(0, "sensor", "get", "shelf", "facts").stdout; !strings.Contains(shown, `"big":9007199254740993`) {
		t.Errorf("shown: %s", shown)
	}
}

func TestSensorSetReadsAFileOrStdin(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	s.must(0, "sensor", "set", "shelf", "file#2026-03-03", "--json", write(t, "facts.json", `{"rows": {"new": 3}}`))
	piped := call{args: []string{"sensor", "set", "shelf", "piped", "--json", "-", "--source", "etl", "--ttl", "2h"}, stdin: `{"date": "20260303", "hour": 7}`, env: s.env}.run()
	if piped.code != 0 || !strings.HasPrefix(piped.stdout, "shelf piped is written for 2026-03-03T07, version ") {
		t.Errorf("got %+v", piped)
	}
	shown := s.must(0, "sensor", "get", "shelf", "-o", "wide").stdout
	for _, want := range []string{`{"rows":{"new":3}}`, "2026-03-03T07", "  ann  ", "  etl  "} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in:\n%s", want, shown)
		}
	}
}

func TestSensorsAreReadByKeyAndPeriod(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	if got := s.must(0, "sensor", "get", "shelf").stdout; !strings.Contains(got, "interlock sensor set shelf KEY FIELD=VALUE") {
		t.Errorf("before any write: %s", got)
	}
	if got := s.must(1, "sensor", "get", "shelf", "silver/rows").stderr; !strings.Contains(got, "no reading of silver/rows") {
		t.Errorf("got %s", got)
	}
	s.must(0, "sensor", "set", "shelf", "silver/rows#2026-03-03", "n=1")
	s.must(0, "sensor", "set", "shelf", "silver/rows#2026-03-04", "n=2")
	s.must(0, "sensor", "set", "shelf", "silver/rows#2026-03-03", "n=3")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{`{"n":3}`, []string{"get", "shelf", "silver/rows"}},
		{`{"n":2}`, []string{"get", "shelf", "silver/rows", "--date", "2026-03-04"}},
		{`{"n":2}`, []string{"get", "shelf", "silver/rows#2026-03-04"}},
		{`{"n":2}`, []string{"history", "shelf", "silver/rows", "--date", "2026-03-04"}},
	} {
		got := s.must(0, append([]string{"sensor"}, tt.args...)...).stdout
		if strings.Count(got, "\n") != 2 || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s", tt.args, got)
		}
	}
	if got := s.must(1, "sensor", "get", "shelf", "silver/rows", "--date", "2026-03-05").stderr; !strings.Contains(got, "there is one for") {
		t.Errorf("got %s", got)
	}
	history := s.must(0, "sensor", "history", "shelf", "silver/rows", "--limit", "2").stdout
	if !strings.Contains(history, `{"n":3}`) || strings.Contains(history, `{"n":1}`) || !strings.Contains(history, "There are more writes") {
		t.Errorf("got\n%s", history)
	}
}

func TestSensorSetRejectsInvalidReadings(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	large := write(t, "large.json", `{"x": "`+strings.Repeat("x", 70_000)+`"}`)
	tests := []struct {
		name string
		code int
		args []string
		want string
	}{
		{"malformed date", 2, []string{"shelf", "x", "date=2026-02-30"}, "2026-02-30"},
		{"the engine's key", 2, []string{"shelf", "run/shelf", "status=COMPLETED"}, "run/"},
		{"bad key", 2, []string{"shelf", "a b", "x=1"}, "a b"},
		{"unknown pipeline", 1, []string{"gone", "x", "x=1"}, `"gone"`},
		{"no fields", 2, []string{"shelf", "x"}, "FIELD=VALUE"},
		{"no key", 2, []string{"shelf"}, "KEY"},
		{"not a field", 2, []string{"shelf", "x", "ready"}, `"ready" is not FIELD=VALUE`},
		{"no name", 2, []string{"shelf", "x", "=1"}, "FIELD=VALUE"},
		{"twice", 2, []string{"shelf", "x", "a=1", "a=2"}, "twice"},
		{"both", 2, []string{"shelf", "x", "a=1", "--json", "-"}, "not both"},
		{"missing file", 2, []string{"shelf", "x", "--json", "testdata/gone.json"}, "testdata/gone.json"},
		{"no object", 2, []string{"shelf", "x", "--json", write(t, "list.json", "[1]")}, "object"},
		{"empty stdin", 2, []string{"shelf", "x", "--json", "-"}, "stdin: data is empty"},
		{"too large", 2, []string{"shelf", "x", "--json", large}, "65536"},
		{"bad ttl", 2, []string{"shelf", "x", "a=1", "--ttl", "soon"}, "--ttl"},
		{"negative ttl", 2, []string{"shelf", "x", "a=1", "--ttl", "-1h"}, "--ttl"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.run(append([]string{"sensor", "set"}, tt.args...)...)
			if got.code != tt.code || got.stdout != "" || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("exit code %d, want %d and %q: %s%s", got.code, tt.code, tt.want, got.stdout, got.stderr)
			}
		})
	}
	if got := s.must(0, "sensor", "get", "shelf", "--format", "json"); len(parsed(t, got.stdout).(map[string]any)["items"].([]any)) != 0 {
		t.Errorf("a rejected reading was stored: %s", got.stdout)
	}
}

func TestReadingsCannotMoveTheTerminalsCursor(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	file := filepath.Join(t.TempDir(), "facts.json")
	if err := os.WriteFile(file, []byte(`{"x": "\u001b[2J\u202eevil"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(0, "sensor", "set", "shelf", "x", "--json", file, "--source", "\x1b[31mred")
	for _, args := range [][]string{{"sensor", "get", "shelf", "x"}, {"sensor", "history", "shelf", "x"}} {
		if got := s.must(0, args...).stdout; strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("%q", got)
		}
	}
}
