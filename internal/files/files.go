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

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Read reads each path: a file as it is, whatever its name, a directory recursively, where only *.yaml and *.yml
// count, names that start with a dot are passed over and the order is that of the names. A file that can be reached
// in several ways is read once, under the first of its names. A path that is missing or cannot be read is an error
// that names it; nothing is returned then, so that nobody takes half of the files for all of them.
func Read(paths ...string) ([]pipeline.Source, error) {
	var sources []pipeline.Source
	err := walk(paths, func(path string, info fs.FileInfo) error {
		src, err := readFile(path, info.Size())
		sources = append(sources, src)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sources, nil
}

// Stamp is a file and what changes when it does.
type Stamp struct {
	File     string
	Size     int64
	Modified int64 // in nanoseconds; a number, because there may be very many
}

// Stamps gives the files that Read would read, in the same order, without reading them: what a watcher compares.
func Stamps(paths ...string) ([]Stamp, error) {
	var stamps []Stamp
	err := walk(paths, func(path string, info fs.FileInfo) error {
		stamps = append(stamps, Stamp{File: path, Size: info.Size(), Modified: info.ModTime().UnixNano()})
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
func walk(paths []string, visit func(path string, info fs.FileInfo) error) error {
	w := walker{visit: visit, seen: map[string]bool{}}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return named(path, err)
		}
		origin, err := realPath(path)
		if err != nil {
			return err
		}
		if err := w.walk(path, origin, info); err != nil {
			return err
		}
	}
	return nil
}

// walker visits files. seen holds the real paths of files and directories that were visited, which keeps a file from
// counting twice and a directory that links to its own parent from being walked without end.
type walker struct {
	visit func(path string, info fs.FileInfo) error
	seen  map[string]bool
}

// walk visits what is behind path, which is really at origin.
func (w *walker) walk(path, origin string, info fs.FileInfo) error {
	if w.seen[origin] {
		return nil
	}
	w.seen[origin] = true
	if info.IsDir() {
		return w.walkDir(path, origin)
	}
	return w.visit(path, info)
}

func (w *walker) walkDir(dir, origin string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return named(dir, err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := w.walkEntry(filepath.Join(dir, entry.Name()), filepath.Join(origin, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

// walkEntry visits what was found in a directory, links followed. A pipe or a device that happens to be called *.yaml
// is passed over: reading it might never end.
func (w *walker) walkEntry(path, origin string, entry fs.DirEntry) error {
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
	case !info.IsDir() && !(wanted && info.Mode().IsRegular()):
		return nil
	}
	if link {
		if origin, err = realPath(path); err != nil {
			return err
		}
	}
	return w.walk(path, origin, info)
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// readFile reads a file that is probably of that size.
func readFile(path string, size int64) (pipeline.Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return pipeline.Source{}, named(path, err)
	}
	defer f.Close()
	// One byte more than allowed is enough for the parser to see that the file is too large.
	rest := io.LimitReader(f, document.MaxBytes+1)
	data := make([]byte, min(max(size, 0), document.MaxBytes)+1) // and one to see that it ends
	n, err := io.ReadFull(rest, data)
	data = data[:n]
	if err == nil { // it does not end there: it is of no size that can be known, or grows
		var more []byte
		more, err = io.ReadAll(rest)
		data = append(data, more...)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return pipeline.Source{}, named(path, err)
	}
	return pipeline.Source{File: path, Data: data}, nil
}

// realPath is where path leads when all links are followed. What is there but has no path of its own, such as a shell's
// <(…), goes by the name it was given.
func realPath(path string) (string, error) {
	origin, err := filepath.EvalSymlinks(path)
	if err != nil {
		origin = path
	}
	if origin, err = filepath.Abs(origin); err != nil {
		return "", named(path, err)
	}
	return origin, nil
}

// named says which path could not be read, and why, without the name of the system call.
func named(path string, err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("read %s: %w", path, err)
}
