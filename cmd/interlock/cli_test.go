package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is a command in docs/CLI.md with its output.
type example struct {
	line string
	want string
}

var examplePattern = regexp.MustCompile("(?s)```console\n\\$ ([^\n]+)\n(.*?)```")

// TestTheCommandLineIsAsItsManualShows runs the examples of docs/CLI.md on a real controller. With
// -update it rewrites their output.
func TestTheCommandLineIsAsItsManualShows(t *testing.T) {
	file, err := filepath.Abs("../../docs/CLI.md")
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var s *service
	shown := map[string]bool{}
	printed := examplePattern.ReplaceAllStringFunc(string(manual), func(block string) string {
		parts := examplePattern.FindStringSubmatch(block)
		e := example{parts[1], parts[2]}
		got := e.run(t, s)
		if s == nil { // the first example is init
			t.Chdir("shop")
			prepareShop(t)
			s = serveStarter(t)
		}
		s.settled()
		if diff := cmp.Diff(momentless(e.want), momentless(got)); diff != "" && !*update {
			t.Errorf("%s (-manual +printed):\n%s", e.line, diff)
		}
		shown[strings.Join(strings.Fields(e.line[strings.Index(e.line, "interlock "):])[:2], " ")] = true
		return "```console\n$ " + e.line + "\n" + got + "```"
	})
	if *update {
		if err := os.WriteFile(file, []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range remoteCommands {
		if !shown["interlock "+args[0]] {
			t.Errorf("the manual shows no example of %s", args[0])
		}
	}
}

// prepareShop adds what the examples need, and keeps the heartbeat pipeline from firing, because it
// would then appear in some lists only.
func prepareShop(t *testing.T) {
	t.Helper()
	beat := "pipelines/heartbeat.yaml"
	text, err := os.ReadFile(beat)
	if err != nil {
		t.Fatal(err)
	}
	rare := strings.Replace(string(text), `cron: "* * * * *"`, "cron: 0 0 29 2 *\n  period: minute", 1)
	for name, text := range map[string]string{beat: rare, "pipelines/intake.yaml": "pipeline: {id: intake, owner: me}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs the example and returns all of its output.
func (e example) run(t *testing.T, s *service) string {
	t.Helper()
	c := call{env: map[string]string{"USER": "ann"}}
	if s != nil {
		c.env = s.env
	}
	line := e.line
	if rest, piped := strings.CutPrefix(line, "echo "); piped {
		c.stdin, line, _ = strings.Cut(rest, " | ")
		c.stdin = strings.Trim(c.stdin, "'")
	}
	c.args = words(line)[1:]
	got := c.run()
	return got.stdout + got.stderr
}

var wordPattern = regexp.MustCompile(`'[^']*'|\S+`)

// words splits a line like a shell in which only whole words are quoted.
func words(line string) []string {
	all := wordPattern.FindAllString(line, -1)
	for i := range all {
		all[i] = strings.Trim(all[i], "'")
	}
	return all
}

// moments are the time-dependent parts of outputs, and their placeholders.
var moments = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{16,}\b`), "HASH"},
	{regexp.MustCompile(`\bs-[0-9a-f]{8}\b`), "SILENCE"},
	{regexp.MustCompile(`\((now|in [0-9dhms]+|[0-9dhms]+ ago)\)`), "(MOMENT)"},
	{regexp.MustCompile(`, [0-9dhms]+ before,`), ","},
	{regexp.MustCompile(`version \d+`), "version N"},
	{regexp.MustCompile(`(TIME +)\d+ +`), "${1}N "},
}

// momentless replaces the time-dependent parts of a text.
func momentless(text string) string {
	for _, m := range moments {
		text = m.pattern.ReplaceAllString(text, m.instead)
	}
	return text
}
