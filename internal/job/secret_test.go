package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// write makes a file and gives its path.
func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesAreReadOnlyBelowWhatIsAllowed(t *testing.T) {
	dir := t.TempDir()
	allowed := filepath.Join(dir, "allowed")
	outside := write(t, filepath.Join(dir, "outside", "key"), "0utside")
	single := write(t, filepath.Join(dir, "single"), "the-single-one")
	inside := write(t, filepath.Join(allowed, "token"), "tok-inside\r\n")
	deep := write(t, filepath.Join(allowed, "..data", "deep"), "tok-deep")
	write(t, filepath.Join(dir, "allowed-not", "key"), "0utside")
	large := write(t, filepath.Join(allowed, "large"), strings.Repeat("x", 1<<16+1))
	pipe := filepath.Join(allowed, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, err := job.NewSecrets(nil, []string{allowed, single}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const notAllowed, unreadable = "may not be read; add it or its directory to secrets.files", "cannot be read"
	tests := map[string]struct {
		value, problem string
		category       run.Category
	}{
		inside:                                   {value: "tok-inside"},
		deep:                                     {value: "tok-deep"},
		single:                                   {value: "the-single-one"},
		allowed + "/./x/../token":                {value: "tok-inside"},
		link(t, "..data/deep", allowed+"/in"):    {value: "tok-deep"},
		link(t, outside, allowed+"/out"):         {problem: unreadable, category: run.Transient},
		link(t, "../outside", allowed+"/outdir"): {problem: "regular", category: run.Transient},
		allowed + "/outdir/key":                  {problem: unreadable, category: run.Transient},
		allowed + "/gone":                        {problem: "no such file", category: run.Transient},
		pipe:                                     {problem: "not a regular file", category: run.Transient},
		large:                                    {problem: "larger than", category: run.Transient},
		outside:                                  {problem: notAllowed, category: run.Permanent},
		allowed + "/../outside/key":              {problem: notAllowed, category: run.Permanent},
		dir + "/allowed-not/key":                 {problem: notAllowed, category: run.Permanent},
		allowed:                                  {problem: "regular", category: run.Transient},
		"token":                                  {problem: "absolute", category: run.Permanent},
	}
	delete(tests, allowed+"/outdir") // what a link to a directory outside says depends on the system
	for path, want := range tests {
		got, err := expand(t, "text: x${file:"+path+"}y\n", secrets)
		if want.problem == "" {
			if err != nil || got.Text != "x"+want.value+"y" {
				t.Errorf("%s: got %q, %v", path, got.Text, err)
			}
			continue
		}
		refusal := refusalOf(t, err)
		if refusal.Category != want.category || !strings.Contains(refusal.Reason, want.problem) || strings.Contains(refusal.Reason, "0utside") {
			t.Errorf("%s: got %s %s, want %s %s", path, refusal.Category, refusal.Reason, want.category, want.problem)
		}
	}
}

func TestOnlyAllowedEnvironmentVariablesAreRead(t *testing.T) {
	env := map[string]string{"TOKEN": "s3cret", "OTHER": "0ther", "EMPTY": ""}
	lookup := func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	}
	secrets, err := job.NewSecrets([]string{"TOKEN", "UNSET", "EMPTY"}, nil, lookup)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"TOKEN": "s3cret", "EMPTY": ""} {
		if got, err := expand(t, "text: '${env:"+name+"}'\n", secrets); err != nil || got.Text != want {
			t.Errorf("%s: got %q, %v", name, got.Text, err)
		}
	}
	for name, want := range map[string]string{
		"OTHER": "job.config.text: ${env:OTHER} may not be read; add OTHER to secrets.env in the server's file",
		"token": "job.config.text: ${env:token} may not be read; add token to secrets.env in the server's file",
		"UNSET": "job.config.text: ${env:UNSET} is not set in the server's environment",
	} {
		_, err := expand(t, "text: ${env:"+name+"}\n", secrets)
		if got := refusalOf(t, err); got.Reason != want || got.Category != run.Permanent {
			t.Errorf("%s: got %s %s, want %s", name, got.Category, got.Reason, want)
		}
	}
	if _, err := expand(t, "text: ${env:TOKEN} ${file:/etc/passwd}\n", nil); refusalOf(t, err).Category != run.Permanent {
		t.Errorf("without an allow-list: %v", err)
	}
}
