package program

import (
	"os"
	"path/filepath"
)

// projectFile marks a project directory.
const projectFile = "interlock.yaml"

// ProjectDir returns the absolute directory that relative paths in a pipeline file are relative to. It goes up from
// the file to the first directory with an interlock.yaml, or with the "pipelines" directory it came through; without
// either it is the file's own directory. It is "" if that directory is not on this machine.
func ProjectDir(file string) string {
	path, err := filepath.Abs(file)
	if err != nil || file == "" {
		return ""
	}
	own := filepath.Dir(path)
	if info, err := os.Stat(own); err != nil || !info.IsDir() {
		return ""
	}
	for dir := own; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, projectFile)); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		switch {
		case filepath.Base(dir) == "pipelines":
			return up
		case up == dir:
			return own
		}
	}
}
