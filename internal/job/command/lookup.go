//go:build unix

package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// lookup finds the program that name stands for: a path, from dir unless it is absolute, or a name to be found in PATH.
// What is not there or may not be executed is refused for good: no try will find it.
func lookup(name, dir string, env vars) (string, error) {
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", job.Refuse(run.Permanent, "job.config.dir: %s is not a directory on this machine", dir)
		}
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if err := executes(path); err != nil {
			return "", job.Refuse(run.Permanent, "job.config.command: %s cannot be executed: %v", path, err)
		}
		return name, nil
	}
	var found error
	for _, place := range filepath.SplitList(env["PATH"]) {
		if !filepath.IsAbs(place) {
			continue // what such a place holds depends on where the command happens to run
		}
		path := filepath.Join(place, name)
		err := executes(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && found == nil {
			found = job.Refuse(run.Permanent, "job.config.command: %s cannot be executed: %v", path, err)
		}
	}
	if found == nil {
		found = job.Refuse(run.Permanent, "job.config.command: no program %q in PATH (%s); write its path, or shell: true for what only a shell knows", name, env["PATH"])
	}
	return "", found
}

// executes says why path is not a program that may be executed.
func executes(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
			return pathError.Err
		}
		return err
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode().Perm()&0o111 == 0:
		return errors.New("it is not executable; chmod +x it, or name its interpreter first")
	}
	const mayExecute = 1
	return syscall.Access(path, mayExecute)
}
