package artifact_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/artifact"
)

func TestReadingsWithoutAFileLoseTheirStatus(t *testing.T) {
	keys := func(names ...string) []artifact.Reading {
		var all []artifact.Reading
		for _, name := range names {
			all = append(all, artifact.Reading{Key: name, Fields: map[string]any{"status": "pass", "value": 1, "scan": "nightly"}})
		}
		return all
	}
	dbt := keys("dbt/run", "dbt/node/a", "dbt/freshness/raw.a", "soda/scan", "gx/a")
	for name, c := range map[string]struct {
		tool           string
		complete       bool
		stale, written []artifact.Reading
		want           []string
	}{
		"no file of dbt, ever":          {"dbt", false, nil, nil, []string{"dbt/run"}},
		"no file of dbt any more":       {"dbt", false, dbt, nil, []string{"dbt/freshness/raw.a", "dbt/node/a", "dbt/run"}},
		"a retry mentions fewer nodes":  {"dbt", true, dbt, keys("dbt/run", "dbt/node/b", "dbt/freshness/raw.b"), nil},
		"only the freshness of sources": {"dbt", true, dbt, keys("dbt/freshness/raw.a"), []string{"dbt/node/a", "dbt/run"}},
		"the first scan":                {"soda", false, nil, nil, []string{"soda/scan"}},
		"a later scan":                  {"soda", false, keys("soda/rows"), nil, []string{"soda/rows", "soda/scan"}},
		"a suite that was never seen":   {"gx", false, nil, nil, nil},
		"one of two suites":             {"gx", false, keys("gx/a", "gx/b", "gx/b/1"), keys("gx/a"), []string{"gx/b", "gx/b/1"}},
	} {
		var got []string
		for _, r := range artifact.Unproven(c.tool, c.complete, c.stale, c.written, "no file\nat all") {
			got = append(got, r.Key)
			if _, has := r.Fields["value"]; has || r.Fields["status"] != nil || r.Fields["error"] != "no file" {
				t.Errorf("%s: %s is %v", name, r.Key, r.Fields)
			}
			if len(c.stale) > 0 && r.Key != "soda/scan" && r.Key != "dbt/run" && r.Fields["scan"] != "nightly" {
				t.Errorf("%s: %s forgets its scan", name, r.Key)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if !artifact.IsSuite("gx/a") || artifact.IsSuite("gx/a/b") || artifact.IsSuite("soda/a") {
		t.Error("a suite has two parts")
	}
}
