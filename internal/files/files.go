// Package files reads pipeline, calendar and archetype files from disk into sources for package pipeline. It looks
// at names and sizes only: what a file holds is for package pipeline to say. It never writes and never watches.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Read reads each path: a file as it is, whatever its name, a directory recursively, where only *.yaml and *.yml
// count, names that start with a dot are passed over and the order is that of the names. A file that can be reached
// in several ways is read once, under the first of its names. A path that is missing or cannot be read is an error
// that names it; nothing is returned then, so that nobody takes half of the files for all of them.
func Read(paths ...string) ([]pipeline.Source, error) {
	var sources []pipeline.Source
	err := walk(paths, func(path string) error {
		src, err := readFile(path)
		sources = append(sources, src)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sources, nil
}

// Stamp is what changes when a file does.
type Stamp struct {
	Size     int64
	Modified time.Time
}

// Stamps gives the files that Read would read, without reading them: what a watcher compares.
func Stamps(paths ...string) (map[string]Stamp, error) {
	stamps := map[string]Stamp{}
	err := walk(paths, func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return named(path, err)
		}
		stamps[path] = Stamp{Size: info.Size(), Modified: info.ModTime()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stamps, nil
}

// IsDir says whether path is a directory; a path that cannot be looked at is an error that names it.
func IsDir(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, named(path, err)
	}
	return info.IsDir(), nil
}

// walk visits each file behind paths once.
func walk(paths []string, visit func(path string) error) error {
	w := walker{visit: visit, seen: map[string]bool{}}
	for _, path := range paths {
		if err := w.walk(path); err != nil {
			return err
		}
	}
	return nil
}

// walker visits files. seen holds the real paths of files and directories that were visited, which keeps a file from
// counting twice and a directory that links to its own parent from being walked without end.
type walker struct {
	visit func(path string) error
	seen  map[string]bool
}

func (w *walker) walk(path string) error {
	dir, err := IsDir(path)
	switch {
	case err != nil:
		return err
	case dir:
		return w.walkDir(path)
	default:
		return w.file(path)
	}
}

func (w *walker) walkDir(dir string) error {
	if again, err := w.again(dir); again || err != nil {
		return err
	}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return named(dir, err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := w.walkEntry(filepath.Join(dir, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

// walkEntry visits what was found in a directory, links followed. A pipe or a device that happens to be called *.yaml
// is passed over: reading it might never end.
func (w *walker) walkEntry(path string, entry fs.DirEntry) error {
	wanted := isYAML(path)
	link := entry.Type()&fs.ModeSymlink != 0
	if !wanted && !link && !entry.IsDir() {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && !wanted:
		return nil // a dangling link to who knows what
	case err != nil:
		return named(path, err)
	case info.IsDir():
		return w.walkDir(path)
	case wanted && info.Mode().IsRegular():
		return w.file(path)
	default:
		return nil
	}
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

func (w *walker) file(path string) error {
	if again, err := w.again(path); again || err != nil {
		return err
	}
	return w.visit(path)
}

func readFile(path string) (pipeline.Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return pipeline.Source{}, named(path, err)
	}
	defer f.Close()
	// One byte more than allowed is enough for the parser to see that the file is too large.
	data, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	if err != nil {
		return pipeline.Source{}, named(path, err)
	}
	return pipeline.Source{File: path, Data: data}, nil
}

// again says whether the file or directory behind path was read before, and remembers it. What is there but has no
// path of its own, such as a shell's <(…), goes by the name it was given.
func (w *walker) again(path string) (bool, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		resolved = path
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		return false, named(path, err)
	}
	again := w.seen[resolved]
	w.seen[resolved] = true
	return again, nil
}

// named says which path could not be read, and why, without the name of the system call.
func named(path string, err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("read %s: %w", path, err)
}
