package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// remoteCommands has one valid call of each command that connects to a server.
var remoteCommands = [][]string{
	{"sensor", "set", "orders", "landed", "n=1"},
	{"sensor", "get", "orders"},
	{"sensor", "get", "orders", "landed"},
	{"sensor", "history", "orders", "landed"},
	{"status"},
	{"status", "orders"},
	{"runs"},
	{"run", "show", "orders/stream/2026-03-03"},
	{"run", "show", "orders", "--date", "2026-03-03"},
	{"logs", "orders/stream/2026-03-03"},
	{"logs", "orders/stream/2026-03-03", "--follow"},
	{"explain", "orders"},
	{"deadlines"},
	{"events"},
	{"events", "--follow"},
	{"trigger", "orders"},
	{"rerun", "orders", "--date", "2026-03-03", "--reason", "test"},
	{"backfill", "orders", "--from", "2026-03-01", "--to", "2026-03-03"},
	{"cancel", "orders/stream/2026-03-03"},
	{"cancel", "orders", "--date", "2026-03-03"},
	{"pause", "orders"},
	{"pause", "--all", "--reason", "migration"},
	{"resume", "orders"},
	{"resume", "--all"},
	{"job", "complete", "orders/stream/2026-03-03", "success"},
	{"alerts", "routes"},
	{"alerts", "test", "default"},
	{"alerts", "dead"},
	{"alerts", "retry", "--all"},
	{"silence", "add", "--pipeline", "orders", "--for", "2h", "--reason", "test"},
	{"silence", "list"},
	{"silence", "end", "s-1f2e3d4c"},
}

// everyCommand runs each of them with that server address, and expects that exit code.
func everyCommand(t *testing.T, address string, code int, want ...string) {
	t.Helper()
	for _, args := range remoteCommands {
		for _, format := range []string{"text", "json"} {
			got := interlock(append(args, "--server", address, "--format", format)...)
			if got.code != code || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !in(got.stderr, want...) {
				t.Errorf("%s: exit code %d, want %d and %q\nstdout: %s\nstderr: %s", args, got.code, code, want, got.stdout, got.stderr)
			}
		}
	}
}

func TestUnreachableServerIsExitCode3(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	everyCommand(t, gone.URL, 3, "cannot reach the server at "+gone.URL, "refused", "--server", "interlock serve")
}

func TestAnswerOfAnotherServerIsExitCode3(t *testing.T) {
	for _, status := range []int{200, 301, 404, 500} {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			fmt.Fprint(w, "<html>\n<p>welcome")
		}))
		everyCommand(t, page.URL, 3, "the server at "+page.URL+" answered", "--server")
		page.Close()
	}
}

func TestTimeoutDoesNotSuggestAnotherServer(t *testing.T) {
	late := &client.UnreachableError{Server: client.DefaultServer, Late: true, Err: errors.New("did not answer within 1m0s")}
	err := hinted(late)
	if code, _ := remoteCode(err); code != exitUnreachable || err.Error() != "the server at "+client.DefaultServer+" did not answer within 1m0s" {
		t.Errorf("exit code %d, %q", code, err)
	}
}

func TestServersAnswerSetsTheExitCode(t *testing.T) {
	for status, code := range map[int]int{400: 2, 401: 1, 403: 1, 404: 1, 409: 1, 413: 2, 429: 1, 500: 3, 503: 3} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"status": %d, "detail": "for this reason"}`, status)
		}))
		everyCommand(t, server.URL, code, "for this reason")
		server.Close()
	}
}

func TestTheFlagWinsOverTheEnvironment(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	env := map[string]string{"INTERLOCK_SERVER": "http://127.0.0.1:1"}
	if got := (call{args: []string{"status"}, env: env}).run(); got.code != 3 {
		t.Errorf("server from the environment: %+v", got)
	}
	if got := (call{args: []string{"--server", s.address, "status"}, env: env}).run(); got.code != 0 {
		t.Errorf("server from the flag: %+v", got)
	}
	for _, address := range []string{"http://", "ftp://x"} {
		if got := interlock("status", "--server", address); got.code != 2 || !in(got.stderr, address, client.DefaultServer) {
			t.Errorf("got %+v", got)
		}
	}
}

const tokens = `auth:
  tokens:
    - {name: wall, role: viewer, tokenEnv: WALL}
    - {name: etl, role: sensor, pipelines: [orders], tokenEnv: ETL}
    - {name: ops, role: operator, tokenEnv: OPS}
