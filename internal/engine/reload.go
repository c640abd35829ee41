package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/files"
	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/pipeline"
)

const (
	// scanEvery is how often files are looked at. Looking is cheap, and unlike file notifications it also sees mounted
	// volumes and directories that are swapped by a link.
	scanEvery = time.Second
	// scanShare keeps the look at very many files from taking more than that part of the time.
	scanShare = 20
	// goneAfter is how long a file must be absent before its pipeline is removed: editors and deployments replace files
	// by deleting them first.
	goneAfter = 5 * time.Second
)

// Folders are the files and directories that pipelines, calendars, archetypes and sources are read from. Those that are Optional
// may be missing.
type Folders struct {
	Pipelines, Calendars, Archetypes, Sources []string
	Optional                                  map[string]bool
}

// Check returns an error where a directory is missing, or one of them cannot be read.
func (f Folders) Check() error {
	_, err := (&Reloader{folders: f}).scan()
	return err
}

// FolderError is a path that pipelines, calendars, archetypes or sources are read from, and that cannot be read.
type FolderError struct {
	Folder string
	Err    error
}

func (e *FolderError) Error() string { return e.Err.Error() }

func (e *FolderError) Unwrap() error { return e.Err }

// Reloader keeps the catalog in step with files.
type Reloader struct {
	folders Folders
	apply   func(ctx context.Context, f catalog.Files, now time.Time) error
	tell    func(err error) // what keeps files from being read, a FolderError among others; nil once they can be read again

	stamps []files.Stamp        // by file, as they were applied last
	beside catalog.Files        // the calendars, archetypes and sources that were applied last
	gone   map[string]time.Time // since when a file has been missing
	again  chan Folders         // to be read at once
	ended  chan struct{}        // closed when Watch has ended
}

// NewReloader reads folders and hands what changed to apply.
func NewReloader(f Folders, apply func(context.Context, catalog.Files, time.Time) error, tell func(error)) *Reloader {
	return &Reloader{folders: f, apply: apply, tell: tell, gone: map[string]time.Time{}, again: make(chan Folders), ended: make(chan struct{})}
}

// Load reads everything for the first time. A directory that is missing or cannot be read is an error.
func (r *Reloader) Load(ctx context.Context, now time.Time) error {
	stamps, err := r.scan()
	if err != nil {
		return err
	}
	return r.take(ctx, stamps, now)
}

// Again has Watch read these folders from now on, at once. It returns when Watch has begun to, or has ended.
func (r *Reloader) Again(f Folders) {
	select {
	case r.again <- f:
	case <-r.ended:
	}
}

// Watch reads files that have changed until ctx ends.
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
		r.tell(err)
		wait = max(scanEvery, scanShare*time.Since(began))
	}
}

// once looks whether anything changed, and takes it over. Directories that cannot be read change nothing.
func (r *Reloader) once(ctx context.Context, now time.Time) error {
	stamps, err := r.scan()
	if err != nil {
		return err
	}
	settled := r.settle(stamps, now)
	if slices.Equal(stamps, r.stamps) && !settled {
		return nil
	}
	return r.take(ctx, stamps, now)
}

// settle notes which files are missing since when, and says whether one has been missing for long enough.
func (r *Reloader) settle(stamps []files.Stamp, now time.Time) bool {
	for path := range r.gone {
		if has(stamps, path) {
			delete(r.gone, path)
		}
	}
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

// miss notes that a file is missing, unless that is known.
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

// scan looks at all files, by name.
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

// blame names the folder of list that cannot be read.
func (r *Reloader) blame(list []string, err error) error {
	for _, folder := range r.present(list) {
		if _, failed := files.Stamps(folder); failed != nil {
			return &FolderError{Folder: folder, Err: failed}
		}
	}
	return err // it can be read by now
}

// present leaves out what is optional and not there.
func (r *Reloader) present(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(path string) bool {
		_, err := files.IsDir(path)
		return err != nil && r.folders.Optional[path]
	})
}

// take reads the files and applies them, together with those that have only just gone missing.
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

// read reads the files that were seen. The texts of pipelines are not kept: there may be very many, and the catalog has
// those that are in force.
func (r *Reloader) read(stamps []files.Stamp, now time.Time) (catalog.Files, error) {
	all := catalog.Files{Folders: r.folders.Pipelines}
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
				sources[i].File = stamps[at].File // the same text, held once
			}
		}
		*part.to = sources
	}
	for _, s := range stamps {
		if !there[s.File] { // it went between the two looks
			r.miss(s.File, now)
		}
	}
	r.addMissed(&all, there, now)
	all.Modified = make(map[string]time.Time, len(stamps))
	for _, s := range stamps {
		all.Modified[s.File] = time.Unix(0, s.Modified)
	}
	return all, nil
}

// addMissed adds the files that are missing, but not for long enough.
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
