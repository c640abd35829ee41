package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Seen records, per pipeline, what this replica last saw in its files: a version, or that they were
// rejected. Of another file, such as calendar/holidays, it records the digest.
type Seen map[pipeline.ID]string

// Share makes c one of several catalogs on one store, whose files may differ. Only a replica that
// sees a file change or disappear stores the change; the newest change wins. A replica whose files
// merely differ stores nothing: one that was down, or was started with old files, would otherwise
// roll everyone back. seen is what the replica saw before it was started. A file it has never seen
// counts as changed if it is newer than the active version.
func (c *Catalog) Share(seen Seen) {
	c.shared = true
	known := maps.Clone(seen)
	if known == nil {
		known = Seen{}
	}
	c.seen.Store(&known)
}

// Seen returns what the last Apply saw. The result must not be changed.
func (c *Catalog) Seen() Seen { return *c.seen.Load() }

const refusedFile = "refused "

// state returns the Seen value of a verdict; "" if there is no file.
func (v verdict) state() string {
	switch {
	case v.problems != nil:
		return refusedFile + hash(strings.Join(v.problems, "\n"))
	case v.definition != nil:
		return v.config.Version
	default:
		return ""
	}
}

// ours returns the verdicts that this replica must store, and what it has seen once they are
// stored.
func (c *Catalog) ours(verdicts []verdict, rows []store.Pipeline, files Files) ([]verdict, Seen) {
	if !c.shared {
		return verdicts, nil
	}
	before, seen := c.Seen(), maps.Clone(c.Seen())
	maps.DeleteFunc(seen, func(id pipeline.ID, _ string) bool { return id.Valid() })
	var mine []verdict
	byID := rowsByID(rows)
	for _, v := range verdicts {
		state := v.state()
		switch {
		case v.held || v.among(files.Gone):
			state = before[v.id] // it may come back unchanged
		case v.changed(before, byID[v.id], files.Modified):
			mine = append(mine, v)
		}
		if state != "" {
			seen[v.id] = state
		}
	}
	return mine, seen
}

// changed reports whether a pipeline's files differ from what this replica last saw; or, if it has
// seen none, whether they are newer than the active version.
func (v verdict) changed(before Seen, row store.Pipeline, modified map[string]time.Time) bool {
	state := v.state()
	if last, known := before[v.id]; known || state == "" {
		return known && last != state
	}
	since := row.AcceptedAt
	if row.RemovedAt.After(since) {
		since = row.RemovedAt
	}
	return state != row.Config && slices.ContainsFunc(v.sources(), func(file string) bool {
		at, known := modified[file]
		return !known || at.After(since) // a file without a time counts as new
	})
}

// sources lists the files that a verdict depends on.
func (v verdict) sources() []string {
	names := slices.Clone(v.files)
	if v.definition == nil {
		return names
	}
	names = append(names, v.config.File.File)
	for _, list := range [][]pipeline.Source{v.config.Calendars, v.config.Archetypes} {
		for _, src := range list {
			names = append(names, src.File)
		}
	}
	return names
}

// among reports whether a verdict depends on one of these files.
func (v verdict) among(files []string) bool {
	return len(files) > 0 && slices.ContainsFunc(v.sources(), func(file string) bool { return slices.Contains(files, file) })
}

// Difference is a pipeline whose file on this replica differs from the active version.
type Difference struct {
	ID  pipeline.ID
	Why string
}

// Differences lists, by id, where this replica's files differ from the active versions. It is empty
// unless the store is shared.
func (c *Catalog) Differences() []Difference {
	if !c.shared {
		return nil
	}
	var all []Difference
	seen, current := c.Seen(), c.Current()
	for id, here := range seen {
		if why := differs(here, current, id); why != "" && id.Valid() {
			all = append(all, Difference{id, why})
		}
	}
	for _, e := range current.All() {
		if _, here := seen[e.ID]; !here {
			all = append(all, Difference{e.ID, fmt.Sprintf("version %s is active, but this replica does not have its file", e.Version)})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return all
}

func differs(here string, current *Snapshot, id pipeline.ID) string {
	e := current.Get(id)
	switch refused := strings.HasPrefix(here, refusedFile); {
	case e == nil && (refused || slices.ContainsFunc(current.Broken(), func(b Broken) bool { return b.ID == id })):
		return "" // its problem is reported elsewhere
	case e == nil:
		return fmt.Sprintf("its file here is version %s, but no version is active, because another replica saw the file removed", here)
	case refused:
		return fmt.Sprintf("its file here is rejected; version %s is active", e.Version)
	case e.Version != here:
		return fmt.Sprintf("its file here is version %s, but version %s is active, which another replica stored", here, e.Version)
	default:
		return ""
	}
}
