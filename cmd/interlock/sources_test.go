package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A running server reloads source files like pipeline files: a broken file keeps its last good
// version and does not affect other files.
func TestSourceFilesAreReloaded(t *testing.T) {
	text := func(id string) string {
		return "source: {id: " + id + ", owner: data, format: json}\nwrite: [{pipeline: patient, key: landed, fields: {count: {path: $.rows}}}]\n"
	}
	s := serve(t, site{pipelines: map[string]string{"patient.yaml": patientFile}, sources: map[string]string{"a.yaml": text("first")}})
	shows := func(id string) bool { return strings.Contains(s.must(0, "sources").stdout, id) }
	s.until("the first source", func() bool { return shows("first") })

	s.write("../sources/b.yaml", text("second"))
	s.until("an added source", func() bool { return shows("second") })

	s.write("../sources/b.yaml", "source: {id: second, owner: data, format: jsn}\n")
	s.until("the problem of a broken source", func() bool { return strings.Contains(fmt.Sprint(s.fetch("/api/v1/files")), "jsn") })
	s.write("../sources/c.yaml", "source: {id: third, owner: data, format: json, ownr: x}\nwrite: [{pipeline: patient, key: landed, fields: {count: 1}}]\n")
	s.until("the problem of a new source", func() bool { return shows("ownr") })
	got := s.must(0, "sources").stdout
	for _, want := range []string{
		"b.yaml: the last good version of the source stays active\n", `b.yaml:1:43: source.format: `,
		"c.yaml: no version of the source is active\n", `c.yaml:1:48: source.ownr: unknown key "ownr"; did you mean "owner"?`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("sources does not show %q:\n%s", want, got)
		}
	}
	ready := s.must(0, "health").stdout
	details := fmt.Sprint(s.fetch("/readyz"))
	for _, want := range []string{"source second", "b.yaml was rejected", "the last good version of the source stays active", "source third", "no version of the source is active, so its events are not read"} {
		if !strings.Contains(ready, want) && !strings.Contains(details, want) {
			t.Errorf("health does not show %q:\n%s\n%s", want, ready, details)
		}
	}
	if events := s.must(0, "events", "--type", "INFRA_FAILURE").stdout; strings.Count(events, "INFRA_FAILURE") != 2 {
		t.Errorf("the rejections are not reported once each:\n%s", events)
	}
	if !shows("first") || !shows("second") {
		t.Error("a broken source disabled another source or its own last good version")
	}

	s.write("../sources/a.yaml", text("renamed"))
	s.until("a changed source", func() bool { return shows("renamed") })

	if err := os.Remove(filepath.Join(s.pipelines, "../sources/b.yaml")); err != nil {
		t.Fatal(err)
	}
	s.until("a removed source", func() bool { return !shows("second") })
}

const objectsFile = `source: {id: objects, owner: data, format: json}
each: [{path: $.Message, decode: json}, '$.Records[*]']
match: [{path: $.s3.object.key, decode: url, matches: '^in/(?P<name>.*)$'}]
write: [{pipeline: patient, key: landed, period: {path: $.eventTime}, fields: {name: "${name}"}}]
`

// sources test shows each element of a message apart.
func TestSourcesTestSplitsAMessage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := write("objects.yaml", objectsFile)
	event := write("event.json", `{"Message":"{\"Records\":[{\"eventTime\":\"2026-03-03T08:00:00Z\",\"s3\":{\"object\":{\"key\":\"in/a+b\"}}},{\"s3\":{\"object\":{\"key\":\"out/c\"}}}]}"}`)
	got := interlock("sources", "test", file, event)
	if want := "element 0\n✓ $.s3.object.key: \"in/a b\"; wanted: matches ^in/(?P<name>.*)$\nelement 1\n✗ $.s3.object.key: \"out/c\"; wanted: matches ^in/(?P<name>.*)$\n" +
		"would write patient landed, for the slice of patient that holds 2026-03-03T08:00:00Z: {\"name\":\"a b\"}\n"; got.code != 0 || got.stdout != want {
		t.Errorf("%d %s%s, want %s", got.code, got.stdout, got.stderr, want)
	}
	bad := write("bad.yaml", strings.Replace(objectsFile, "$.eventTime", "$.event-time", 1))
	if got := interlock("validate", bad); got.code == 0 || !strings.Contains(got.stdout+got.stderr, "write $['event-time']") {
		t.Errorf("validate: %+v", got)
	}
	deep := write("deep.json", strings.Repeat("[", 101)+strings.Repeat("]", 101))
	if got := interlock("sources", "test", file, write("deep2.json", `{"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`)); got.code == 0 || !strings.Contains(got.stderr, "nested deeper than 100 levels") {
		t.Errorf("a deep event: %+v", got)
	}
	if got := interlock("sensor", "set", "patient", "k", "--json", deep); got.code == 0 {
		t.Errorf("a deep reading: %+v", got)
	}
}
