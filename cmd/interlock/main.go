// Command interlock is the controller and its command line. Each command has its own file, which
// reads flags, calls the packages that make the decisions, and prints the result. Nothing is
// decided here.
package main

import (
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/interlock-go/interlock/internal/demo"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/program"
)

// version is set when the binary is built, with -ldflags "-X main.version=v1.2.3"; see
// buildVersion.
var version = unversioned

const unversioned = "dev"

// world is the environment of a command.
type world struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	unsetenv       func(string) error
	now            func() time.Time
	terminal       func(io.Writer) bool
	columns        func(io.Writer) int                  // of a terminal; 0 if it is not one
	after          func(time.Duration) <-chan time.Time // like time.After
}

func main() {
	if !passesThrough(os.Args[1:]) {
		program.Protect()
	}
	// A command keeper must start fast, and needs nothing of the rest.
	if len(os.Args) == 2 && os.Args[1] == command.KeeperArg {
		os.Exit(command.Keep())
	}
	if guards(os.Args[1:]) {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == demo.JobCommand {
		os.Exit(demo.Job(os.Args[2:], os.Stdout, os.Stderr))
	}
	info, ok := debug.ReadBuildInfo()
	version = buildVersion(version, info, ok)
	os.Exit(execute(os.Args[1:], world{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, unsetenv: os.Unsetenv, now: time.Now, terminal: isTerminal, columns: columnsOf, after: time.After,
	}))
}

func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// passesThrough reports whether the arguments call exec, whose command inherits the open files and
// privileges of this process.
func passesThrough(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch name := strings.TrimLeft(args[i], "-"); {
		case !strings.HasPrefix(args[i], "-"):
			return args[i] == "exec"
		case !strings.Contains(name, "="):
			i++ // every global flag takes a value
		}
	}
	return false
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
