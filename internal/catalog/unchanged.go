package catalog

import (
	"crypto/sha256"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// unchanged finds the definitions of files that have not changed since they were last read, so that an edit of one
// file costs reading one file. A definition that uses calendars or archetypes is read again when any of those has
// changed.
func (c *Catalog) unchanged(files Files) func(pipeline.Source) *pipeline.Definition {
	same := c.beside == beside(files)
	byFile := map[string]*Entry{}
	for _, e := range c.Current().All() {
		if same || len(e.Calendars)+len(e.Archetypes) == 0 {
			byFile[e.File] = e
		}
	}
	return func(src pipeline.Source) *pipeline.Definition {
		e := byFile[src.File]
		if e == nil || c.place.noPrograms && e.RunsPrograms() || version(configOf(e.Definition, src)) != e.Version {
			return nil
		}
		return e.Definition
	}
}

// beside hashes the calendars and archetypes.
func beside(files Files) string {
	sum := sha256.New()
	for _, list := range [][]pipeline.Source{files.Calendars, files.Archetypes} {
		fmt.Fprintf(sum, "%d ", len(list))
		for _, src := range list {
			fmt.Fprintf(sum, "%q %q %d ", src.File, src.Unread, len(src.Data))
			_, _ = sum.Write(src.Data) // never fails
		}
	}
	return string(sum.Sum(nil))
}
