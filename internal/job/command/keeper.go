//go:build unix

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// KeeperArg is the argument that makes a process of the binary a keeper.
const KeeperArg = "__keep"

// answerFD is where the answer goes. It is not the standard output: writing to one that nobody reads any more would kill
// the keeper together with the controller.
const answerFD = 3

// Keep is a keeper's whole life: it reads its order, claims the attempt, starts the command, answers, and stays until the
// command has ended and that is written down. It gives the exit code of the process. Nothing of the binary needs to be
// set up for it.
func Keep() int {
	// A command is killed with the thread that started it, which therefore has to be one that lives as long as this.
	runtime.LockOSThread()
	signals := make(chan os.Signal, 16)
	// Caught rather than ignored, because a command would inherit that.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	answers := os.NewFile(answerFD, "answer")
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil || answers == nil {
		fmt.Fprintln(os.Stderr, "a keeper is started by the controller, never by hand")
		return 2
	}
	syscall.CloseOnExec(answerFD)
	say := func(a answer) {
		json.NewEncoder(answers).Encode(a) // a controller that is gone finds the claim
		answers.Close()
	}
	h, err := claimJob(o, func() bool {
		_, err := answers.Write([]byte("\n")) // which no answer minds, and which fails where nobody reads it
		return err == nil
	})
	switch {
	case errors.Is(err, errTaken):
		say(answer{State: stateTaken})
		return 0
	case err != nil && h.lock == nil:
		say(answer{State: stateRefused, Category: run.Transient, Reason: fmt.Sprintf("claim the attempt: %v", err), Own: job.Lacking(err)})
		return 1
	}
	h.stayInside()
	k := keeper{order: o, held: h, stops: stopsOf(signals), tail: newTail(job.NewRedactor(o.Secrets...))}
	if err != nil {
		err = job.RefuseOver(err, run.Transient, "make the claim durable: %v", err)
	} else {
		err = k.start()
	}
	if refusal := (*job.Refusal)(nil); errors.As(err, &refusal) {
		reason := k.tail.secrets.Text(refusal.Reason)
		k.record(exit{Refused: reason, Category: refusal.Category, Own: refusal.Own, EndedAt: time.Now().UTC()})
		say(answer{State: stateRefused, Category: refusal.Category, Reason: reason, Own: refusal.Own})
		return 1
	}
	say(answer{State: stateStarted})
	k.record(k.watch())
	return 0
}

// keeper is a keeper that has claimed its attempt.
type keeper struct {
	order
	held
	stops    <-chan struct{} // somebody asks for the end
	tail     *tail
	flushing sync.Mutex // one flush at a time

	container
	command int // the command's process, and the number of its group
	began   time.Time
	over    chan string   // which limit the command exceeded
	printed *os.File      // what the command prints
	copied  chan struct{} // closed when no more of it is read
}

// start starts the command in a process group of its own, without a terminal or anything to read.
func (k *keeper) start() error {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return job.RefuseOver(err, run.Transient, "open %s: %v", os.DevNull, err)
	}
	defer nothing.Close()
	printed, output, err := os.Pipe()
	if err != nil {
		return job.RefuseOver(err, run.Transient, "make a pipe: %v", err)
	}
	defer output.Close()
	policy := program.Policy{User: k.User}
	if k.User != nil {
		_ = output.Chown(int(k.User.UID), int(k.User.GID)) // so that the command can open /dev/stdout
	}
	adoptOrphans()
	program.DropCapabilities()
	k.began = time.Now()
	// Not os.StartProcess: the command is waited for together with the orphans it may leave.
	k.command, err = k.launch(&syscall.ProcAttr{
		Dir: k.Dir, Env: k.Env, Files: []uintptr{nothing.Fd(), output.Fd(), output.Fd()}, Sys: policy.Attributes(),
	})
	if err != nil {
		printed.Close()
		return k.notStarted(err)
	}
	sacrifice(k.command)
	k.printed, k.copied, k.over = printed, make(chan struct{}), make(chan string, 1)
	go k.copyOutput()
	return nil
}

// notStarted is the refusal of a command that the system would not start.
func (k *keeper) notStarted(err error) error {
	path := k.Path
	for _, passing := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ETXTBSY, syscall.EIO} {
		if errors.Is(err, passing) {
			return job.RefuseOver(err, run.Transient, "start %s: %v", path, err)
		}
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		hint = "; a script begins with #! and its interpreter"
	case errors.Is(err, syscall.ENOENT):
		hint = "; the interpreter in its first line may be missing"
	case errors.Is(err, syscall.EACCES) && k.User != nil:
		hint = fmt.Sprintf("; commands run as user %s (jobs.user), who needs access to the program and to %s", k.User.Name, k.Dir)
	}
	return job.Refuse(run.Permanent, "job.config.command: start %s: %v%s", path, err, hint)
}

// watch waits for the command's end, or brings it about: when its time is up, or when a signal asks for it.
func (k *keeper) watch() exit {
	e := exit{StartedAt: k.began.UTC()}
	gone, none := reap(k.command)
	go k.sample(none)
	var status syscall.WaitStatus
	running := true
	select {
	case status = <-gone:
		running = false
	case <-after(k.Timeout):
		e.TimedOut = k.Timeout
	case <-k.stops:
		e.Stopped = true
	case e.Exceeded = <-k.over:
		k.Grace = 0 // it would only go on
	}
	k.endAll(none)
	if running {
		status = <-gone
	}
	k.finishOutput()
	k.close(&e)
	e.EndedAt = time.Now().UTC()
	if status.Signaled() {
		e.Signal = int(status.Signal())
	} else {
		e.Code = status.ExitStatus()
	}
	return e
}

// exceed notes which limit the command exceeded. The first one counts.
func (k *keeper) exceed(format string, args ...any) {
	select {
	case k.over <- fmt.Sprintf(format, args...):
	default:
	}
}

func sizeText(bytes int64) string { return document.Size(bytes).String() }

// after is a timer; none if there is no limit.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// stopsOf picks the signal that Stop sends. The others are meant for a terminal, or a controller.
func stopsOf(signals <-chan os.Signal) <-chan struct{} {
	stops := make(chan struct{})
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM {
				stops <- struct{}{}
			}
		}
	}()
	return stops
}

// record writes down how the command ended. If that cannot be done, on a full disk say, it is tried until it can, or
// until somebody stops the keeper: an end that nobody can read would count as a lost job. Once the directory is gone,
// nobody will ever ask.
func (k *keeper) record(e exit) {
	content, err := json.Marshal(e)
	if err != nil {
		return // a struct of plain values cannot fail
	}
	for {
		err := k.write(exitFile, content, true)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		select {
		case <-k.stops:
			return
		case <-time.After(time.Second):
		}
	}
}
