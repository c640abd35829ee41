package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const good = "pipeline: {id: good, owner: data}\nschedule: {cron: \"0 6 * * *\"}\n"

func TestWarningsAloneAreNoFailure(t *testing.T) {
	got := must(t, 0, "validate", "testdata/broken/warned.yaml")
	if !strings.Contains(got.stdout, "warning:") || !strings.Contains(got.stdout, "1 warning in 1 file") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestIncludeDatesArePassedByTheClockOfTheCommand(t *testing.T) {
	const listed = "pipeline: {id: listed, owner: data}\nschedule: {include: {dates: [2026-03-01, DATE]}}\n"
	for date, warned := range map[string]bool{noon.AddDate(0, 0, -1).Format("2006-01-02"): true, noon.Format("2006-01-02"): false} {
		got := must(t, 0, "validate", write(t, "listed.yaml", strings.Replace(listed, "DATE", date, 1)))
		if strings.Contains(got.stdout, "schedule.include.dates: have all passed, the last one that is not excluded on "+date) != warned {
			t.Errorf("%s: got %s", date, got.stdout)
		}
	}
}

func TestValidProjectPrintsAnEmptyList(t *testing.T) {
	if got := must(t, 0, "validate", write(t, "good.yaml", good), "--format", "json"); got.stdout != "[]\n" {
		t.Errorf("json: %q", got.stdout)
	}
	if got := must(t, 0, "validate", write(t, "good.yaml", good), "--format", "github"); got.stdout != "" {
		t.Errorf("github: %q", got.stdout)
	}
}

func TestEveryProblemHasEveryKey(t *testing.T) {
	got := must(t, 1, "validate", "testdata/broken", "--format", "json")
	var problems []map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &problems); err != nil {
		t.Fatal(err)
	}
	want := []string{"column", "file", "line", "message", "path", "severity"}
	for _, p := range problems {
		if diff := cmp.Diff(want, sortedKeys(p)); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// folder writes files, given as alternating names and contents, to a new directory and returns its
// path.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	follower = "pipeline: {id: follower, owner: data}\nschedule: {after: [nobody]}\n"
	resting  = "pipeline: {id: resting, owner: data}\nschedule: {cron: \"0 6 * * *\", exclude: {calendar: closed}}\n"
	closed   = "name: closed\ndays: [monday]\n"
)

func TestAnUnknownUpstreamIsAnErrorOfAWholeDirectory(t *testing.T) {
	dir := folder(t, "a.yaml", follower)
	if got := must(t, 1, "validate", dir); !strings.Contains(got.stdout, "nobody") {
		t.Errorf("got %s", got.stdout)
	}
	if got := must(t, 0, "validate", filepath.Join(dir, "a.yaml")); !strings.Contains(got.stdout, "warning:") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestCalendarsAreFoundWhereProjectsKeepThem(t *testing.T) {
	project := folder(t, "pipelines/a.yaml", resting, "calendars/closed.yaml", closed)
	elsewhere := folder(t, "p/a.yaml", resting, "c/closed.yaml", closed)
	tests := []struct {
		name string
		code int
		args []string
	}{
		{"in the directory", 0, []string{project}},
		{"beside the directory", 0, []string{filepath.Join(project, "pipelines")}},
		{"beside the file's directory", 0, []string{filepath.Join(project, "pipelines", "a.yaml")}},
		{"in the directory, under any name", 0, []string{elsewhere}},
		{"by the flag", 0, []string{filepath.Join(elsewhere, "p"), "--calendars", filepath.Join(elsewhere, "c")}},
		{"by the flag and in the directory, once", 0, []string{elsewhere, "--calendars", filepath.Join(elsewhere, "c")}},
		{"nowhere", 1, []string{filepath.Join(elsewhere, "p")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { must(t, tt.code, append([]string{"validate"}, tt.args...)...) })
	}
}

func TestABrokenFileGivenAsCalendarIsCheckedAsOne(t *testing.T) {
	dir := folder(t, "p/a.yaml", good, "c/x.yaml", "nam: closed\n")
	got := must(t, 1, "validate", filepath.Join(dir, "p"), "--calendars", filepath.Join(dir, "c"))
	if !strings.Contains(got.stdout, `did you mean "name"?`) || strings.Contains(got.stdout, "owner") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestABrokenCalendarAmongGoodOnesIsCheckedAsOne(t *testing.T) {
	dir := folder(t, "p/a.yaml", resting, "calendars/closed.yaml", closed, "calendars/x.yaml", "nam: other\ndays: [monday]\n")
	got := must(t, 1, "validate", dir)
	if !strings.Contains(got.stdout, `did you mean "name"?`) || !strings.Contains(got.stdout, "in 1 of 3 files") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestBorrowedCalendarsAreCountedOnlyWhenTheyAreWrong(t *testing.T) {
	dir := folder(t, "pipelines/a.yaml", good, "calendars/closed.yaml", closed, "calendars/x.yaml", "name: x\ndays: [someday]\n")
	if got := must(t, 1, "validate", filepath.Join(dir, "pipelines")); !strings.Contains(got.stdout, "in 1 of 2 files") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestTheServersFileIsCheckedToo(t *testing.T) {
	if got := must(t, 0, "validate", folder(t, "interlock.yaml", "listen: 127.0.0.1:8740\n", "a.yaml", good)); !strings.HasPrefix(got.stdout, "2 files,") {
		t.Errorf("got %s", got.stdout)
	}
	must(t, 0, "validate", folder(t, "interlock.yaml", "# listen: 127.0.0.1:8740\n", "a.yaml", good))
	got := must(t, 1, "validate", folder(t, "interlock.yaml", "listn: 127.0.0.1:8740\n", "a.yaml", good))
	for _, want := range []string{`interlock.yaml:1:1: listn: unknown key "listn"; did you mean "listen"?`, "listn: 127.0.0.1:8740\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in %s", want, got.stdout)
		}
	}
}

func TestServerFileOfAnyNameIsChecked(t *testing.T) {
	for _, name := range []string{"prod.yaml", "interlock.conf"} {
		fine := write(t, name, "listen: 127.0.0.1:8740\n")
		must(t, 0, "validate", fine)
		if got := must(t, 0, "validate", "--config", fine).stdout; !strings.HasPrefix(got, "1 file,") {
			t.Errorf("got %s", got)
		}
		if got := must(t, 0, "validate", "--config", fine, write(t, "a.yaml", good), fine).stdout; !strings.HasPrefix(got, "2 files,") {
			t.Errorf("got %s", got)
		}
		wrong := write(t, name, "lissten: 127.0.0.1:8740\n") // nothing in it identifies its kind
		if got := must(t, 1, "validate", "--config", wrong).stdout; !strings.Contains(got, name+`:1:1: lissten: unknown key "lissten"; did you mean "listen"?`) {
			t.Errorf("got %s", got)
		}
		mixed := write(t, name, "listen: 127.0.0.1:8740\nretention: {event: 90d}\n")
		if got := must(t, 1, "validate", mixed).stdout; !strings.Contains(got, `retention.event: unknown key "event"; did you mean "events"?`) {
			t.Errorf("got %s", got)
		}
	}
	if got := must(t, 2, "validate", "--config", filepath.Join(t.TempDir(), "absent.yaml")).stderr; !strings.Contains(got, "absent.yaml") {
		t.Errorf("got %s", got)
	}
	if got := must(t, 2, "validate", "--config", t.TempDir()).stderr; !strings.Contains(got, "is a directory") {
		t.Errorf("got %s", got)
	}
}

func TestEmptyFolderAmongOthersIsAnError(t *testing.T) {
	got := must(t, 2, "validate", write(t, "good.yaml", good), t.TempDir())
	if !strings.Contains(got.stderr, "no pipeline files") {
		t.Errorf("got %s", got.stderr)
	}
}

func TestOneFileGivenTwiceIsNotTwoPipelines(t *testing.T) {
	file := write(t, "good.yaml", good)
	if got := must(t, 0, "validate", file, filepath.Dir(file)); !strings.HasPrefix(got.stdout, "1 file,") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestProjectWhoseServerRunsNoProgramsHasNoCommands(t *testing.T) {
	shell := good + "job: {type: command, config: {command: ls}}\n"
	must(t, 0, "validate", folder(t, "interlock.yaml", "jobs: {command: on}\n", "a.yaml", shell))
	got := must(t, 1, "validate", folder(t, "interlock.yaml", "jobs: {command: off}\n", "a.yaml", shell))
	if !strings.Contains(got.stdout, "job.type: runs a program on the server's machine") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestPlatformAddsItsLimits(t *testing.T) {
	file := write(t, "a.yaml", good+"job: {type: command, config: {command: \"true\", timeout: 1h}}\n")
	must(t, 0, "validate", file)
	must(t, 1, "validate", file, "--platform", "aws")

	long := write(t, "long.yaml", "pipeline: {id: long, owner: me}\nschedule: {cron: 0 8 * * *, evaluation: {window: 20h}}\n")
	must(t, 1, "validate", long, "--platform", "aws")
	must(t, 0, "validate", long, "--platform", "aws", "--time-limit", "86400s")
	must(t, 1, "validate", long, "--platform", "aws", "--time-limit", "20h")
}

func TestHostileFilesEndInAClearError(t *testing.T) {
	tests := map[string]string{
		"empty":          "",
		"nul":            "pipeline:\x00",
		"not UTF-8":      "pipeline: {id: \xff\xfe}",
		"list":           "- a\n- b\n",
		"scalar":         "hello",
		"not YAML":       "a: [b\n",
		"deep":           strings.Repeat("[", 100000),
		"10 MB":          "pipeline: " + strings.Repeat("x", 10<<20),
		"alias bomb":     "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n",
		"two documents":  good + "---\n" + good,
		"unknown alias":  "pipeline: *nobody\n",
		"escape in name": "pipeline: {id: \"\\e[31m\", owner: data}\n",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			got := must(t, 1, "validate", write(t, "bad.yaml", content))
			if !strings.Contains(got.stdout, "bad.yaml:") || strings.ContainsAny(got.stdout, "\x00\x1b") || len(got.stdout) > 64<<10 {
				t.Errorf("got %.500q", got.stdout)
			}
		})
	}
}
