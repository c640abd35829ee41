package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/files"
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

// Folders are the files and directories that pipelines, calendars and archetypes are read from. Those that are Optional
// may be missing.
type Folders struct {
	Pipelines, Calendars, Archetypes []string
	Optional                         map[string]bool
}

// Reloader keeps the catalog in step with files.
type Reloader struct {
	folders Folders
	apply   func(ctx context.Context, f catalog.Files, now time.Time) error
	tell    func(err error) // what keeps files from being read; nil once they can be read again

	stamps  map[string]files.Stamp
	applied catalog.Files
	gone    map[string]time.Time // since when a file has been missing
}

// NewReloader reads folders and hands what changed to apply.
func NewReloader(f Folders, apply func(context.Context, catalog.Files, time.Time) error, tell func(error)) *Reloader {
	return &Reloader{folders: f, apply: apply, tell: tell, gone: map[string]time.Time{}}
}

// Load reads everything for the first time. A directory that is missing or cannot be read is an error.
func (r *Reloader) Load(ctx context.Context, now time.Time) error {
	stamps, err := r.scan()
	if err != nil {
		return err
	}
	return r.take(ctx, stamps, now)
}

// Watch looks at the files until ctx ends.
func (r *Reloader) Watch(ctx context.Context) {
	wait := scanEvery
	for pause(ctx, wait) {
		began := time.Now()
		err := r.once(ctx, began)
		if ctx.Err() != nil {
			return
		}
		r.tell(err)
		wait = max(scanEvery, scanShare*time.Since(began))
	}
}

// once looks whether anything changed, and takes it over. Files that cannot be read change nothing.
func (r *Reloader) once(ctx context.Context, now time.Time) error {
	stamps, err := r.scan()
	if err != nil {
		return err
	}
	settled := r.settle(stamps, now)
	if maps.Equal(stamps, r.stamps) && !settled {
		return nil
	}
	return r.take(ctx, stamps, now)
}

// settle notes which files are missing since when, and says whether one has been missing for long enough.
func (r *Reloader) settle(stamps map[string]files.Stamp, now time.Time) bool {
	for path := range r.gone {
		if _, back := stamps[path]; back {
			delete(r.gone, path)
		}
	}
	settled := false
	for _, src := range slices.Concat(r.applied.Pipelines, r.applied.Calendars, r.applied.Archetypes) {
		if _, there := stamps[src.File]; there {
			continue
		}
		since, noted := r.gone[src.File]
		if !noted {
			r.gone[src.File], since = now, now
		}
		settled = settled || now.Sub(since) >= goneAfter
	}
	return settled
}

func (r *Reloader) scan() (map[string]files.Stamp, error) {
	all := map[string]files.Stamp{}
	for _, list := range [][]string{r.folders.Pipelines, r.folders.Calendars, r.folders.Archetypes} {
		stamps, err := files.Stamps(r.present(list)...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, stamps)
	}
	return all, nil
}

// present leaves out what is optional and not there.
func (r *Reloader) present(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(path string) bool {
		_, err := files.IsDir(path)
		return err != nil && r.folders.Optional[path]
	})
}

// take reads the files and applies them, together with those that have only just gone missing.
func (r *Reloader) take(ctx context.Context, stamps map[string]files.Stamp, now time.Time) error {
	var read catalog.Files
	for _, part := range []struct {
		from []string
		old  []pipeline.Source
		to   *[]pipeline.Source
	}{
		{r.folders.Pipelines, r.applied.Pipelines, &read.Pipelines},
		{r.folders.Calendars, r.applied.Calendars, &read.Calendars},
		{r.folders.Archetypes, r.applied.Archetypes, &read.Archetypes},
	} {
		sources, err := files.Read(r.present(part.from)...)
		if err != nil {
			return err
		}
		*part.to = append(sources, r.missed(part.old, now)...)
	}
	if err := r.apply(ctx, read, now); err != nil {
		return fmt.Errorf("apply the files: %w", err)
	}
	r.stamps, r.applied = stamps, read
	return nil
}

// missed gives the files that are missing, but not for long enough.
func (r *Reloader) missed(old []pipeline.Source, now time.Time) []pipeline.Source {
	var kept []pipeline.Source
	for _, src := range old {
		if since, missing := r.gone[src.File]; missing && now.Sub(since) < goneAfter {
			kept = append(kept, src)
		}
	}
	return kept
}
