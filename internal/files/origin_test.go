//go:build unix

package files_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/files"
)

func TestOriginIsTheOwnerAndTheCommit(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	one, two := strings.Repeat("1a", 20), strings.Repeat("2b", 20)
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no repository", nil, ""},
		{"a branch", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": one + "\n"}, one},
		{"a detached head", map[string]string{".git/HEAD": one + "\n"}, one},
		{"a packed branch", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": "# pack-refs\n" + one + " refs/heads/main2\n" + two + " refs/heads/main\n"}, two},
		{"a linked working tree", map[string]string{
			".git": "gitdir: elsewhere/worktrees/w\n", "elsewhere/worktrees/w/HEAD": "ref: refs/heads/main\n",
			"elsewhere/worktrees/w/commondir": "../..\n", "elsewhere/refs/heads/main": two + "\n",
		}, two},
		{"a head that leads elsewhere shows nothing", map[string]string{".git/HEAD": "ref: ../../secret\n", "secret": "hunter2\n"}, ""},
		{"a repository without a commit", map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "pipelines", "deep", "orders.yaml")
			all := map[string]string{"pipelines/deep/orders.yaml": "x"}
			for name, text := range tt.files {
				all[name] = text
			}
			for name, text := range all {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			owner, commit := files.Origin(file)
			if owner != me.Username || commit != tt.want {
				t.Errorf("got %q, %q, want %q, %q", owner, commit, me.Username, tt.want)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if owner, commit := files.Origin(file); owner != "" || commit != tt.want {
				t.Errorf("of a removed file: got %q, %q, want %q", owner, commit, tt.want)
			}
		})
	}
}
