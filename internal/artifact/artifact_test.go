package artifact_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/artifact"
)

// recorded returns a file that a tool wrote; testdata/README.md says how.
func recorded(t *testing.T, name string) artifact.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return artifact.File{Name: name, Data: data}
}

// Each file is read without limits unless a test is about age.
func dbt(files ...artifact.File) (*artifact.Result, error) {
	return artifact.Dbt(files, artifact.Limits{})
}

func soda(f artifact.File) (*artifact.Result, error) { return artifact.Soda(f, artifact.Limits{}) }

func gx(f artifact.File) (*artifact.Result, error) {
	return artifact.GreatExpectations(f, "", artifact.Limits{})
}

// lines shows what files give, a line each.
func lines(t *testing.T, r *artifact.Result, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range r.Readings {
		data, _ := json.Marshal(one.Fields)
		all = append(all, one.Key+" "+string(data))
	}
	for _, what := range r.Failed {
		all = append(all, "failed "+what)
	}
	for _, what := range r.Unknown {
		all = append(all, "unknown "+what)
	}
	return all
}

// statuses shows the status of each reading, as JSON.
func statuses(t *testing.T, r *artifact.Result, err error) map[string]string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, one := range r.Readings {
		status, _ := json.Marshal(one.Fields["status"])
		all[one.Key] = string(status)
	}
	return all
}

// reading returns the fields of one reading.
func reading(t *testing.T, r *artifact.Result, key string) map[string]any {
	t.Helper()
	for _, one := range r.Readings {
		if one.Key == key {
			return one.Fields
		}
	}
	t.Fatalf("there is no reading %s", key)
	return nil
}

