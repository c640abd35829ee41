//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// ingesting runs a script under the gate of orders with --ingest flags.
func (d *daemon) ingesting(script string, of ...string) finished {
	d.Helper()
	var flags []string
	for _, one := range of {
		flags = append(flags, "--ingest", one)
	}
	return d.exec(script, append(flags, "--wait", "1m")...)
}

// statuses returns the statuses of keys for the period of the run; "-" without a reading.
func (d *daemon) statuses(keys ...string) []string {
	d.Helper()
	var all []string
	for _, key := range keys {
		r, err := d.api.Sensor(d.Context(), "orders", key, execDay)
		if err != nil || r.Date == nil || *r.Date != execDay {
			all = append(all, "-")
			continue
		}
		all = append(all, fmt.Sprint(r.Data["status"]))
	}
	return all
}

// copies returns a command that copies a recorded file, as if the tool wrote it now.
func (d *daemon) copies(recorded, to string) string {
	d.Helper()
	return "mkdir -p " + d.path("target") + "; cat " + artifactFile(d.T, recorded) + " >" + d.path(to) + "; "
}

func TestArtifactsOfTheCommandAreWrittenBeforeItsResult(t *testing.T) {
	d := execGround(t, "")
	got := d.ingesting(d.copies("dbt/run.json", "target/run_results.json")+d.copies("soda/passing.json", "soda.json"), "dbt", "soda=soda.json")
	if got != (finished{}) {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"pass", "pass"}, d.statuses("dbt/run", "soda/scan")); diff != "" {
		t.Error(diff)
	}
	r, err := d.api.Sensor(t.Context(), "orders", "dbt/run", execDay)
	if err != nil || r.Source == nil || !strings.Contains(*r.Source, execRun+"/1") {
		t.Errorf("the writer is not the attempt: %+v %v", r, err)
	}
	if run := d.reaches(execRun, client.Completed); run.EndedAt == nil || run.EndedAt.Before(r.UpdatedAt) {
		t.Errorf("the run ended at %v, before its readings at %s", run.EndedAt, r.UpdatedAt)
	}
}

// Only files of this command count. Without one, what an earlier attempt wrote does not stand.
func TestArtifactsOfAnEarlierAttemptDoNotStand(t *testing.T) {
	d := execGround(t, "")
	first := d.copies("dbt/run.json", "target/run_results.json") + d.copies("dbt/freshness.json", "target/sources.json") + d.copies("soda/passing.json", "soda.json")
	keys := []string{"dbt/run", "dbt/node/orders", "dbt/freshness/raw.orders", "soda/scan"}
	if got := d.ingesting(first+"exit 1", "dbt", "soda=soda.json"); got.code != 1 {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff([]string{"pass", "success", "pass", "pass"}, d.statuses(keys...)); diff != "" {
		t.Errorf("after the first attempt: %s", diff)
	}
	got := d.ingesting("echo no dbt", "dbt", "soda=soda.json")
	if got.code != 0 || !strings.Contains(got.stderr, "the command wrote no run_results.json") || !strings.Contains(got.stderr, "did not write soda.json") {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"<nil>", "<nil>", "<nil>", "<nil>"}, d.statuses(keys...)); diff != "" {
		t.Errorf("after the second attempt: %s", diff)
	}
	run := d.reaches(execRun, client.Completed)
	if message := *run.Attempts[1].Message; !strings.Contains(message, "no results of dbt") {
		t.Errorf("the run says %q", message)
	}
}

func TestFilesThatDoNotCountLeaveTheirKeysUnknown(t *testing.T) {
	d := execGround(t, "")
	if err := os.Mkdir(d.path("old"), 0o755); err != nil {
		t.Fatal(err)
	}
	pass, err := os.ReadFile(artifactFile(t, "dbt/run.json"))
	if err != nil {
		t.Fatal(err)
	}
	d.write("old/run_results.json", string(pass))
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(d.path("old/run_results.json"), yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ date, script, dir, want string }{
		"yesterday's":           {"2026-03-04", "true", "old", "wrote no run_results.json"},
		"yesterday's, restored": {"2026-03-05", "mkdir restored; cp -p old/run_results.json restored/", "restored", "wrote no run_results.json"},
		"of dbt compile":        {"2026-03-06", d.copies("dbt/compile.json", "target/run_results.json"), "target", "dbt compile"},
		"broken":                {"2026-03-07", "mkdir broken; echo { >broken/run_results.json", "broken", "not JSON"},
	} {
		got := d.interlock("exec", "orders", "--date", c.date, "--wait", "1m", "--ingest", "dbt="+c.dir, "--", "sh", "-c", c.script)
		if got.code != 0 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: got %+v", name, got)
		}
		r, err := d.api.Sensor(t.Context(), "orders", "dbt/run", c.date)
		if err != nil || r.Data["status"] != nil || !strings.Contains(fmt.Sprint(r.Data["error"]), c.want) {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

// A reading that cannot be written is told, and neither the others nor the result wait for it.
func TestReadingThatCannotBeWrittenIsTold(t *testing.T) {
	d := execGround(t, "")
	d.pipeline("self", "validation: {rules: [{key: dbt/run, check: exists}]}\njob: {type: external}\n")
	until(t, "the pipeline is active", func() bool {
		_, err := d.api.Gate(t.Context(), "self", execDay)
		return err == nil
	})
	d.put("self", "dbt/run", map[string]any{"status": "pass"})
	got := d.interlock("exec", "self", "--date", execDay, "--wait", "1m", "--ingest", "dbt", "--", "sh", "-c", d.copies("dbt/run.json", "target/run_results.json"))
	if got.code != 0 || !strings.Contains(got.stderr, "dbt/run") {
		t.Errorf("got %+v", got)
	}
	run := d.reaches("self/manual/"+execDay, client.Completed)
	if message := *run.Attempts[0].Message; !strings.Contains(message, "dbt/run") {
		t.Errorf("the run says %q", message)
	}
	r, err := d.api.Sensor(t.Context(), "self", "dbt/node/orders", execDay)
	if err != nil || r.Data["status"] != "success" {
		t.Errorf("another reading of the same file: %+v %v", r, err)
	}
}

func TestIngestFlagOfExec(t *testing.T) {
	for _, value := range []string{"", "dbt=", "gx", "gx=", "soda", "junit=x", "=x"} {
		got := call{args: slices.Concat([]string{"exec", "orders", "--server", "http://127.0.0.1:1", "--ingest", value, "--", "true"})}.run()
		if got.code != exitUsage || !strings.Contains(got.stderr, "dbt=DIR, gx=FILE or soda=FILE") {
			t.Errorf("%q: got %+v", value, got)
		}
	}
}
