package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// RefusedSource is a source file with errors.
type RefusedSource struct {
	File  string
	ID    source.ID // "" if unknown
	Stays bool      // the last good version of the source is active

	problems []string
}

// Problem describes the first error, and which version is active.
func (r RefusedSource) Problem() string {
	v := verdict{files: []string{r.File}, problems: r.problems}
	if r.Stays {
		return v.refusal() + "; the last good version of the source stays active"
	}
	return v.refusal() + "; no version of the source is active, so its events are not read"
}

// RefusedSources lists the source files that were last rejected, in the order in which they were
// read. The list must not be changed.
func (c *Catalog) RefusedSources() []RefusedSource {
	if all := c.refusedSources.Load(); all != nil {
		return *all
	}
	return nil
}

// activeSource returns the version of a source that is stored, which is the last good one, and when
// it was accepted; "" if there is none.
func (c *Catalog) activeSource(id source.ID) (version string, at time.Time) {
	stored := c.sourceFiles.stored[id]
	if stored.file.File == "" {
		return "", time.Time{}
	}
	return hash(string(stored.file.Data)), stored.at
}

// refusalKey is the key prefix of the notes that hold which rejection of a source file was reported.
const refusalKey = "refused/"

// refuseSource reports a file with errors, as CONFIG_REJECTED and INFRA_FAILURE: once as long as it
// has the same errors, also across restarts and replicas.
func (c *Catalog) refuseSource(ctx context.Context, r RefusedSource, now time.Time) error {
	s := &c.sourceFiles
	which, old := hash(strings.Join(append([]string{r.File}, r.problems...), "\n")), s.reported[r.File]
	data := strconv.Quote(which)
	if string(old.Data) == data {
		return nil
	}
	v := verdict{}
	v.files, v.problems = []string{r.File}, r.problems
	if len(v.problems) > maxProblems {
		v.problems = append(slices.Clip(v.problems[:maxProblems]), fmt.Sprintf("%s: and %d more", r.File, len(r.problems)-maxProblems))
	}
	next := store.Note{Kind: store.SourceNote, Key: refusalKey + r.File, Data: []byte(data)}
	b := store.Batch{ID: fmt.Sprintf("source/refuse/%s/v%d", which, old.Version)}
	b.SwapNote(old, next)
	about := event.About{Which: fmt.Sprintf("source/%s/v%d", which, old.Version), At: now}
	failure := event.New(event.InfraFailure, about, r.Problem(), event.Infra{Error: v.problems[0]})
	if r.Stays {
		failure = failure.As(event.Warning)
	}
	b.Emit(event.New(event.ConfigRejected, about, r.Problem(), event.Config{File: r.File, Problems: v.problems}), failure)
	return c.swapRefusal(ctx, r.File, b, next, old, now)
}

// forgetRefusals forgets the reported files that are no longer rejected, so that they are reported if
// they are rejected again.
func (c *Catalog) forgetRefusals(ctx context.Context, refused []RefusedSource, now time.Time) error {
	for _, file := range slices.Sorted(maps.Keys(c.sourceFiles.reported)) {
		old := c.sourceFiles.reported[file]
		if string(old.Data) == noRefusal || slices.ContainsFunc(refused, func(r RefusedSource) bool { return r.File == file }) {
			continue
		}
		next := old
		next.Data = []byte(noRefusal)
		b := store.Batch{ID: fmt.Sprintf("source/refuse/none/%s/v%d", hash(file), old.Version)}
		b.SwapNote(old, next)
		if err := c.swapRefusal(ctx, file, b, next, old, now); err != nil {
			return err
		}
	}
	return nil
}

// noRefusal is the note of a file that is no longer rejected.
const noRefusal = `""`

// swapRefusal commits a change of the note of a file. If another replica was faster, it has reported
// the same.
func (c *Catalog) swapRefusal(ctx context.Context, file string, b store.Batch, next, old store.Note, now time.Time) error {
	err := c.store.Commit(ctx, b, now)
	if errors.Is(err, store.ErrConflict) {
		c.sourceFiles.stale = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("report %s: %w", file, err)
	}
	next.Version = old.Version + 1
	c.sourceFiles.reported[file] = next
	return nil
}
