// Package files reads pipeline, calendar and archetype files from disk into sources for package pipeline. It looks
// at names and sizes only: what a file holds is for package pipeline to say. It never writes and never watches.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// Read reads each path: a file as it is, whatever its name, a directory recursively, where only *.yaml and *.yml
// count, names that start with a dot are passed over and the order is that of the names. A file that can be reached
// in several ways is read once, under the first of its names. A file in a directory that cannot be read is among the
// others, with the reason in place of its contents. A path that is missing or cannot be read, and a directory below it, is an
// error that names it; nothing is returned then, so that half of the files are never taken for all of them.
//
// Links are followed as long as they stay below one of the paths, as those of a Kubernetes ConfigMap do. A link in a
// directory that leads elsewhere cannot be read: whoever may write there could otherwise have any file of the machine
// read, and quoted in the problems that are reported about it.
func Read(paths ...string) ([]pipeline.Source, error) {
	var sources []pipeline.Source
	err := walk(paths, func(f file) error {
		src, err := f.read()
		switch {
		case err == nil:
			sources = append(sources, src)
		case f.given:
			return named(f.path, err)
		case !isGone(f.path):
			sources = append(sources, pipeline.Source{File: f.path, Unread: f.why(err)})
		}
		return nil
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
	Changed  int64 // what also changes with its owner and permissions: it may be readable now
}

// Stamps gives the files that Read would read, in the same order, without reading them: what a watcher compares.
func Stamps(paths ...string) ([]Stamp, error) {
	var stamps []Stamp
	err := walk(paths, func(f file) error {
		stamp := Stamp{File: f.path}
		if f.info != nil {
			stamp.Size, stamp.Modified, stamp.Changed = f.info.Size(), f.info.ModTime().UnixNano(), changed(f.info)
		}
		stamps = append(stamps, stamp)
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
func walk(paths []string, visit func(file) error) error {
	w := walker{visit: visit, seen: map[string]bool{}}
	for _, path := range paths {
		origin, err := realPath(path)
		if err != nil {
			return err
		}
		w.roots = append(w.roots, origin)
	}
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return named(path, err)
		}
		if err := w.walk(file{path: path, info: info, given: true}, w.roots[i]); err != nil {
			return err
		}
	}
	return nil
}

// errOutside is why a link is not followed.
var errOutside = errors.New("the link leads out of the directory; put the file itself there, or name its directory in the server's file")

// rootOf returns the given path that origin is, or is below of; "" if there is none.
func (w *walker) rootOf(origin string) string {
	for _, root := range w.roots {
		if rest, below := strings.CutPrefix(origin, root); below && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(root[len(root)-1])) {
			return root
		}
	}
	return ""
}

// walker visits files. seen holds the real paths of files and directories that were visited, which keeps a file from
// counting twice and a directory that links to its own parent from being walked without end.
type walker struct {
	visit func(file) error
	roots []string // the real paths of those that were given
	seen  map[string]bool
}

// walk visits f, which is really at origin, or what is in it.
func (w *walker) walk(f file, origin string) error {
	if w.seen[origin] {
		return nil
	}
	w.seen[origin] = true
	if f.info.IsDir() {
		return w.walkDir(f.path, origin)
	}
	if !f.given {
		f.root, f.origin = w.rootOf(origin), origin
	}
	return w.visit(f)
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
	case err != nil:
		return w.visitUnseen(path, entry, err)
	case !info.IsDir() && !(wanted && info.Mode().IsRegular()):
		return nil
	}
	if link {
		if origin, err = realPath(path); err != nil {
			return err
		}
		if w.rootOf(origin) == "" {
			if info.IsDir() {
				return named(path, errOutside)
			}
			return w.visitUnseen(path, entry, errOutside)
		}
	}
	return w.walk(file{path: path, info: info}, origin)
}

// visitUnseen visits what was found in a directory and cannot be looked at. Of a directory nobody can say what is missing.
func (w *walker) visitUnseen(path string, entry fs.DirEntry, err error) error {
	switch {
	case isGone(path):
		return nil // since its name was read
	case entry.IsDir():
		return named(path, err)
	case !isYAML(path):
		return nil // a dangling link to who knows what
	}
	info, _ := os.Lstat(path) // of the link, if that can be had
	return w.visit(file{path: path, info: info, unseen: err})
}

// isGone says that there is nothing of that name, not even a link that leads nowhere.
func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
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

// named says which path could not be read, and why.
func named(path string, err error) error {
	return fmt.Errorf("read %s: %w", path, cause(err))
}

// cause is why something failed, without the name of the system call and the path.
func cause(err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
