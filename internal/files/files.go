// Package files reads pipeline, calendar and archetype files from disk into sources for package
// pipeline. It uses only names and sizes: package pipeline interprets the contents. It never writes
// and never watches.
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

// Read reads each path: a file whatever its name, a directory recursively in order of names. In a
// directory only *.yaml and *.yml count, and names that start with a dot are skipped. A file that
// can be reached in several ways is read once, under its first name. A file in a directory that
// cannot be read is returned with the reason in place of its contents. A path, or a directory below
// it, that is missing or cannot be read is an error that names it; nothing is returned then, so
// that half of the files are never mistaken for all of them.
//
// Links are followed as long as they stay below one of the paths, as those of a Kubernetes
// ConfigMap do. A link in a directory that leads elsewhere is not read: otherwise anybody with
// write access could have any file of the machine read, and quoted in the reported problems.
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

// Stamp is a file with the values that change when it does.
type Stamp struct {
	File     string
	Size     int64
	Modified int64 // in nanoseconds; a number, because there may be very many
	Changed  int64 // also changes with its owner and permissions: it may be readable now
}

// Stamps returns the files that Read would read, in the same order, without reading them, for
// watchers to compare.
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

// IsDir reports whether path is a directory. An error names the path.
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
var errOutside = errors.New("the symbolic link points outside the directory; put the file itself there, or add its directory to the server's file")

// rootOf returns the given path that contains origin; "" if there is none.
func (w *walker) rootOf(origin string) string {
	for _, root := range w.roots {
		if rest, below := strings.CutPrefix(origin, root); below && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(root[len(root)-1])) {
			return root
		}
	}
	return ""
}

// walker visits files. seen holds the real paths of visited files and directories, which keeps a
// file from counting twice and a directory that links to its own parent from being walked without
// end.
type walker struct {
	visit func(file) error
	roots []string // real paths of the given ones
	seen  map[string]bool
}

// walk visits f, whose real path is origin, or its contents.
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

// walkEntry visits an entry of a directory and follows links. It skips a pipe or device named
// *.yaml: reading it might never end.
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

// visitUnseen visits an entry of a directory that cannot be read. For a directory it returns an
// error, because what is missing is unknown.
func (w *walker) visitUnseen(path string, entry fs.DirEntry, err error) error {
	switch {
	case isGone(path):
		return nil // removed since its name was read
	case entry.IsDir():
		return named(path, err)
	case !isYAML(path):
		return nil // a dangling link of another kind
	}
	info, _ := os.Lstat(path) // of the link, if it can be read
	return w.visit(file{path: path, info: info, unseen: err})
}

// isGone reports whether there is nothing of that name, not even a dangling link.
func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// realPath returns path with all links resolved. A file without a path, such as a shell's <(…),
// keeps its given name.
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

// named adds the path to an error.
func named(path string, err error) error {
	return fmt.Errorf("read %s: %w", path, cause(err))
}

// cause returns the reason of an error without the system call and the path.
func cause(err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
