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
