// Package scenario_test checks promise E1: the same history leads to the same decisions on every
// platform. Each file of testdata/scenarios is a story: files, writes, the behaviour of jobs,
// requests of people, and the passing of time. Every platform plays every story, and the events
// must equal the log beside the story to the last byte.
//
// testdata/scenarios/README.md explains how to write a story. A platform joins by implementing
// platform (platform_test.go).
package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/document"
)

// story is a file of testdata/scenarios.
type story struct {
	Title  string            `yaml:"story" required:"true" doc:"What happens, in a sentence or two."`
	Spec   string            `yaml:"promises" required:"true" doc:"What it shows."`
	Begins string            `yaml:"begins" required:"true" doc:"When the controller starts, in UTC."`
	Files  map[string]string `yaml:"files" required:"true" doc:"The pipeline files that it starts with, by pipeline."`
	Days   map[string]string `yaml:"calendars" doc:"Calendar files, by name."`
	Jobs   map[string]play   `yaml:"jobs" doc:"What jobs do, by attempt or by pipeline; any other succeeds after a minute."`
	Probes map[string][]said `yaml:"probes" doc:"What probes answer, by pipeline/key, in order of time."`
	Watch  document.Duration `yaml:"watchdog" default:"1m" above:"0s" doc:"How often the watchdog of a process looks; longer saves a story of days most of its time."`
	Steps  []step            `yaml:"steps" required:"true" minItems:"1" doc:"What happens, in order."`

	name   string
	begins time.Time
}

// play is how a job goes.
type play struct {
	Takes    document.Duration `yaml:"takes" default:"1m" above:"0s" doc:"How long it runs."`
	Result   string            `yaml:"result" default:"success" enum:"success,fail,timeout" doc:"How it ends."`
	Category string            `yaml:"category" enum:"PERMANENT,TRANSIENT,TIMEOUT" doc:"The failure category."`
	Message  string            `yaml:"message" doc:"What it says of itself."`
	Refuses  int               `yaml:"refuses" min:"0" doc:"How many start calls are refused first."`
	Stops    document.Duration `yaml:"stops" default:"0s" doc:"How long it runs on after it was asked to stop."`
	Start    string            `yaml:"start" default:"answered" enum:"answered,unanswered,lost,whole" doc:"unanswered: it starts and nobody is told. lost: the first call never arrives. whole: the call is the job."`
}

// step is one event of a story. Exactly one of its actions is set.
type step struct {
	At string `yaml:"at" doc:"When: HH:MM or HH:MM:SS (UTC, the next such time), a date and time, or +duration. Without it, at once."`

	// Actions.
	Write    string            `yaml:"write" doc:"A sensor is written: pipeline/key, or pipeline/key#period."`
	Delete   string            `yaml:"delete" doc:"A reading is deleted: pipeline/key, or pipeline/key#period."`
	File     string            `yaml:"file" doc:"A pipeline's file appears or changes."`
	Remove   string            `yaml:"remove" doc:"A pipeline's file goes."`
	Trigger  string            `yaml:"trigger" doc:"A person opens a run of this pipeline."`
	Rerun    string            `yaml:"rerun" doc:"A person asks for another attempt of this pipeline's run."`
	Backfill string            `yaml:"backfill" doc:"A person runs a stretch of this pipeline's periods."`
	Pause    string            `yaml:"pause" doc:"A person pauses this pipeline."`
	Resume   string            `yaml:"resume" doc:"A person resumes it."`
	Cancel   string            `yaml:"cancel" doc:"A person cancels a run."`
	Report   string            `yaml:"report" doc:"The result of a run's job is reported from outside."`
	Claim    string            `yaml:"claim" doc:"A worker claims a run's attempt."`
	Beat     string            `yaml:"heartbeat" doc:"The worker of a run's attempt is heard of."`
	Lose     string            `yaml:"lose" doc:"A stored task vanishes, as if its store had lost it."`
	Stop     bool              `yaml:"stop" doc:"The controller stops."`
	Start    bool              `yaml:"start" doc:"It starts again."`
	Pass     bool              `yaml:"pass" doc:"Nothing but time passes."`
	Expect   map[string]string `yaml:"expect" doc:"Where runs stand: status and attempt, or none."`

	// Parameters of the actions.
	Data        document.Node `yaml:"data" doc:"The fields of a write."`
	Unseen      bool          `yaml:"unseen" doc:"The next change, which tells of what is written, is lost on its way."`
	Text        string        `yaml:"text" doc:"The contents of a file."`
	Date        string        `yaml:"date"`
	Schedule    string        `yaml:"schedule"`
	From        string        `yaml:"from"`
	To          string        `yaml:"to"`
	Until       string        `yaml:"until"`
	By          string        `yaml:"by" default:"ada"`
	Reason      string        `yaml:"reason"`
	Force       bool          `yaml:"force"`
	BypassGate  bool          `yaml:"bypassGate"`
	OnlyMissing bool          `yaml:"onlyMissing"`
	HoldSLA     bool          `yaml:"holdSla"`
	Result      string        `yaml:"result" enum:"success,fail,timeout"`
	Category    string        `yaml:"category"`
	Message     string        `yaml:"message"`
	Attempt     int           `yaml:"attempt"`
	Worker      string        `yaml:"worker" default:"w1"`
	Refused     string        `yaml:"refused" doc:"It is not granted, and the answer says this."`
}

