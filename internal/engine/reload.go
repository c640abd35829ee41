package engine

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/files"
	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/pipeline"
)

const (
	// scanEvery is how often the files are scanned. Scanning is cheap and, unlike file
	// notifications, also works for mounted volumes and for directories replaced by switching a
	// symlink.
	scanEvery = time.Second
	// scanShare limits scanning of very many files to 1/scanShare of the time.
	scanShare = 20
	// goneAfter is how long a file must be absent before its pipeline is removed: editors and
	// deployments replace files by deleting them first.
	goneAfter = 5 * time.Second
)

// Folders are the files and directories that pipelines, calendars, archetypes and sources are read
// from. Those in Optional may be missing.
type Folders struct {
	Pipelines, Calendars, Archetypes, Sources []string
	Optional                                  map[string]bool
}

// Check returns an error if a required directory is missing or cannot be read.
func (f Folders) Check() error {
	_, err := (&Reloader{folders: f}).scan()
	return err
}

// FolderError is an error about a configured path that cannot be read.
type FolderError struct {
	Folder string
	Err    error
}

func (e *FolderError) Error() string { return e.Err.Error() }

func (e *FolderError) Unwrap() error { return e.Err }

// Reloader keeps the catalog in sync with the files.
type Reloader struct {
	folders Folders
	apply   func(ctx context.Context, f catalog.Files, now time.Time) error
	report  func(err error) // called after each scan with the error that prevented reading (a FolderError, for example), or nil

	stamps []files.Stamp          // sorted by file, as last applied
	beside catalog.Files          // the calendars, archetypes and sources last applied
	gone   map[string]time.Time   // since when a file has been missing
	dirs   map[string]fs.FileInfo // the directory in which a folder's files were last found
	again  chan Folders           // folders to read at once
	ended  chan struct{}          // closed when Watch has ended
}

// NewReloader returns a reloader that reads the folders and passes the files to apply when they
// change.
func NewReloader(f Folders, apply func(context.Context, catalog.Files, time.Time) error, report func(error)) *Reloader {
	return &Reloader{folders: f, apply: apply, report: report, gone: map[string]time.Time{}, dirs: map[string]fs.FileInfo{}, again: make(chan Folders), ended: make(chan struct{})}
}

// Load reads everything for the first time. It fails if a required directory is missing or cannot
// be read.
func (r *Reloader) Load(ctx context.Context, now time.Time) error {
	stamps, err := r.scan()
	if err != nil {
		return err
	}
	return r.take(ctx, stamps, now)
}

// Again makes Watch switch to these folders and read them at once. It returns when Watch has
// received them or has ended.
func (r *Reloader) Again(f Folders) {
	select {
	case r.again <- f:
	case <-r.ended:
	}
}

// Watch rereads changed files until ctx ends.
func (r *Reloader) Watch(ctx context.Context) {
	defer close(r.ended)
	for wait := scanEvery; ; {
		select {
		case <-ctx.Done():
			return
		case r.folders = <-r.again:
		case <-time.After(wait):
		}
		began := time.Now()
		err := panicked.Catch(func() error { return r.once(ctx, began) })
		if ctx.Err() != nil {
			return
		}
		r.report(err)
		wait = max(scanEvery, scanShare*time.Since(began))
	}
}

// once scans the files, and applies them if anything changed. If a directory cannot be read,
// nothing changes.
func (r *Reloader) once(ctx context.Context, now time.Time) error {
	stamps, err := r.scan()
	if err != nil {
		return err
	}
	gone := r.updateMissing(stamps, now)
	if slices.Equal(stamps, r.stamps) && !gone {
		return nil
	}
	return r.take(ctx, stamps, now)
}

// updateMissing updates since when files have been missing, and reports whether one has been
// missing for goneAfter.
func (r *Reloader) updateMissing(stamps []files.Stamp, now time.Time) bool {
	maps.DeleteFunc(r.gone, func(path string, _ time.Time) bool { return has(stamps, path) })
	for _, old := range r.stamps {
		if !has(stamps, old.File) {
			r.miss(old.File, now)
		}
	}
	for _, since := range r.gone {
		if now.Sub(since) >= goneAfter {
			return true
		}
	}
	return false
}

// miss records since when a file has been missing.
func (r *Reloader) miss(file string, now time.Time) {
	if _, noted := r.gone[file]; !noted {
		r.gone[file] = now
	}
}

func byFile(s files.Stamp, file string) int { return strings.Compare(s.File, file) }

func has(stamps []files.Stamp, file string) bool {
	_, found := slices.BinarySearchFunc(stamps, file, byFile)
	return found
}

