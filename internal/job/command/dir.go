//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/job"
)

// jobDir is the directory of one job.
type jobDir struct{ path string }

func (t *Type) dir(hash string) jobDir { return jobDir{filepath.Join(t.jobs, hash)} }

func (d jobDir) file(name string) string { return filepath.Join(d.path, name) }

// The files of a job.
const (
	claimFile  = "claim"
	aliveFile  = "alive"
	outputFile = "output"
	exitFile   = "exit"
	againDir   = "again"

	// The endings of their drafts.
	keeperDraft     = ".new"
	controllerDraft = ".ended"
)

// latest returns the claim that counts, which is the innermost: a refused claim may contain the
// next one. there reports whether there is any claim.
func (d jobDir) latest() (last jobDir, there bool, err error) {
	last = d
	for next := d; ; next = (jobDir{next.file(againDir)}) {
		if _, err := os.Stat(next.path); err != nil {
			return last, there, ignoreGone(err)
		}
		last, there = next, true
	}
}

// ignoreGone returns nil for fs.ErrNotExist, and any other error unchanged.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

// condition is the observed state of a job.
type condition int

const (
	running condition = iota
	ended
	lost
	suspended // its keeper is suspended, so nothing enforces its timeout or records its end
)

// readState returns the state of a job. It reads the exit again after it has found the keeper gone:
// the keeper may have just written it. A keeper is never late: what counts is the state in which the
// kernel has it, so neither a busy machine nor one that was asleep makes a job look suspended.
func (d jobDir) readState() (condition, exit, error) {
	e, done, err := d.exit()
	if err != nil || done {
		return ended, e, err
	}
	alive, err := d.keeperLives()
	if err != nil {
		return running, exit{}, err
	}
	if alive {
		if c, err := d.claim(); err == nil && c.Keeper.suspended() {
			return suspended, exit{}, nil
		}
		return running, exit{}, nil
	}
	if e, done, err = d.exit(); err != nil || done {
		return ended, e, err
	}
	return lost, exit{}, nil
}

// exit reads how the job ended, if it has.
func (d jobDir) exit() (e exit, ended bool, err error) {
	ended, err = d.read(exitFile, &e)
	return e, ended, err
}

// read decodes a file of the directory. there is false if the file does not exist.
func (d jobDir) read(name string, into any) (there bool, err error) {
	text, err := os.ReadFile(d.file(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, fmt.Errorf("read %s: %w", d.file(name), err)
	}
	return true, nil
}

// maxOutput is how much of a command's output is kept.
const maxOutput = job.MaxOutput

// output returns the end of the output. Unreadable output counts as none: neither affects how the
// job ended.
func (d jobDir) output(secrets job.Redactor) string {
	f, err := os.Open(d.file(outputFile))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxOutput))
	if err != nil {
		return ""
	}
	shown := strings.ToValidUTF8(secrets.Text(string(text)), "?")
	return shown[max(0, len(shown)-maxOutput):]
}

// write writes a file into the directory atomically, and durably on request. The keeper and its
// controller may write the same file at the same time, so each has a draft of its own.
func (d jobDir) write(name, draft string, content []byte, durable bool) error {
	fresh := d.file(name + draft)
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(fresh, d.file(name))
	}
	if err == nil && durable {
		err = syncDir(d.path)
	}
	return err
}

// syncUp syncs a directory and its parents up to top, so that their entries are durable.
func syncUp(path, top string) error {
	err := syncDir(path)
	for path != top {
		path = filepath.Dir(path)
		err = errors.Join(err, syncDir(path))
	}
	return err
}

// syncDir makes the entries of a directory durable.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

const (
	// glance is the poll interval of a keeper whose pipe has closed: it is about to exit.
	glance = 2 * time.Millisecond
	// gaze is the poll interval of a job without a pipe.
	gaze = 250 * time.Millisecond
	// heartbeat is how often a keeper whose pipe is open is checked: it may be suspended.
	heartbeat = 5 * time.Second
	// suspendedFor is how long a keeper must stay suspended before its job is ended.
	suspendedFor = time.Second
)

// untilClosed returns when the keeper's pipe has closed, when it is time to check the keeper again,
// or after a pause if there is no pipe.
func (d jobDir) untilClosed(ctx context.Context) error {
	f, err := os.OpenFile(d.file(aliveFile), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return pause(ctx, gaze)
	}
	defer f.Close()
	f.SetReadDeadline(time.Now().Add(heartbeat))
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(0, 0)) })
	defer stop()
	_, err = f.Read(make([]byte, 1)) // nothing is ever written: Read returns when the last writer closes
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, io.EOF):
		return pause(ctx, glance)
	default:
		return pause(ctx, gaze) // on a system that cannot wait for such a pipe
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
