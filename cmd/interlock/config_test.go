package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder is lost while the server runs: first the whole folder, then its content, as with an
// empty mount point.
func TestALostFolderIsReportedAndRemovesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, site{pipelines: map[string]string{
		"a.yaml": "pipeline: {id: a, owner: tests}\n", "b.yaml": "pipeline: {id: b, owner: tests}\n",
	}})
	away := s.pipelines + "-away"
	if err := os.Rename(s.pipelines, away); err != nil {
		t.Fatal(err)
	}
	s.until("the missing folder to be reported", func() bool { return strings.Contains(s.run("status").stdout, "degraded") })
	if got := s.must(0, "status").stdout; !in(got, "2 need attention") || !in(got, "no such file or directory") || !in(got, "(and 1 more pipeline)") {
		t.Errorf("status:\n%s", got)
	}
	if got := s.body("/readyz"); !in(got, `"status":"ready"`) || !in(got, `"name":"files","ok":false`) || !in(got, s.pipelines) {
		t.Errorf("readyz: %s", got)
	}
	if got := s.body("/api/v1/files"); strings.Count(got, `"state":"missing"`) != 2 {
		t.Errorf("files: %s", got)
	}
	if got := s.must(0, "events", "--type", "INFRA_ALARM", "--format", "json").stdout; strings.Count(got, `"state": "ALARM"`) != 1 {
		t.Errorf("events: %s", got)
	}
	if got := s.must(1, "config", "accept-removal"); !in(got.stderr, "there is no removal to accept") {
		t.Errorf("nothing was lost: %s", got.stderr)
	}

	if err := os.Mkdir(s.pipelines, 0o755); err != nil {
		t.Fatal(err)
	}
	s.until("the lost files to be reported", func() bool { return strings.Contains(s.run("status").stdout, "accept-removal") })
	if got := s.must(0, "events", "--type", "CONFIG_REMOVED").stdout; in(got, "CONFIG_REMOVED") {
		t.Errorf("removed: %s", got)
	}
	if err := os.Rename(filepath.Join(away, "a.yaml"), filepath.Join(s.pipelines, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	s.until("the file to be back", func() bool { return in(s.run("status").stdout, "1 ok, 1 needs attention") })
	if got := s.must(0, "config", "accept-removal", "--reason", "b is done"); got.stdout != "1 pipeline removed: b\n" {
		t.Errorf("accept-removal: %s", got.stdout)
	}
	if got := s.must(0, "status").stdout; !in(got, "1 pipeline: 1 ok") {
		t.Errorf("status:\n%s", got)
	}
	// Where the message wraps depends on the length of the temporary directory's name.
	got := strings.Join(strings.Fields(s.must(0, "events", "--type", "INFRA_ALARM").stdout), " ")
	if !in(got, "ann accepted the removal of 1 pipelines", ": b is done") {
		t.Errorf("events: %s", got)
	}
}

func TestAcceptRemovalNeedsAnOperator(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	s := serve(t, site{
		pipelines: map[string]string{"a.yaml": "pipeline: {id: a, owner: tests}\n"},
		config:    "auth: {tokens: [{name: reader, role: viewer, tokenEnv: READER}]}\n",
		env:       map[string]string{"READER": secret},
	})
	if got := s.must(1, "--token", secret, "config", "accept-removal"); !in(got.stderr, "operator") {
		t.Errorf("as a viewer: %s", got.stderr)
	}
}

func TestListenFlagIsCheckedLikeTheFile(t *testing.T) {
	for value, want := range map[string]string{
		"bad":   `--listen: "bad" is not an address; write host:port, such as 127.0.0.1:8740`,
		"unix:": "--listen: has no socket path; write unix:/path/to/socket",
	} {
		for _, command := range []string{"serve", "demo"} {
			if got := interlock(command, "--data", t.TempDir(), "--listen", value); got.code != 2 || !in(got.stderr, want) || in(got.stderr, "tokens") {
				t.Errorf("%s %s: got %+v", command, value, got)
			}
		}
	}
}
