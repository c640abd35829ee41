//go:build unix

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// process identifies a process beyond the reuse of its number: by when it began, and since which start of the machine
// that is counted. Where the system does not tell, only the number is known.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start,omitempty"`
	Boot  string `json:"boot,omitempty"`
}

// claim says who keeps a job.
type claim struct {
	ID     run.AttemptID `json:"id"`
	Keeper process       `json:"keeper"`
	At     time.Time     `json:"at"`
}

// errTaken says that an attempt was claimed before, errAbandoned that nobody waits for the claim any more.
var (
	errTaken     = errors.New("the attempt is already claimed")
	errAbandoned = errors.New("the controller that requested it has stopped or abandoned it")
)

// held is a claim and what a keeper holds as long as it lives.
type held struct {
	jobDir
	lock, alive *os.File
}

// vacancy is where the attempt can be claimed: in its own place, or after a refusal inside the claim that was refused, whose
// keeper never started anything and never will. Any other claim leaves no room: errTaken. A claim stays where it was put
// until its attempt is swept, so that of all who were told of one vacancy only one can fill it, however late they come.
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

// claimJob claims the attempt. The directory is made and its claim locked under another name, then put in its place, which
// only one process can do: so nobody ever sees a claim that is not locked yet. Nothing is durable before it returns
// without error, and nothing may be started before that. The last thing before the claim is to ask whether it is still
// awaited: a controller that has given up, or the next one, may already have called the attempt failed.
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
	// All the way up: a claim around it may have been refused because it could not be made durable.
	return h, errors.Join(h.lock.Sync(), syncUp(place, filepath.Dir(first.path)))
}

// fill writes and locks the claim, and opens the pipe whose end tells of the keeper's.
func (h *held) fill(o order) (err error) {
	if h.lock, err = os.OpenFile(h.file(claimFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return err
	}
	// A file system without locks leaves the process itself to tell that it lives.
	if err := syscall.Flock(int(h.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.ENOLCK) {
		return fmt.Errorf("lock the claim: %w", err)
	}
	if err := json.NewEncoder(h.lock).Encode(claim{ID: o.ID, Keeper: identify(os.Getpid()), At: time.Now().UTC()}); err != nil {
		return err
	}
	// A file system without pipes leaves the controller to look now and then.
	if err := syscall.Mkfifo(h.file(aliveFile), 0o600); err != nil {
		return nil
	}
	h.alive, err = os.OpenFile(h.file(aliveFile), os.O_RDWR, 0)
	return err
}

// stayInside makes the job's directory the working directory of the process, so that what is written
// later follows the directory when it, or the data directory around it, is renamed.
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

// keeperLives says whether somebody keeps the job: the claim is locked, or the process that wrote it is still there.
func (d jobDir) keeperLives() (bool, error) {
	f, err := os.Open(d.file(claimFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // a machine that lost its power may have kept the directory alone
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	c, err := d.claim()
	return err == nil && c.Keeper.lives(), nil // a claim that cannot be read was never finished
}

func (d jobDir) claim() (c claim, err error) {
	there, err := d.read(claimFile, &c)
	if err == nil && !there {
		err = os.ErrNotExist
	}
	return c, err
}

// lives says whether that very process is there. One of which only the number is known counts as gone.
func (p process) lives() bool { return p.Start != "" && p == identify(p.PID) }

// askKeeper sends the keeper the signal on which it ends its command.
func (d jobDir) askKeeper() error {
	c, err := d.claim()
	if err != nil {
		return err
	}
	// Opened first and compared then: a number that was given to another process in between is not signalled.
	p, err := os.FindProcess(c.Keeper.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	if c.Keeper.Start != "" && !c.Keeper.lives() {
		return nil
	}
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal the keeper: %w", err)
	}
	return nil
}
