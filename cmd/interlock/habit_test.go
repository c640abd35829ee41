package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const wrongFile = `pipeline: {id: orders, owner: data, ownr: x}
schedule: {cron: "0 6 * * *"}
`

func TestValidateReadsStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	good := call{args: []string{"validate", "-"}, stdin: "pipeline: {id: orders, owner: data}\nschedule: {cron: \"0 6 * * *\"}\njob: {type: command, config: {command: \"true\"}}\n"}.run()
	if good.code != 0 || !strings.Contains(good.stdout, "1 file, no problems") {
		t.Errorf("exit code %d\n%s%s", good.code, good.stdout, good.stderr)
	}
	bad := call{args: []string{"validate", "-"}, stdin: wrongFile}.run()
	if bad.code != 1 || !strings.HasPrefix(bad.stdout, "-:1:") {
		t.Errorf("exit code %d\n%s%s", bad.code, bad.stdout, bad.stderr)
	}
	if two := (call{args: []string{"validate", "-", "x.yaml"}}.run()); two.code != 2 {
		t.Errorf("two inputs: exit code %d, want 2", two.code)
	}
}

func TestValidateWritesSARIF(t *testing.T) {
	t.Chdir(t.TempDir())
	got := call{args: []string{"validate", "-", "-o", "sarif"}, stdin: wrongFile}.run()
	var log sarifLog
	if err := json.Unmarshal([]byte(got.stdout), &log); err != nil || got.code != 1 {
		t.Fatalf("exit code %d, %v\n%s", got.code, err, got.stdout)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) == 0 {
		t.Fatalf("%+v", log)
	}
	r := log.Runs[0].Results[0]
	if r.Level != "error" || r.RuleID != "interlock/error" || r.Locations[0].Physical.Region.StartLine != 1 || r.Locations[0].Physical.Artifact.URI != "-" {
		t.Errorf("%+v", r)
	}
}

func TestValidateWritesJUnit(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"bad.yaml": wrongFile, "good.yaml": "pipeline: {id: items, owner: data}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := must(t, 1, "validate", ".", "--format", "junit")
	var report junitSuites
	if err := xml.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if s := report.Suite; s.Tests != 2 || s.Failures != 1 || s.Cases[0].Name != "bad.yaml" || s.Cases[0].Failure == nil || s.Cases[1].Failure != nil {
		t.Errorf("%+v", s)
	}
}

func TestVersionFlagPrintsWhatTheCommandPrints(t *testing.T) {
	if flag, command := must(t, 0, "--version").stdout, must(t, 0, "version").stdout; flag != command {
		t.Errorf("--version prints %q, version prints %q", flag, command)
	}
}

func TestShortFormatFlag(t *testing.T) {
	if short, long := must(t, 0, "version", "-o", "json").stdout, must(t, 0, "version", "--format", "json").stdout; short != long {
		t.Errorf("-o json prints %q, --format json %q", short, long)
	}
}

func TestContextsNameServersAndNeverStoreTokens(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	file := filepath.Join(t.TempDir(), "contexts.yaml")
	run := func(want int, args ...string) result {
		t.Helper()
		got := call{args: args, env: map[string]string{"INTERLOCK_CONTEXTS": file, "PROD_TOKEN": "secret"}}.run()
		if got.code != want {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, got.code, want, got.stdout, got.stderr)
		}
		return got
	}
	if got := run(2, "context", "add", "prod", "--server", s.address, "--token", "secret"); !strings.Contains(got.stderr, "never stored") {
		t.Errorf("%s", got.stderr)
	}
	run(0, "context", "add", "prod", "--server", strings.TrimPrefix(s.address, "http://"), "--token-env", "PROD_TOKEN")
	run(0, "context", "add", "gone", "--server", "127.0.0.1:1", "--token-command", "echo secret")
	if got := run(0, "status"); !strings.Contains(got.stdout, "shelf") {
		t.Errorf("the first context is not the current one:\n%s", got.stdout)
	}
	run(0, "context", "use", "gone")
	run(3, "status")
	run(0, "status", "--context", "prod")
	run(2, "status", "--context", "prod", "--server", s.address)
	if got := run(2, "context", "use", "nowhere"); !strings.Contains(got.stderr, "context list") {
		t.Errorf("%s", got.stderr)
	}
	list := run(0, "context", "list").stdout
	for _, want := range []string{"prod", s.address, "from $PROD_TOKEN", "* ", "gone"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "token: ") || strings.Contains(string(text), ": secret") {
		t.Errorf("%v\n%s", err, text)
	}
	run(0, "context", "remove", "gone")
}