`

func TestTokenGrantsItsRole(t *testing.T) {
	env := map[string]string{"WALL": "wall-0123456789abcdef", "ETL": "etl-0123456789abcdef", "OPS": "ops-0123456789abcdef"}
	s := serve(t, site{
		pipelines: map[string]string{"orders.yaml": "pipeline: {id: orders, owner: data}\n", "shelf.yaml": shelfFile}, config: tokens, env: env,
	})
	tests := []struct {
		name string
		env  string // the variable that holds the token
		code int
		args []string
		want string
	}{
		{"no token", "", 1, []string{"status"}, "--token"},
		{"a viewer reads", "WALL", 0, []string{"status"}, "orders"},
		{"a viewer writes nothing", "WALL", 1, []string{"sensor", "set", "orders", "x", "n=1"}, "role sensor"},
		{"a viewer opens nothing", "WALL", 1, []string{"trigger", "orders"}, "role runner"},
		{"a sensor writes", "ETL", 0, []string{"sensor", "set", "orders", "x", "n=1"}, "version"},
		{"a sensor writes its own pipelines alone", "ETL", 1, []string{"sensor", "set", "shelf", "x", "n=1"}, "limited"},
		{"a sensor sees its own pipelines alone", "ETL", 0, []string{"status"}, "1 pipeline:"},
		{"a sensor ingests", "ETL", 0, []string{"ingest", "soda", artifactFile(t, "soda/broken.json"), "--pipeline", "orders"}, "wrote 1 reading"},
		{"a sensor ingests into its own pipelines alone", "ETL", 1, []string{"ingest", "soda", artifactFile(t, "soda/broken.json"), "--pipeline", "shelf"}, "limited"},
		{"a sensor opens nothing", "ETL", 1, []string{"trigger", "orders"}, "role runner"},
		{"an operator pauses", "OPS", 0, []string{"pause", "--all", "--reason", "migration"}, "2 pipelines paused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, how := range []string{"flag", "environment"} {
				c := call{args: tt.args, env: map[string]string{"INTERLOCK_SERVER": s.address, "USER": "ann"}}
				if how == "flag" {
					c.args = append(tt.args, "--token", env[tt.env])
				} else {
					c.env["INTERLOCK_TOKEN"] = env[tt.env]
				}
				if got := c.run(); got.code != tt.code || !strings.Contains(got.stdout+got.stderr, tt.want) {
					t.Errorf("%s: exit code %d, want %d and %q\n%s%s", how, got.code, tt.code, tt.want, got.stdout, got.stderr)
				}
			}
		})
	}
	resumed := call{args: []string{"resume", "--all", "--token", env["OPS"]}, env: map[string]string{"INTERLOCK_SERVER": s.address}}.run()
	if resumed.code != 0 || !in(resumed.stdout, "resumed") {
		t.Errorf("an operator resumes: %+v", resumed)
	}
	wrong := call{args: []string{"status"}, env: map[string]string{"INTERLOCK_SERVER": s.address, "INTERLOCK_TOKEN": "guess-0123456789abcdef"}}.run()
	if wrong.code != 1 || !in(wrong.stderr, "unknown token", "--token") || strings.Contains(wrong.stderr, "guess-") {
		t.Errorf("got %+v", wrong)
	}
	if page, err := s.client(client.WithToken(env["OPS"])).Events(context.Background(), client.EventQuery{Type: "PIPELINE_PAUSED"}); err != nil || !strings.Contains(page.Items[0].Detail.Message, "ann (ops)") {
		t.Errorf("the event does not say who paused: %+v, %v", page, err)
	}
}

func TestMissingThingsAreNamedWithAWayToFindThem(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	pipeline := "interlock: there is no pipeline \"gone\"; `interlock status` lists them\n"
	for _, args := range [][]string{
		{"sensor", "set", "gone", "x", "n=1"},
		{"sensor", "get", "gone"},
		{"sensor", "get", "gone", "x"},
		{"sensor", "history", "gone", "x"},
		{"status", "gone"},
		{"explain", "gone"},
		{"trigger", "gone"},
		{"rerun", "gone", "--date", "2026-03-03", "--reason", "x"},
		{"backfill", "gone", "--from", "2026-03-03", "--to", "2026-03-03"},
		{"run", "show", "gone", "--date", "2026-03-03"},
		{"cancel", "gone", "--date", "2026-03-03"},
		{"pause", "gone"},
		{"resume", "gone"},
	} {
		if got := s.must(1, args...); got.stdout != "" || got.stderr != pipeline {
			t.Errorf("%s: %s%s", args, got.stdout, got.stderr)
		}
	}
	run := "interlock: there is no run shelf/manual/2026-03-03; `interlock explain shelf --date 2026-03-03` says why\n"
	for _, args := range [][]string{
		{"run", "show", "shelf/manual/2026-03-03"},
		{"run", "show", "shelf", "--date", "2026-03-03"},
	} {
		if got := s.must(1, args...); got.stdout != "" || got.stderr != run {
			t.Errorf("%s: %s%s", args, got.stdout, got.stderr)
		}
	}
}

func TestPipelineWithARejectedFileIsReportedAsRejected(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile, "bad.yaml": "pipeline: {id: bad, ownr: ops}\n"}})
	for _, args := range [][]string{{"trigger", "bad"}, {"sensor", "set", "bad", "x", "n=1"}, {"pause", "bad"}, {"backfill", "bad", "--from", "2026-03-03", "--to", "2026-03-03"}} {
		got := s.must(1, args...)
		if got.stdout != "" || !in(got.stderr, `"bad"`, "rejected", "bad.yaml", "owner: is required", "correct the file") || strings.Contains(got.stderr, "lists them") {
			t.Errorf("%s: %s%s", args, got.stdout, got.stderr)
		}
	}
}

func TestWrongUseOfAServerCommandIsExplained(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"sensor", "put"}, `sensor has no command "put"`},
		{[]string{"sensor", "get"}, "PIPELINE"},
		{[]string{"sensor", "get", "a", "b", "c"}, `"c"`},
		{[]string{"sensor", "get", "a", "--date", "2026-03-03"}, "KEY"},
		{[]string{"sensor", "history", "a"}, "sensor history needs KEY"},
		{[]string{"status", "a", "b"}, "one PIPELINE"},
		{[]string{"runs", "orders"}, `"orders"`},
		{[]string{"runs", "--limit", "0"}, "1 to 100000"},
		{[]string{"run", "show"}, "run show needs RUN"},
		{[]string{"run", "show", "orders"}, "--date"},
		{[]string{"run", "show", "orders/2026-03-03"}, "PIPELINE/SCHEDULE/DATE"},
		{[]string{"run", "show", "orders/cron/2026-03-03", "--date", "2026-03-03"}, "remove --date"},
		{[]string{"explain"}, "PIPELINE"},
		{[]string{"explain", "a", "b"}, `"b"`},
		{[]string{"deadlines", "a"}, `"a"`},
		{[]string{"events", "--follow", "--limit", "3"}, "--limit"},
		{[]string{"trigger"}, "PIPELINE"},
		{[]string{"trigger", "a", "--force"}, "--reason"},
		{[]string{"trigger", "a", "--bypass-gate"}, "--reason"},
		{[]string{"rerun", "a"}, "--reason WHY"},
		{[]string{"rerun", "a", "--date", "2026-03-03"}, "--reason"},
		{[]string{"rerun", "a", "--reason", "x"}, "--date"},
		{[]string{"backfill", "a", "--from", "2026-03-03"}, "--to"},
		{[]string{"cancel"}, "RUN"},
		{[]string{"cancel", "a"}, "--date"},
		{[]string{"pause"}, "--all"},
		{[]string{"pause", "a", "--all"}, "--all"},
		{[]string{"pause", "a", "b"}, "--all"},
		{[]string{"pause", "a", "--for", "soon"}, "--for"},
		{[]string{"pause", "a", "--for", "-1h"}, "--for"},
		{[]string{"pause", "a", "--until", "soon"}, "--until"},
		{[]string{"pause", "a", "--for", "1h", "--until", "2026-03-03T10:00:00Z"}, "not both"},
		{[]string{"resume"}, "--all"},
		{[]string{"job", "complete", "a/b/c"}, "success or fail"},
		{[]string{"job", "complete", "a/b/c", "perhaps"}, `"perhaps"`},
		{[]string{"job", "complete", "a", "success"}, "--date"},
		{[]string{"job", "complete", "a/b/c", "success", "--category", "TRANSIENT"}, "failure"},
		{[]string{"alerts", "test"}, "a ROUTE"},
		{[]string{"alerts", "retry"}, "--all"},
		{[]string{"alerts", "nonsense"}, `"nonsense"`},
		{[]string{"silence", "add", "--for", "2h", "--reason", "x"}, "--pipeline"},
		{[]string{"silence", "add", "--pipeline", "a", "--reason", "x"}, "--for"},
		{[]string{"silence", "add", "--pipeline", "a", "--for", "2h"}, "--reason"},
		{[]string{"silence", "end"}, "a SILENCE"},
		{[]string{"backup"}, "FILE"},
		{[]string{"init", "a", "b"}, "one DIR"},
	}
	for _, tt := range tests {
		got := must(t, 2, tt.args...)
		if got.stdout != "" || strings.Count(got.stderr, "\n") != 2 || !in(got.stderr, tt.want, "--help") {
			t.Errorf("%s: %q is not in: %s%s", tt.args, tt.want, got.stdout, got.stderr)
		}
	}
}

func TestServerCommandsHaveHelp(t *testing.T) {
	for _, args := range remoteCommands {
		name := args[:1]
		switch args[0] {
		case "sensor", "run", "job", "alerts", "silence":
			name = args[:2]
		}
		asked, flagged := must(t, 0, append([]string{"help"}, name...)...), must(t, 0, append(append([]string{}, name...), "--help")...)
		if diff := cmp.Diff(flagged.stdout, asked.stdout); diff != "" {
			t.Errorf("help %s differs:\n%s", name, diff)
		}
		if !in(asked.stdout, "Examples:\n  interlock "+strings.Join(name, " "), "--server URL", "--token TOKEN", "--format text|wide|json") {
			t.Errorf("help %s:\n%s", name, asked.stdout)
		}
	}
}
