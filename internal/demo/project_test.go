package demo

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/settings"
)

// written returns the project as Write leaves it in dir.
func written(t *testing.T, dir, binary string) *pipeline.Set {
	t.Helper()
	if err := Write(dir, binary); err != nil {
		t.Fatal(err)
	}
	return pipeline.Load(sources(t, dir, "pipelines"), pipeline.Options{Jobs: all.Kinds(), Calendars: sources(t, dir, "calendars"), Whole: true})
}

func sources(t *testing.T, dir, folder string) []pipeline.Source {
	t.Helper()
	var found []pipeline.Source
	err := fs.WalkDir(os.DirFS(dir), folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		found = append(found, pipeline.Source{File: path, Data: text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheProjectHasNoProblems(t *testing.T) {
	dir := t.TempDir()
	set := written(t, dir, "/usr/bin/interlock")
	if len(set.Problems) > 0 {
		t.Errorf("problems: %v", set.Problems)
	}
	for _, id := range []pipeline.ID{quakeSilver, quakeGold, quakeAlerts, coinSilver, coinGold, rates} {
		if set.Find(id) == nil {
			t.Errorf("there is no %s", id)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "interlock.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, problems := settings.Parse("interlock.yaml", text); len(problems) > 0 {
		t.Errorf("the server's file: %v", problems)
	}
}

func TestWhatTheStorySaysOfTheFilesIsSo(t *testing.T) {
	set := written(t, t.TempDir(), "/usr/bin/interlock")
	late, retried, cron, rehearsed := set.Find(quakeSilver), set.Find(coinSilver), set.Find(rates), set.Find(quakeAlerts)
	newYear, err := period.New(period.Minute, 2026, time.January, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for claim, holds := range map[string]bool{
		"one rerun for late data":         late.Job.MaxDriftReruns == 1,
		"two retries":                     retried.Job.MaxRetries == 2,
		"backoff of about two seconds":    retried.Job.RetryBackoff == 2*time.Second,
		"deadline of 12 seconds":          retried.SLA.Max == 12*time.Second,
		"New Year's Day is excluded":      retried.Schedule.Excluded(newYear) != "",
		"exchange-rates has five seconds": cron.Window == 5*time.Second && cron.Window < slack,
		"earthquake-alerts is a dry run":  rehearsed.DryRun,
	} {
		if !holds {
			t.Errorf("not so: %s", claim)
		}
	}
}

func TestAnyPathReachesTheJobs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a "strange" ${DATE} folder`)
	binary := `/opt/my ${tools}/inter'lock`
	set := written(t, dir, binary)
	d := set.Find(quakeGold)
	if d == nil {
		t.Fatalf("problems: %v", set.Problems)
	}
	into := configOf(t, d.Job.Type)
	got, err := job.Expand(job.Attempt{Period: period.At(time.Unix(0, 0), period.Minute, time.UTC)}, d.Job.Raw, into, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%+v", got.Config)
	for _, want := range []string{dir, binary, "1970-01-01T00:00"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not in %s", want, said)
		}
	}
}

func configOf(t *testing.T, kind string) pipeline.JobConfig {
	t.Helper()
	for _, k := range all.Kinds() {
		if k.Name == kind {
			return k.NewConfig()
		}
	}
	t.Fatalf("there is no job type %s", kind)
	return nil
}
