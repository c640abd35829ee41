package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// load reads the given texts as files a.yaml, b.yaml, …
func load(texts ...string) *pipeline.Set {
	return pipeline.Load(sources(texts...), pipeline.Options{Jobs: all.Kinds(), Whole: true})
}

func sources(texts ...string) []pipeline.Source {
	var list []pipeline.Source
	for i, text := range texts {
		list = append(list, pipeline.Source{File: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	return list
}

// one loads a single good file.
func one(t *testing.T, text string) *pipeline.Definition {
	t.Helper()
	set := load(text)
	for _, p := range set.Problems {
		if p.Severity == document.Error {
			t.Errorf("unexpected problem: %s", p)
		}
	}
	if len(set.Definitions) != 1 {
		t.Fatalf("got %d definitions, want 1", len(set.Definitions))
	}
	return set.Definitions[0]
}

// report lists the problems as a person sees them, one per line; warnings are marked.
func report(set *pipeline.Set) []string {
	var lines []string
	for _, p := range set.Problems {
		line := p.String()
		if p.Severity == document.Warning {
			line = "warning: " + line
		}
		lines = append(lines, line)
	}
	return lines
}

const minimal = "pipeline: {id: minimal, owner: tests}\n"

func TestMinimalFileGetsTheDocumentedDefaults(t *testing.T) {
	d := one(t, minimal+"job: {type: glue, config: {jobName: x}}\npostRun: {rules: [{key: out, check: exists}]}\n")
	if d.Opens != pipeline.ByHand || d.Window != time.Hour || d.Interval != 5*time.Minute || d.CatchUp != pipeline.CatchUpAll {
		t.Errorf("schedule defaults: opens %q, window %s, interval %s, catch up %q", d.Opens, d.Window, d.Interval, d.CatchUp)
	}
	if d.Schedule.Size() != period.Day || d.Schedule.Zone() != time.UTC {
		t.Errorf("got %s periods in %s, want days in UTC", d.Schedule.Size(), d.Schedule.Zone())
	}
	j := *d.Job
	j.Config, j.Raw = nil, document.Node{}
	want := pipeline.Job{
		Type: "glue", MaxCodeRetries: 1, MaxDriftReruns: 1, MaxManualReruns: 1,
		RetryBackoff: 30 * time.Second, PollWindow: time.Hour, PollInterval: 30 * time.Second,
	}
	if diff := cmp.Diff(want, j, cmp.AllowUnexported(document.Node{})); diff != "" {
		t.Errorf("job defaults (-want +got):\n%s", diff)
	}
	if p := d.PostRun; p.SensorTimeout != 2*time.Hour || p.Window != 24*time.Hour || p.Interval != 0 || p.DriftThreshold != 0 {
		t.Errorf("post-run defaults: %+v", p)
	}
}

func TestExplicitZeroTurnsABudgetOff(t *testing.T) {
	d := one(t, minimal+"job: {type: glue, config: {jobName: x}, maxCodeRetries: 0, maxDriftReruns: 0, maxManualReruns: 0, jobPollWindowSeconds: 0}\n")
	if j := d.Job; j.MaxCodeRetries+j.MaxDriftReruns+j.MaxManualReruns != 0 || j.PollWindow != time.Hour {
		t.Errorf("got %+v", j)
	}
}

func TestDocumentedExamplesLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/seeds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	for _, file := range files {
		one(t, read(t, file))
	}
	fragments, err := filepath.Glob("testdata/seeds/fragments/*.yaml")
	if err != nil || len(fragments) == 0 {
		t.Fatalf("no fragments found: %v", err)
	}
	for _, file := range fragments {
		t.Run(filepath.Base(file), func(t *testing.T) { one(t, minimal+read(t, file)) })
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestScheduleIDDependsOnWhatOpensTheRun(t *testing.T) {
	for _, c := range []struct {
		schedule string
		want     pipeline.ScheduleID
	}{
		{"{}", pipeline.ByHand},
		{`{cron: "0 8 * * *"}`, pipeline.ByCron},
		{`{cron: "0 8 * * *", trigger: {key: a, check: exists}}`, pipeline.ByCron},
		{"{include: {dates: [2026-03-31]}}", pipeline.ByCron},
		{"{include: {dates: [2026-03-31]}, trigger: {key: a, check: exists}}", pipeline.ByStream},
		{"{trigger: {key: a, check: exists}}", pipeline.ByStream},
		{"{after: [minimal-up]}", pipeline.ByStream},
		{"{include: {dates: [2026-03-31]}, after: [minimal-up]}", pipeline.ByCron},
	} {
		set := load(minimal+"schedule: "+c.schedule+"\n", "pipeline: {id: minimal-up, owner: tests}")
		d := set.Find("minimal")
		if d == nil || d.Opens != c.want {
			t.Errorf("schedule %s: got %+v, want %s; %v", c.schedule, d, c.want, report(set))
		}
	}
}

func TestPeriodSizeIsDerived(t *testing.T) {
	for _, c := range []struct {
		sections string
		want     period.Size
	}{
		{`schedule: {cron: "0 8 * * *"}`, period.Day},
		{`schedule: {cron: "5 * * * *"}`, period.Hour},
		{`schedule: {cron: "*/20 * * * *"}`, period.Minute},
		{`schedule: {cron: "@daily", period: hour}`, period.Hour},
		{`schedule: {trigger: {key: a, check: exists}}`, period.Day},
		{`{schedule: {trigger: {key: a, check: exists}}, sla: {deadline: ":30"}}`, period.Hour},
		{`schedule: {trigger: {key: a, check: exists, deadline: ":30"}}`, period.Hour},
	} {
		text := minimal + c.sections + "\n"
		if inner, ok := strings.CutPrefix(c.sections, "{"); ok {
			text = "{pipeline: {id: minimal, owner: tests}, " + inner
		}
		if d := one(t, text); d.Schedule.Size() != c.want {
			t.Errorf("%s: got %s, want %s", c.sections, d.Schedule.Size(), c.want)
		}
	}
}

func TestPipelineForSharedSensorsLoads(t *testing.T) {
	d := one(t, minimal)
	if d.Job != nil || d.Opens != pipeline.ByHand {
		t.Errorf("got %+v", d)
	}
}

func TestBadFileDoesNotAffectGoodOnes(t *testing.T) {
	set := load(minimal, "pipeline: {id: broken}\n", "]not yaml[", "pipeline: {id: other, owner: x}")
	if len(set.Definitions) != 2 || set.Find("minimal") == nil || set.Find("other") == nil {
		t.Errorf("got %d definitions; %v", len(set.Definitions), report(set))
	}
	if !set.Failed() {
		t.Error("the set should have failed")
	}
}

func TestOlderWatchBlockSetsTheSameIntervals(t *testing.T) {
	d := one(t, minimal+"schedule: {after: \"06:00\"}\nwatch: {interval: 60, monitoring: {duration: 3h}}\npostRun: {rules: [{key: out, check: exists}]}\n")
	if d.Interval != time.Minute || d.PostRun.Window != 3*time.Hour {
		t.Errorf("interval %s, post-run window %s", d.Interval, d.PostRun.Window)
	}
	day, _ := period.Parse("2026-03-03")
	if at := d.Schedule.EarliestStart(day).UTC().Format("15:04"); at != "06:00" {
		t.Errorf("earliest start %s, want 06:00", at)
	}
}
