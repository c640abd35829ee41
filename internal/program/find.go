//go:build unix

package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Find returns the path of a program: name is a path, relative to dir unless it is absolute, or a
// name to be found in PATH. An error means that the program is missing or not executable: a retry
// will not find it.
func Find(name, dir string, env Vars) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if err := executes(path); err != nil {
			return "", fmt.Errorf("%s cannot be executed: %w", path, err)
		}
		return name, nil
	}
	var found error
	for _, place := range filepath.SplitList(env["PATH"]) {
		if !filepath.IsAbs(place) {
			continue // a relative entry depends on where the program happens to run
		}
		path := filepath.Join(place, name)
		err := executes(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && found == nil {
			found = fmt.Errorf("%s cannot be executed: %w", path, err)
		}
	}
	if found == nil {
		found = fmt.Errorf("no program %q in PATH (%s)", name, env["PATH"])
	}
	return "", found
}

// executes returns why path is not an executable program.
func executes(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		if pathError, ok := errors.AsType[*fs.PathError](err); ok {
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
