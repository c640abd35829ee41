//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// process identifies a process even if its PID is reused: by its start time and the boot that this
// is relative to. If the system does not report these, only the PID is known.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start,omitempty"`
	Boot  string `json:"boot,omitempty"`
}

// claim says which keeper runs a job.
type claim struct {
	ID     run.AttemptID `json:"id"`
	Keeper process       `json:"keeper"`
	At     time.Time     `json:"at"`
}

// errTaken means that the attempt is already claimed, errAbandoned that no controller waits for the
// claim any more.
var (
	errTaken     = errors.New("the attempt is already claimed")
	errAbandoned = errors.New("the controller that requested it has stopped or abandoned it")
)

// held is a claim and the files that its keeper holds open while it lives.
type held struct {
	jobDir
	lock, alive *os.File
}

// vacancy returns where the attempt can be claimed: in its own directory, or, after a refusal,
// inside the refused claim, whose keeper started nothing and never will. Any other claim means
// errTaken. A claim stays in place until its attempt is swept, so of all keepers that found the
// same vacancy only one can fill it, however late they are.
func (d jobDir) vacancy() (string, error) {
	last, there, err := d.latest()
	if err != nil || !there {
		return last.path, err
	}
	e, ended, err := last.exit()
	switch {
	case err != nil:
		return "", err
	case !ended || e.Refused == "":
		return "", errTaken
	}
	return last.file(againDir), nil
}

// claimJob claims the attempt. It creates the directory and locks the claim under a temporary name,
// then renames it into place, which only one process can do: so no other process ever sees an
// unlocked claim. The claim is durable only once claimJob returns without error, and nothing may be
// started before that. Right before the rename it checks that the claim is still awaited: a
// controller that has given up, or its successor, may already have marked the attempt as failed.
func claimJob(o order, awaited func() bool) (held, error) {
	first := jobDir{filepath.Join(o.Jobs, o.hash())}
	place, err := first.vacancy()
	if err != nil {
		return held{}, err
	}
	if err := os.MkdirAll(o.Jobs, 0o700); err != nil {
		return held{}, err
	}
	fresh, err := os.MkdirTemp(o.Jobs, freshPrefix)
	if err != nil {
		return held{}, err
	}
	h := held{jobDir: jobDir{fresh}}
	if err := h.fill(o); err != nil {
		return held{}, errors.Join(err, h.discard())
	}
	if !awaited() {
		return held{}, errors.Join(errAbandoned, h.discard())
	}
	if err := os.Rename(fresh, place); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = errTaken
		}
		return held{}, errors.Join(err, h.discard())
	}
	h.path = place
	// Sync all parent directories: an enclosing claim may have been refused because it could not be
	// made durable.
	return h, errors.Join(h.lock.Sync(), syncUp(place, filepath.Dir(first.path)))
}

// fill writes and locks the claim, and opens the pipe that closes when the keeper exits.
func (h *held) fill(o order) (err error) {
	if h.lock, err = os.OpenFile(h.file(claimFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return err
	}
	// On a file system without locks, the process itself shows that it is alive.
	if err := syscall.Flock(int(h.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.ENOLCK) {
		return fmt.Errorf("lock the claim: %w", err)
	}
	if err := json.NewEncoder(h.lock).Encode(claim{ID: o.ID, Keeper: identify(os.Getpid()), At: time.Now().UTC()}); err != nil {
		return err
	}
	// On a file system without pipes, the controller polls.
	if err := syscall.Mkfifo(h.file(aliveFile), 0o600); err != nil {
		return nil
	}
	h.alive, err = os.OpenFile(h.file(aliveFile), os.O_RDWR, 0)
	return err
}

// stayInside makes the job's directory the working directory of the process, so that later writes
// follow the directory when it, or the data directory around it, is renamed.
func (h *held) stayInside() {
	if err := os.Chdir(h.path); err == nil {
		h.path = "."
	}
}

// discard removes a claim that was never put in place.
func (h *held) discard() error {
	for _, f := range []*os.File{h.lock, h.alive} {
		if f != nil {
			f.Close()
		}
	}
	return os.RemoveAll(h.path)
}

// keeperLives reports whether a keeper runs the job: the claim is locked, or the process that wrote
// it still exists.
func (d jobDir) keeperLives() (bool, error) {
	f, err := os.Open(d.file(claimFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // after a power failure only the directory may have survived
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	c, err := d.claim()
	return err == nil && c.Keeper.lives(), nil // an unreadable claim was never finished
}

func (d jobDir) claim() (c claim, err error) {
	there, err := d.read(claimFile, &c)
	if err == nil && !there {
		err = os.ErrNotExist
	}
	return c, err
}

// lives reports whether that very process exists. One of which only the PID is known counts as
// gone.
func (p process) lives() bool { return p.Start != "" && p == identify(p.PID) }

// signalKeeper sends the keeper a signal: SIGTERM asks it to end its command.
func (d jobDir) signalKeeper(s syscall.Signal) error {
	c, err := d.claim()
	if err != nil {
		return err
	}
	// Open first, then compare: a reused PID is not signalled.
	p, err := os.FindProcess(c.Keeper.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	if c.Keeper.Start != "" && !c.Keeper.lives() {
		return nil
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal the keeper: %w", err)
	}
	return nil
}

// Name prefixes of directories that are not jobs yet, or no longer.
const (
	freshPrefix = ".new-"
	oldPrefix   = ".old-"
)

// Sweep removes the directories of jobs that have ended, were last written before the given time,
// and are settled. It returns how many. An attempt's claim prevents a second start, and its exit is
// its result: settled must return true only for an attempt whose result is stored and that is never
// started again. It gets the attempt's id, which is empty if the claim cannot be read, and the time
// of the job's last write.
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
	if state, _, err := last.readState(); err != nil || state == running || state == suspended {
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
