//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// Name prefixes of directories that are not jobs yet, or no longer.
const (
	freshPrefix = ".new-"
	oldPrefix   = ".old-"
)

// Sweep removes the directories of jobs that have ended, were last written before the given time, and are settled. It
// returns how many. An attempt's claim prevents a second start, and its exit is its result: settled must return true
// only for an attempt whose result is stored and that is never started again. It gets the attempt's id, which is
// empty if the claim cannot be read, and the time of the job's last write.
func (t *Type) Sweep(ctx context.Context, before time.Time, settled func(id run.AttemptID, since time.Time) (bool, error)) (removed int, err error) {
	entries, err := os.ReadDir(t.jobs)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for old jobs: %w", err)
	}
	for _, entry := range entries {
		if ctx.Err() != nil {
			return removed, ctx.Err()
		}
		gone, err := t.sweep(entry, before, settled)
		if err != nil {
			return removed, fmt.Errorf("remove the old job %s: %w", entry.Name(), err)
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

func (t *Type) sweep(entry os.DirEntry, before time.Time, settled func(run.AttemptID, time.Time) (bool, error)) (removed bool, err error) {
	name := entry.Name()
	d := t.dir(name)
	if strings.HasPrefix(name, oldPrefix) {
		return false, os.RemoveAll(d.path) // a removal that was interrupted
	}
	last, there, err := d.latest()
	if err != nil || !there {
		return false, err
	}
	info, err := os.Stat(last.path)
	if err != nil || !info.ModTime().Before(before) {
		return false, ignoreGone(err)
	}
	if strings.HasPrefix(name, freshPrefix) {
		return false, os.RemoveAll(d.path) // of a keeper that was killed before it claimed
	}
	if !isHash(name) {
		return false, nil // not a job directory
	}
	if state, _, err := last.look(); err != nil || state == running {
		return false, err
	}
	c, _ := d.claim() // an unreadable claim was never finished
	if done, err := settled(c.ID, info.ModTime()); err != nil || !done {
		return false, err
	}
	// Rename first, so that no process ever sees a claim with half of its files.
	old := jobDir{filepath.Join(t.jobs, oldPrefix+name)}
	if err := os.Rename(d.path, old.path); err != nil {
		return false, ignoreGone(err)
	}
	return true, os.RemoveAll(old.path)
}
