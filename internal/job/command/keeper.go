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

// answerFD is the file descriptor of the answer. It is not standard output: writing to a closed one
// would kill the keeper together with the controller.
const answerFD = 3

// Keep is the main function of a keeper: it reads its order, claims the attempt, starts the
// command, answers, and stays until the command has ended and its exit is recorded. It returns the
// exit code of the process. It needs no other set-up of the binary.
func Keep() int {
	// The command is killed when the thread that started it ends, so that thread must live as long
	// as the keeper.
	runtime.LockOSThread()
	signals := make(chan os.Signal, 16)
	// Caught rather than ignored: the command would inherit an ignored signal.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	answers := os.NewFile(answerFD, "answer")
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil || answers == nil {
		fmt.Fprintln(os.Stderr, "this command is started by the controller, not by hand")
		return 2
	}
	syscall.CloseOnExec(answerFD)
	say := func(a answer) {
		json.NewEncoder(answers).Encode(a) // if the controller is gone, its successor finds the claim
		answers.Close()
	}
	h, err := claimJob(o, func() bool {
		_, err := answers.Write([]byte("\n")) // JSON readers ignore it, and the write fails if the controller is gone
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
	secrets := job.NewRedactor(o.Secrets...)
	k := keeper{order: o, held: h, stops: stopsOf(signals), tail: job.NewOutputTail(secrets)}
	if err != nil {
		err = job.RefuseOver(err, run.Transient, "make the claim durable: %v", err)
	} else {
		err = k.start()
	}
	if refusal, ok := errors.AsType[*job.Refusal](err); ok {
		reason := secrets.Text(refusal.Reason)
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
	stops    <-chan struct{} // receives requests to stop
	tail     *job.OutputTail
	flushing sync.Mutex // one flush at a time

	container
	command int // PID and process group of the command
	began   time.Time
	over    chan string   // the limit that the command exceeded
	printed *os.File      // the command's output
	copied  chan struct{} // closed when the output is no longer read
}

// start starts the command in its own process group, without a terminal or standard input.
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
	program.AdoptOrphans()
	program.DropCapabilities()
	k.began = time.Now()
	// Not os.StartProcess: reap waits for the command together with the orphans it may leave.
	k.command, err = k.launch(&syscall.ProcAttr{
		Dir: k.Dir, Env: k.Env, Files: []uintptr{nothing.Fd(), output.Fd(), output.Fd()}, Sys: policy.Attributes(),
	})
	if err != nil {
		printed.Close()
		return k.notStarted(err)
	}
	preferForOOMKill(k.command)
	k.printed, k.copied, k.over = printed, make(chan struct{}), make(chan string, 1)
	go k.copyOutput()
	return nil
}

// notStarted returns the refusal for a command that the system would not start.
func (k *keeper) notStarted(err error) error {
	if job.Lacking(err) || errors.Is(err, syscall.ETXTBSY) || errors.Is(err, syscall.EIO) {
		return job.RefuseOver(err, run.Transient, "start %s: %v", k.Path, err)
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
	return job.Refuse(run.Permanent, "job.config.command: start %s: %v%s", k.Path, err, hint)
}

// watch waits until the command ends, or ends it at its timeout or on a stop signal.
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
		k.Grace = 0 // it would only continue
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

// reap waits for the command and for the orphans it leaves: they count as alive until their parent
// has waited for them. It sends the command's wait status on ended, and closes none when this
// process has no child left. If this process adopts orphans, the command then has no descendants
// left.
func reap(command int) (ended <-chan syscall.WaitStatus, none <-chan struct{}) {
	gone, last := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go func() {
		defer close(last)
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil:
				return
			case pid == command:
				gone <- status
			}
		}
	}()
	return gone, last
}

// exceed records the limit that the command exceeded. The first one counts.
func (k *keeper) exceed(format string, args ...any) {
	select {
	case k.over <- fmt.Sprintf(format, args...):
	default:
	}
}

func sizeText(bytes int64) string { return document.Size(bytes).String() }

// after returns a timer channel, or nil if there is no limit.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// stopsOf forwards only the signal that Stop sends. The others are meant for a terminal or a
// controller.
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

// record writes how the command ended. If that fails, for example on a full disk, it retries until
// it succeeds or the keeper is stopped: without the record the job would count as lost. It gives up
// once the directory is gone, because then no controller will read it.
func (k *keeper) record(e exit) {
	content, err := json.Marshal(e)
	if err != nil {
		return // cannot fail for a struct of plain values
	}
	for {
		err := k.write(exitFile, keeperDraft, content, true)
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
