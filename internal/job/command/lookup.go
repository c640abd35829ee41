//go:build unix

package command

import (
	"os"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// lookup finds the program of that name, as program.Find does. A program that is missing or not executable is a
// permanent refusal.
func lookup(name, dir string, env program.Vars) (string, error) {
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", job.Refuse(run.Permanent, "job.config.dir: %s is not a directory on this machine", dir)
		}
	}
	path, err := program.Find(name, dir, env)
	if err != nil {
		hint := ""
		if !strings.Contains(name, "/") && strings.HasPrefix(err.Error(), "no program") {
			hint = "; write its path, or use shell: true for shell built-ins and aliases"
		}
		return "", job.Refuse(run.Permanent, "job.config.command: %v%s", err, hint)
	}
	return path, nil
}