func TestUnreadableFilesNameFileAndField(t *testing.T) {
	readDbt := func(f artifact.File) (*artifact.Result, error) { return dbt(f) }
	for _, c := range []struct {
		read       func(artifact.File) (*artifact.Result, error)
		text, want string
	}{
		{readDbt, `{`, "f.json: it is not JSON"},
		{readDbt, `{}`, "f.json: field metadata.dbt_schema_version is missing"},
		{readDbt, string(runResults("v3").Data), "f.json: field metadata.dbt_schema_version: run-results v3 is not supported; supported are v4, v5, v6"},
		{readDbt, string(runResults("v6", `{"status":"pass"}`).Data), "f.json: field results[0].unique_id is missing"},
		{readDbt, string(runResults("v6", `{"unique_id":"a","status":7}`).Data), "f.json: field results[0].status: expected string, found number"},
		{readDbt, string(runResults("v6", `{"unique_id":"a","status":"pass","timing":[{"name":"x"},[]],"message":"{"}`, `{"execution_time":"1s"}`).Data), "f.json: field results[1].execution_time: expected number, found string"},
		{readDbt, string(runResults("v6", `{"unique_id":"a","status":[[1],2]}`).Data), "f.json: field results[0].status: expected string, found array"},
		{readDbt, string(runResults("v6", `[]`).Data), "f.json: field results[0]: expected object, found array"},
		{readDbt, `[1]`, "f.json: expected object, found array"},
		{readDbt, strings.Replace(string(runResults("v6").Data), `"results":[]`, `"results":{}`, 1), "f.json: field results: expected array, found object"},
		{readDbt, strings.Replace(string(runResults("v6").Data), `"results":[]`, `"r":[]`, 1), "f.json: field results is missing"},
		{readDbt, strings.Replace(string(runResults("v6").Data), `"which":"build"`, `"select":[]`, 1), "f.json: field args.which is missing"},
		{readDbt, strings.Replace(string(runResults("v6").Data), "run-results/v6", "catalog/v1", 1), "is not supported"},
		{gx, `{"suite_name":"a"}`, "f.json: field success is missing"},
		{gx, `{"success":true}`, "f.json: field suite_name"},
		{gx, `{"run_results":{}}`, "f.json: field run_results is empty"},
		{gx, `{"validation_results":[]}`, "f.json: field validation_results is empty"},
		{gx, `{"run_results":{"a::b":{"success":1}}}`, `f.json: field run_results["a::b"].success: expected bool, found number`},
		{soda, `{}`, "f.json: field checks is missing"},
		{soda, `{"checks":[{"outcome":"pass"}]}`, `f.json: field checks[0].name is missing`},
		{soda, `{"checks":[{"name":"a","outcome":"maybe"}]}`, `f.json: field checks[0].outcome: unknown outcome "maybe"`},
	} {
		if _, err := c.read(artifact.File{Name: "f.json", Data: []byte(c.text)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// Keys are accepted by a server, however long and odd the names are.
func TestLongNamesFitIntoKeys(t *testing.T) {
	long := strings.Repeat("é x", 100)
	r, err := soda(artifact.File{Name: "scan.json", Data: fmt.Appendf(nil, `{"checks":[{"name":%q,"table":%q,"outcome":"pass"},{"name":"ß","table":"","outcome":"pass"}]}`, long, long)})
	if err != nil {
		t.Fatal(err)
	}
	more, err := gx(artifact.File{Name: "gx.json", Data: fmt.Appendf(nil, `{"success":true,"suite_name":%q,"results":[{"success":true,"expectation_config":{"kwargs":{"batch_id":%q}}}]}`, long, long)})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range append(r.Readings, more.Readings...) {
		if len(one.Key) > 128 || strings.ContainsFunc(one.Key, func(c rune) bool { return c > 127 || c == ' ' }) || strings.HasSuffix(one.Key, "/") {
			t.Errorf("key %q", one.Key)
		}
	}
}

// recordedAt is when each recorded file was generated.
var recordedAt = time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC)

// A named file that is too old is rejected, with both instants. One that was found in a directory
// is skipped, unless nothing else is left.
func TestOldFilesOfDbtDoNotCount(t *testing.T) {
	const atPeriod = "build.json was generated at 2026-03-03T06:00:00Z, before the pipeline's current period began at 2026-03-03T06:00:01Z"
	const atAge = "build.json was generated at 2026-03-03T06:00:00Z, before 2026-03-03T06:00:30Z, the limit of --max-age"
	build := recorded(t, "dbt/build.json")
	undated := artifact.File{Name: "undated build.json", Data: []byte(strings.ReplaceAll(string(build.Data), `"generated_at"`, `"made_at"`))}
	for _, c := range []struct {
		limits artifact.Limits
		file   artifact.File
		want   string
	}{
		{artifact.Limits{}, build, ""},
		{artifact.Limits{}, undated, ""},
		{artifact.Limits{Since: recordedAt}, build, ""},
		{artifact.Limits{Since: recordedAt.Add(time.Second)}, build, atPeriod},
		{artifact.Limits{Since: recordedAt}, undated, "undated build.json does not say when it was generated"},
		{artifact.Limits{MaxAge: time.Minute, Now: recordedAt.Add(time.Minute)}, build, ""},
		{artifact.Limits{MaxAge: time.Minute, Now: recordedAt.Add(90 * time.Second)}, build, atAge},
		{artifact.Limits{MaxAge: time.Minute, Now: recordedAt}, undated, "undated build.json does not say when it was generated"},
	} {
		_, err := artifact.Dbt([]artifact.File{c.file}, c.limits)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.limits, got, c.want)
		}
		wantRejected(t, err, c.want != "")
		c.file.Found = true
		_, err = artifact.Dbt([]artifact.File{c.file}, c.limits)
		wantRejected(t, err, c.want != "")
		fresh := recorded(t, "dbt/freshness.json")
		fresh.Data = []byte(strings.Replace(string(fresh.Data), "2026-03-03T06:00:00", "2026-03-03T12:00:00", 1))
		r, err := artifact.Dbt([]artifact.File{c.file, fresh}, c.limits)
		got := statuses(t, r, err)
		if _, counted := got["dbt/run"]; counted == (c.want != "") || got["dbt/freshness/raw.orders"] != `"pass"` || len(r.Warnings) > 0 != (c.want != "") {
			t.Errorf("%+v in a directory: %v, warnings %q", c.limits, got, r.Warnings)
		}
	}
}

// The spec lets files of the other tools that are from before the current period count; the user is
// warned.
func TestOldFilesOfTheOtherToolsAreNamed(t *testing.T) {
	later := artifact.Limits{Since: recordedAt.Add(time.Hour)}
	beyond := artifact.Limits{MaxAge: time.Minute, Now: recordedAt.Add(time.Hour)}
	described := func(l artifact.Limits) (*artifact.Result, error) {
		return artifact.GreatExpectations(recorded(t, "gx/checkpoint-describe.json"), "orders", l)
	}
	for name, c := range map[string]struct {
		read     func(artifact.Limits) (*artifact.Result, error)
		warnings int
	}{
		"soda": {func(l artifact.Limits) (*artifact.Result, error) {
			return artifact.Soda(recorded(t, "soda/passing.json"), l)
		}, 1},
		"gx": {func(l artifact.Limits) (*artifact.Result, error) {
			return artifact.GreatExpectations(recorded(t, "gx/checkpoint.json"), "", l)
		}, 1},
		"described": {described, 0}, // the form has no time
	} {
		if r, err := c.read(later); err != nil || len(r.Warnings) != c.warnings || len(r.Readings) == 0 {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		_, err := c.read(beyond)
		wantRejected(t, err, true)
	}
}

func wantRejected(t *testing.T, err error, want bool) {
	t.Helper()
	if _, is := err.(*artifact.RejectedError); is != want {
		t.Errorf("got %v, rejected: want %v", err, want)
	}
}
