package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/files"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// folderFlags name the folders of calendars and archetypes that pipeline files refer to.
type folderFlags struct{ calendars, archetypes []string }

func addFolderFlags(cmd *cobra.Command) *folderFlags {
	f := &folderFlags{}
	cmd.Flags().StringArrayVar(&f.calendars, "calendars", nil, "`DIR` with calendar files (default: calendars/ beside the file or its directory)")
	cmd.Flags().StringArrayVar(&f.archetypes, "archetypes", nil, "`DIR` with archetype files (default: archetypes/ beside the file or its directory)")
	return f
}

// beside fills in flags that are not set with a project's usual folders: next to path, or else one
// level up.
func (f folderFlags) beside(path string) folderFlags {
	if len(f.calendars) == 0 {
		f.calendars = folders("calendars", path)
	}
	if len(f.archetypes) == 0 {
		f.archetypes = folders("archetypes", path)
	}
	return f
}

// folders returns the directories called name next to paths (inside a path that is a directory), or
// else those one level up.
func folders(name string, paths ...string) []string {
	if near := foldersAt(name, "", paths); len(near) > 0 {
		return near
	}
	return foldersAt(name, "..", paths)
}

func foldersAt(name, step string, paths []string) []string {
	var found []string
	for _, path := range paths {
		home := path
		if !isDir(path) {
			home = filepath.Dir(path)
		}
		if folder := filepath.Join(home, step, name); isDir(folder) {
			found = append(found, folder)
		}
	}
	return found
}

// isDir reports whether path is a directory. It ignores errors: an unreadable path counts as
// missing.
func isDir(path string) bool {
	dir, err := files.IsDir(path)
	return err == nil && dir
}

// options reads the calendars and archetypes that pipeline files refer to.
func (f folderFlags) options() (pipeline.Options, error) {
	opts := pipeline.Options{Jobs: all.Kinds()}
	var err error
	if opts.Calendars, err = files.Read(f.calendars...); err != nil {
		return opts, err
	}
	opts.Archetypes, err = files.Read(f.archetypes...)
	return opts, err
}

// readOne reads a single file of some kind.
func readOne(file, kind string) ([]pipeline.Source, error) {
	if dir, err := files.IsDir(file); err != nil {
		return nil, err
	} else if dir {
		return nil, usagef("%s is a directory; name one %s file", file, kind)
	}
	return files.Read(file)
}

// loadOne reads a single pipeline. If its file is not valid, it prints the problems as validate
// does.
func (a *app) loadOne(file string, shelf folderFlags) (*pipeline.Definition, error) {
	sources, err := readOne(file, "pipeline")
	if err != nil {
		return nil, err
	}
	opts, err := shelf.beside(file).options()
	if err != nil {
		return nil, err
	}
	set := pipeline.Load(sources, opts)
	if len(set.Definitions) != 1 {
		writeProblems(a.stderr, set, a.errStyle)
		return nil, fmt.Errorf("%s is not a valid pipeline file: %s", file, plural(errorCount(set.Problems), "error"))
	}
	return set.Definitions[0], nil
}

func errorCount(problems []document.Problem) int {
	n := 0
	for _, p := range problems {
		if p.Severity == document.Error {
			n++
		}
	}
	return n
}