// scan lists all files, sorted by name.
func (r *Reloader) scan() ([]files.Stamp, error) {
	var all []files.Stamp
	for _, list := range [][]string{r.folders.Pipelines, r.folders.Calendars, r.folders.Archetypes, r.folders.Sources} {
		stamps, err := files.Stamps(r.present(list)...)
		if err != nil {
			return nil, r.blame(list, err)
		}
		all = append(all, stamps...)
	}
	slices.SortFunc(all, func(a, b files.Stamp) int { return byFile(a, b.File) })
	return slices.Clip(slices.Compact(all)), nil
}

// blame finds the folder in list that cannot be read.
func (r *Reloader) blame(list []string, err error) error {
	for _, folder := range r.present(list) {
		if _, failed := files.Stamps(folder); failed != nil {
			return &FolderError{Folder: folder, Err: failed}
		}
	}
	return err // all folders can be read by now
}

// present drops optional paths that do not exist.
func (r *Reloader) present(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(path string) bool {
		_, err := files.IsDir(path)
		return err != nil && r.folders.Optional[path]
	})
}

// take reads the files and applies them, together with those that went missing only recently.
func (r *Reloader) take(ctx context.Context, stamps []files.Stamp, now time.Time) error {
	read, err := r.read(stamps, now)
	if err != nil {
		return err
	}
	if err := r.apply(ctx, read, now); err != nil {
		return fmt.Errorf("apply the files: %w", err)
	}
	r.stamps, r.beside = stamps, catalog.Files{Calendars: read.Calendars, Archetypes: read.Archetypes, Sources: read.Sources}
	maps.DeleteFunc(r.gone, func(_ string, since time.Time) bool { return now.Sub(since) >= goneAfter })
	return nil
}

// read reads the files listed in stamps. It does not keep the texts of pipelines: there may be very
// many, and the catalog has the active ones.
func (r *Reloader) read(stamps []files.Stamp, now time.Time) (catalog.Files, error) {
	all := catalog.Files{Folders: r.folders.Pipelines}
	dirs := r.directories() // before its files are read: if it is replaced meanwhile, the next reading notices
	there := map[string]bool{}
	for _, part := range []struct {
		from []string
		to   *[]pipeline.Source
	}{{r.folders.Pipelines, &all.Pipelines}, {r.folders.Calendars, &all.Calendars}, {r.folders.Archetypes, &all.Archetypes}, {r.folders.Sources, &all.Sources}} {
		sources, err := files.Read(r.present(part.from)...)
		if err != nil {
			return catalog.Files{}, r.blame(part.from, err)
		}
		for i, src := range sources {
			there[src.File] = true
			if at, found := slices.BinarySearchFunc(stamps, src.File, byFile); found {
				sources[i].File = stamps[at].File // share one copy of the name
			}
		}
		*part.to = sources
	}
	for _, s := range stamps {
		if !there[s.File] { // it was deleted after the scan
			r.miss(s.File, now)
		}
	}
	r.addMissed(&all, there, now)
	all.Same = r.same(dirs, all.Pipelines)
	all.Modified = make(map[string]time.Time, len(stamps))
	for _, s := range stamps {
		all.Modified[s.File] = time.Unix(0, s.Modified)
	}
	return all, nil
}

// directories returns the directories that the folders of pipelines are now.
func (r *Reloader) directories() map[string]fs.FileInfo {
	all := map[string]fs.FileInfo{}
	for _, folder := range r.folders.Pipelines {
		if info, err := os.Stat(folder); err == nil {
			all[folder] = info
		}
	}
	return all
}

// same lists the folders that are still the directory in which files were last found. It records
// those that have files.
func (r *Reloader) same(dirs map[string]fs.FileInfo, found []pipeline.Source) []string {
	var all []string
	for _, folder := range r.folders.Pipelines {
		dir := dirs[folder]
		if dir != nil && slices.ContainsFunc(found, func(src pipeline.Source) bool { return catalog.InFolder(folder, src.File) }) {
			r.dirs[folder] = dir
		}
		if last := r.dirs[folder]; dir != nil && last != nil && os.SameFile(dir, last) {
			all = append(all, folder)
		}
	}
	return all
}

// addMissed adds the files that have been missing for less than goneAfter.
func (r *Reloader) addMissed(to *catalog.Files, there map[string]bool, now time.Time) {
	missed := map[string]bool{}
	for file, since := range r.gone {
		if !there[file] && now.Sub(since) < goneAfter {
			missed[file] = true
		}
	}
	for _, part := range []struct {
		old []pipeline.Source
		to  *[]pipeline.Source
	}{{r.beside.Calendars, &to.Calendars}, {r.beside.Archetypes, &to.Archetypes}, {r.beside.Sources, &to.Sources}} {
		for _, src := range part.old {
			if missed[src.File] {
				src.Gone = true
				*part.to = append(*part.to, src)
				delete(missed, src.File)
			}
		}
	}
	to.Gone = slices.Sorted(maps.Keys(missed))
}