// actions returns the names of the actions that are set.
func (s step) actions() []string {
	var set []string
	for name, is := range map[string]bool{
		"write": s.Write != "", "delete": s.Delete != "", "file": s.File != "", "remove": s.Remove != "", "trigger": s.Trigger != "", "rerun": s.Rerun != "",
		"backfill": s.Backfill != "", "pause": s.Pause != "", "resume": s.Resume != "", "cancel": s.Cancel != "", "report": s.Report != "",
		"claim": s.Claim != "", "heartbeat": s.Beat != "",
		"lose": s.Lose != "", "stop": s.Stop, "start": s.Start, "pass": s.Pass, "expect": s.Expect != nil,
	} {
		if is {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return set
}

// folder is where the stories are.
const folder = "../../testdata/scenarios"

// stories reads all of them.
func stories(t *testing.T) []story {
	t.Helper()
	return storiesIn(t, "")
}

// storiesIn reads those of a subfolder.
func storiesIn(t *testing.T, below string) []story {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, below, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories in %s: %v", filepath.Join(folder, below), err)
	}
	var all []story
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := parse(filepath.Join(below, filepath.Base(path)), text)
		if len(problems) > 0 {
			t.Fatal(strings.Join(problems, "\n"))
		}
		all = append(all, s)
	}
	return all
}

// parse reads one story, as strictly as the product reads pipeline files.
func parse(file string, text []byte) (story, []string) {
	s := story{name: strings.TrimSuffix(file, ".yaml")}
	doc, problems := document.Parse(file, text)
	if doc != nil {
		problems = doc.Decode(&s)
	}
	if len(problems) == 0 {
		problems = doc.Resolve(s.check()...)
	}
	var told []string
	for _, p := range problems {
		told = append(told, p.String())
	}
	return s, told
}

// check reports mistakes that the struct tags cannot express.
func (s *story) check() []document.Finding {
	var findings []document.Finding
	begins, err := time.Parse(time.DateTime, s.Begins)
	if err != nil {
		findings = append(findings, document.Finding{Path: "begins", Message: fmt.Sprintf("%q is no instant; write 2026-03-03 06:00:30", s.Begins)})
	}
	s.begins = begins
	for i, one := range s.Steps {
		path := fmt.Sprintf("steps[%d]", i)
		if set := one.actions(); len(set) != 1 {
			findings = append(findings, document.Finding{Path: path, Message: fmt.Sprintf("a step is one action, found %d: %s", len(set), strings.Join(set, ", "))})
		}
		if _, err := instant(one.At, begins); err != nil {
			findings = append(findings, document.Finding{Path: path + ".at", Message: err.Error()})
		}
	}
	return findings
}

// instant returns the time that a step names, relative to now.
func instant(at string, now time.Time) (time.Time, error) {
	if at == "" {
		return now, nil
	}
	if wait, ok := strings.CutPrefix(at, "+"); ok {
		d, err := document.ParseDuration(wait)
		return now.Add(d), err
	}
	if t, err := time.Parse(time.DateTime, at); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		t, err := time.Parse(layout, at)
		if err != nil {
			continue
		}
		next := now.UTC().Truncate(24 * time.Hour).Add(t.Sub(t.Truncate(24 * time.Hour)))
		if next.Before(now) {
			next = next.Add(24 * time.Hour)
		}
		return next, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time; write 06:10, 06:10:30, 2026-03-03 06:10:00 or +10m", at)
}