func TestTokensOfAContextComeFromItsCommand(t *testing.T) {
	a := &app{getenv: func(string) string { return "" }, stderr: os.Stderr, stdin: strings.NewReader("")}
	if token, err := (serverContext{TokenCommand: "echo ' abc '"}).token(a); token != "abc" || err != nil {
		t.Errorf("token %q, error %v", token, err)
	}
	if _, err := (serverContext{TokenCommand: "exit 3"}).token(a); err == nil {
		t.Error("a failing command returned a token")
	}
	if _, err := (serverContext{TokenEnv: "NOT_SET"}).token(a); err == nil || !strings.Contains(err.Error(), "NOT_SET") {
		t.Errorf("error %v", err)
	}
}

func TestAddressesWithoutAScheme(t *testing.T) {
	for given, want := range map[string]string{
		"127.0.0.1:8740": "http://127.0.0.1:8740", "localhost:1": "http://localhost:1", "[::1]:1": "http://[::1]:1",
		"interlock.example.com": "https://interlock.example.com", "unix:/run/x.sock": "unix:/run/x.sock", "http://a:1": "http://a:1",
	} {
		if got := withScheme(given); got != want {
			t.Errorf("withScheme(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestShellCompletesWhatTheServerHas(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	complete := func(words ...string) string {
		return must(t, 0, append([]string{"__complete", "--server", s.address}, words...)...).stdout
	}
	for want, words := range map[string][]string{
		"shelf\n":      {"status", "sh"},
		"shelf/\n":     {"run", "show", ""},
		"SLA_BREACH\n": {"events", "--type", "SLA_BR"},
		"shelf":        {"runs", "--pipeline", ""},
	} {
		if got := complete(words...); !strings.HasPrefix(got, want) {
			t.Errorf("%v completes to %q, want %q", words, got, want)
		}
	}
}

func TestLongNamesHaveALineOfTheirOwn(t *testing.T) {
	long := strings.Repeat("finance-", 11) + "close"
	a := &app{width: narrow}
	var shown strings.Builder
	a.stdout = &shown
	columns := []column{col("PIPELINE"), col("STATE"), extraCol("DUE BY"), wrapCol("REASON")}
	reason := "waiting for its gate until 2026-11-18 11:52:00Z, and then for its upstream"
	a.sheet(columns, [][]cell{
		{plain("orders"), plain("ok"), plain("2026-03-03"), plain("–")}, {plain(long), plain("failed"), plain("2026-03-04"), plain(reason)},
	})
	want := "PIPELINE  STATE   DUE BY      REASON\n" +
		"orders    ok      2026-03-03  –\n" +
		long + "\n" +
		"          failed  2026-03-04  waiting for its gate until 2026-11-18 11:52:00Z,\n" +
		"                              and then for its upstream\n"
	if diff := cmp.Diff(want, shown.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTablesFitEightyColumns(t *testing.T) {
	long := strings.Repeat("because ", 20)
	columns := []column{col("RUN"), col("STATUS"), extraCol("OPENED"), extraCol("ENDED"), textCol("REASON")}
	row := []cell{plain("orders/stream/2026-03-03"), plain("VALIDATION_EXHAUSTED"), plain("2026-03-03 10:00Z"), plain("2026-03-03 10:00Z"), plain(long)}
	for _, line := range strings.Split(table(fit(columns, [][]cell{row}, narrow)), "\n") {
		if cells(line) > narrow {
			t.Errorf("%d columns: %s", cells(line), line)
		}
	}
	columns[4] = wrapCol("REASON")
	row[4] = plain(long)
	text := table(fit(columns, [][]cell{row}, narrow))
	for _, line := range strings.Split(text, "\n") {
		if cells(line) > narrow {
			t.Errorf("%d columns: %s", cells(line), line)
		}
	}
	if strings.Count(text, "because") != 20 {
		t.Errorf("a wrapped text lost words:\n%s", text)
	}
}

func TestWatchPrintsWhatHasChanged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	asked := 0
	ready := make(chan time.Time, 8)
	for range 8 {
		ready <- time.Time{}
	}
	a := &app{stdout: &out, stderr: &strings.Builder{}, flush: func() error { return nil }, after: func(time.Duration) <-chan time.Time { return ready }}
	answers := []string{"one\n", "one\n", "two\n"}
	err := a.watch(ctx, func(context.Context) error {
		if asked == len(answers) {
			cancel()
			return nil
		}
		_, err := a.stdout.Write([]byte(answers[asked]))
		asked++
		return err
	})
	if err != nil || out.String() != "one\n\ntwo\n" {
		t.Errorf("printed %q, error %v", out.String(), err)
	}
}

func TestLogInJSONIsNothingButJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("interlock.yaml", []byte("listen: 127.0.0.1:0\nlistn: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := interlock("serve", "--log-format", "json")
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	if got.code != 2 || len(lines) < 2 {
		t.Errorf("exit code %d, log:\n%s", got.code, got.stderr)
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestProgressIsShownOnATerminalOnly(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		ticks := make(chan time.Time)
		var shown strings.Builder
		a := &app{stderr: &shown, errTerminal: terminal, now: func() time.Time { return noon }, after: func(time.Duration) <-chan time.Time { return ticks }}
		end := a.progress("copying", func() string { return "3 of 7 rows" })
		if terminal {
			ticks <- noon
		}
		end()
		if strings.Contains(shown.String(), "copying… 3 of 7 rows, 0s") != terminal {
			t.Errorf("terminal: %t, shown %q", terminal, shown.String())
		}
	}
}

func TestWideEventsHaveTheirMessageBelow(t *testing.T) {
	long := strings.Repeat("word ", 30) + "end"
	row := func(message string) []cell {
		return []cell{plain("2026-03-03 12:00:00Z"), plain("JOB_COMPLETED"), {"orders 2026-03-03", style{true}.bold}, plain(message)}
	}
	a := &app{width: narrow}
	if got := a.eventTable([][]cell{row("short")}); strings.Count(got, "\n") != 1 {
		t.Errorf("a row that fits must have one line:\n%s", got)
	}
	got := a.eventTable([][]cell{row("short"), row(long)})
	if !strings.Contains(got, "orders 2026-03-03\x1b[0m\n    short\n") || !strings.HasSuffix(got, "    end\n") {
		t.Errorf("got\n%s", got)
	}
	for line := range strings.Lines(withoutColours(got)) {
		if cells(strings.TrimSuffix(line, "\n")) > narrow {
			t.Errorf("%d columns: %s", cells(line), line)
		}
	}
	a.wide = true
	if got := a.eventTable([][]cell{row(long)}); strings.Count(got, "\n") != 1 {
		t.Errorf("-o wide must have one line per event:\n%s", got)
	}
}

func TestLogReplacesTheStatusLine(t *testing.T) {
	var shown strings.Builder
	l := &statusLine{out: &shown}
	l.show("reading… 1s")
	fmt.Fprintln(l, "accepted")
	l.show("reading… 2s")
	l.show("")
	l.show("")
	if want := clearLine + "reading… 1s" + clearLine + "accepted\n" + clearLine + "reading… 2s" + clearLine; shown.String() != want {
		t.Errorf("got %q, want %q", shown.String(), want)
	}
}
