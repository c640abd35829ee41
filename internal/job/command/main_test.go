//go:build linux

package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/run"
)

// TestMain lets the test binary also act as the keepers, commands and controllers of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case command.KeeperArg:
			leave(command.Keep())
		case muteArg:
			leave(keepMutely())
		case mortalArg:
			leave(keepShortly(os.Args[2]))
		case deadArg:
			leave(1)
		case controllerArg:
			leave(control(os.Args[2:]))
		case jobArg:
			leave(work(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// leave exits the process without the second that the race detector takes for its report.
func leave(code int) { syscall.Syscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0) }

const (
	jobArg        = "__job"
	muteArg       = "__keep-mutely"
	mortalArg     = "__keep-shortly"
	deadArg       = "__keep-not-at-all"
	controllerArg = "__control"
)

// work is a command: it notes that it was started and does as its arguments say.
func work(args []string) int {
	note("started")
	for len(args) > 0 {
		switch args[0] {
		case "print":
			fmt.Println(args[1])
			args = args[2:]
		case "complain":
			fmt.Fprintln(os.Stderr, args[1])
			args = args[2:]
		case "env":
			env := os.Environ()
			slices.Sort(env)
			fmt.Println(strings.Join(env, "\n"))
			args = args[1:]
		case "flood":
			line := []byte(strings.Repeat("0123456789abcde\n", 1<<12))
			for sent := 0; sent < jobtest.Flood; sent += len(line) {
				os.Stdout.Write(line)
			}
			args = args[1:]
		case "eat": // use ever more memory
			hoard := make([]byte, 256<<20)
			for i := 0; ; i = (i + os.Getpagesize()) % len(hoard) {
				hoard[i]++
			}
		case "ignore-term":
			signal.Ignore(syscall.SIGTERM)
			args = args[1:]
		case "child": // leave a child in the group that does the rest
			child := exec.Command(os.Args[0], append([]string{jobArg}, args[1:]...)...)
			child.Stdout = os.Stdout
			if err := child.Start(); err != nil {
				panic(err)
			}
			note("child " + strconv.Itoa(child.Process.Pid))
			return pauseFor(child)
		case "child-and-exit":
			child := exec.Command(os.Args[0], append([]string{jobArg}, args[1:]...)...)
			if err := child.Start(); err != nil {
				panic(err)
			}
			note("child " + strconv.Itoa(child.Process.Pid))
			return 0
		case "session": // a child that has left the group and the session does the rest
			child := exec.Command(os.Args[0], append([]string{jobArg}, args[1:]...)...)
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := child.Start(); err != nil {
				panic(err)
			}
			for !slices.ContainsFunc(noted(), func(line string) bool { return strings.HasPrefix(line, "pid ") }) {
				syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 2000})
			}
			return 0
		case "await": // wait until the file exists
			for {
				if _, err := os.Stat(args[1]); err == nil {
					break
				}
				syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 2000})
			}
			args = args[2:]
		case "endless":
			note("pid " + strconv.Itoa(os.Getpid()))
			for {
				syscall.Pause()
			}
		case "stop-me":
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			args = args[1:]
		case "stop-keeper": // again each time it is resumed
			note("pid " + strconv.Itoa(os.Getpid()))
			for {
				syscall.Kill(os.Getppid(), syscall.SIGSTOP)
				syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 2000})
			}
		case "traced": // a child that this process traces, and that stays suspended at its start
			runtime.LockOSThread()
			child := exec.Command(os.Args[0], jobArg)
			child.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
			if err := child.Start(); err != nil {
				panic(err)
			}
			note("child " + strconv.Itoa(child.Process.Pid))
			args = args[1:]
		case "close": // its input and outputs
			for fd := range 3 {
				syscall.Close(fd)
			}
			args = args[1:]
		case "kill-me":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			args = args[1:]
		case "exit":
			code, err := strconv.Atoi(args[1])
			if err != nil {
				panic(err)
			}
			return code
		default:
			panic(args[0])
		}
	}
	return 0
}

func pauseFor(child *exec.Cmd) int {
	child.Wait()
	return 0
}

// note appends a line to the file $NOTES of the attempt.
func note(text string) {
	f, err := os.OpenFile(notesOf(os.Getenv("NOTES"), os.Getenv("INTERLOCK_RUN_ID")), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, text)
	f.Close()
}

// noted returns the lines of that file.
func noted() []string {
	text, err := os.ReadFile(notesOf(os.Getenv("NOTES"), os.Getenv("INTERLOCK_RUN_ID")))
	if err != nil {
		panic(err)
	}
	return strings.Split(string(text), "\n")
}

func notesOf(dir, id string) string { return filepath.Join(dir, strings.ReplaceAll(id, "/", "~")) }

// keepMutely is a keeper whose answer is lost: the real keeper is another process.
func keepMutely() int {
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	order, err := os.CreateTemp("", "order")
	if err != nil {
		panic(err)
	}
	defer os.Remove(order.Name())
	if _, err := order.ReadFrom(os.Stdin); err != nil {
		panic(err)
	}
	var told struct {
		ID   run.AttemptID
		Jobs string
	}
	text, err := os.ReadFile(order.Name())
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if err != nil {
		panic(err)
	}
	order.Seek(0, 0)
	keeper := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"interlock", command.KeeperArg}, Env: []string{}, Stdin: order, ExtraFiles: []*os.File{nowhere}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := keeper.Start(); err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(told.Jobs, command.HashOf(told.ID), "exit")); err == nil {
			return 0
		}
		syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 2000})
	}
}

// keepShortly is a keeper that is killed after a while.
func keepShortly(after string) int {
	d, err := time.ParseDuration(after)
	if err != nil {
		panic(err)
	}
	time.AfterFunc(d, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	return command.Keep()
}

// control is a controller: it starts the job of a config and then waits to be killed.
func control(args []string) int {
	jobs, id, config := args[0], args[1], args[2]
	kind, err := command.New(command.Options{Jobs: jobs, Getenv: os.Getenv})
	if err != nil {
		panic(err)
	}
	d, problems := document.Parse("config", []byte(config))
	if d == nil {
		panic(problems)
	}
	a, err := job.Expand(job.Attempt{ID: run.AttemptID(id)}, d.Root(), new(command.Config), nil)
	if err != nil {
		panic(err)
	}
	started, err := kind.Start(context.Background(), a)
	if err != nil {
		panic(err)
	}
	fmt.Println(started.Handle)
	for {
		syscall.Pause()
	}
}
