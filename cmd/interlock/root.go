package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-go/interlock/internal/document"
)

// The exit codes of most commands.
const (
	exitFine  = 0 // done, or the answer is yes
	exitNo    = 1 // the answer is no
	exitUsage = 2 // a flag, argument or file is not valid
)

// codeError ends a command with that exit code, after the command has printed its answer or its
// message.
type codeError int

func (c codeError) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// A command that has printed its answer returns errNo if the answer is no. One that has printed why
// there is no answer returns errUnreachable.
const (
	errNo          = codeError(exitNo)
	errUnreachable = codeError(exitUnreachable)
)

// verdict returns err, or errNo if the answer is no.
func verdict(yes bool, err error) error {
	if err == nil && !yes {
		return errNo
	}
	return err
}

// usageError is an invalid command line. It is printed with a pointer to the help text.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// app is the environment of all commands: where they read and write, and how output looks.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	direct         io.Writer // unbuffered stdout, for output that a command passes through
	now            func() time.Time
	getenv         func(string) string
	takeenv        func(names []string) // removes secrets from the process's environment; getenv still returns them
	flush          func() error         // flushes stdout
	after          func(time.Duration) <-chan time.Time
	terminal       bool // stdout is a terminal
	errTerminal    bool // stderr is a terminal
	width          int  // of tables
	wide           bool // tables have their full width
	outStyle       style
	errStyle       style
	remote         *remoteFlags
}

// execute runs one command line and returns its exit code.
func execute(args []string, w world) int {
	out := bufio.NewWriter(w.stdout)
	env := &environment{read: w.getenv, unset: w.unsetenv}
	a := &app{
		stdin: w.stdin, stdout: out, stderr: w.stderr, direct: w.stdout, now: w.now, getenv: env.get, takeenv: env.take, flush: out.Flush,
		outStyle: styleFor(w, w.stdout), errStyle: styleFor(w, w.stderr),
		after: w.after, terminal: w.terminal(w.stdout), errTerminal: w.terminal(w.stderr), width: narrow,
	}
	if w.columns != nil {
		a.width = max(narrow, w.columns(w.stdout))
	}
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // nil would mean the process's own arguments
	cmd, err := root.ExecuteC()
	if cmd == root && err != nil {
		err = unknownCommand(root, err)
	}
	// If the answer could not be written, the command failed, whatever its result.
	if flushErr := out.Flush(); flushErr != nil {
		err = fmt.Errorf("write the answer: %w", flushErr)
	}
	return a.exitCode(cmd, err)
}

// exitCode prints err, unless the command has already printed it, and returns its exit code.
func (a *app) exitCode(cmd *cobra.Command, err error) int {
	if err == nil {
		return exitFine
	}
	if code, ok := errors.AsType[codeError](err); ok {
		return int(code)
	}
	fmt.Fprintf(a.stderr, "%s %s\n", a.errStyle.red("interlock:"), printableLines(err.Error()))
	if code, ok := remoteCode(err); ok {
		return code
	}
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(a.stderr, "Run '%s --help' for help.\n", cmd.CommandPath())
	}
	return exitUsage
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "interlock",
		Short: "A safety controller for data pipelines",
		Long: "Interlock decides when a data job may start.\n" +
			"It starts a pipeline's job when the rules over its sensors pass, then watches deadlines and late data.",
		Example:            "  interlock validate pipelines/",
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // unknownCommand puts them on one line
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE:  noEmptyArgument,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp(root))
	// Not cobra's own version flag: it uses text/template, which makes the linker keep every
	// method.
	printVersion := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *printVersion {
			fmt.Fprintln(a.stdout, versionLine(thisBuild()))
			return nil
		}
		return cmd.Help()
	}
	addRemoteFlags(root, a)
	root.AddCommand(
		newDemo(a), newInit(a), newServe(a),
		newSensor(a), newStatus(a), newAttention(a), newRuns(a), newRun(a), newLogs(a), newExplain(a), newDeadlines(a), newEvents(a), newAudit(a), newHealth(a), newAlerts(a), newSilence(a), newSources(a), newIngest(a),
		newTrigger(a), newRerun(a), newBackfill(a), newCancel(a), newPause(a), newResume(a), newPurge(a), newJob(a), newGate(a), newExec(a), newProbe(a), newConfig(a), newBackup(a), newRestore(a), newCheck(a), newRepair(a), newArchive(a),
		newValidate(a), newEvaluate(a), newNext(a),
		newContext(a), newSchema(a), newVersion(a), newCompletion(a), newMan(a),
	)
	addCompletions(root, a)
	return root
}

// newHelp returns the help command. Unlike cobra's own, it rejects unknown names.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				last := args[len(args)-1]
				return usagef("unknown command %q%s", strings.Join(args, " "), document.DidYouMean(last, commandNames(cmd)))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// unknownCommand returns a one-line error with the closest command name.
func unknownCommand(root *cobra.Command, err error) error {
	var word string
	if _, scanErr := fmt.Sscanf(err.Error(), "unknown command %q for", &word); scanErr != nil {
		return err
	}
	return usagef("unknown command %q%s", word, document.DidYouMean(word, commandNames(root)))
}

// commandNames lists the commands directly below cmd.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}

// flagError turns pflag's error into a usage error, and suggests the closest flag.
func flagError(cmd *cobra.Command, err error) error {
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near, ok := document.Suggest(missing.GetSpecifiedName(), known); ok {
		return usagef("unknown flag --%s; did you mean --%s?", missing.GetSpecifiedName(), near)
	}
	return usageError{err}
}

// oneFile accepts exactly one argument, a pipeline file.
func oneFile(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("%s needs a pipeline FILE", cmd.Name())
	case 1:
		return nil
	default:
		return usagef("%s takes one pipeline FILE, not %d: %s", cmd.Name(), len(args), strings.Join(args, " "))
	}
}

// atMostOne accepts one argument or none.
func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s takes one %s, not %d", cmd.Name(), name, len(args))
		}
		return nil
	}
}

// noArguments rejects any argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, but got %q", cmd.Name(), args[0])
	}
	return nil
}

// noEmptyArgument rejects empty arguments, which usually come from unset variables in scripts:
// nothing has an empty name. Hidden commands are exempt, because completion passes the word being
// typed, which may be empty.
func noEmptyArgument(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash] // the rest is for another program
	}
	for i, arg := range args {
		if arg == "" && !cmd.Hidden {
			return usagef("%s: argument %d is empty", below(cmd), i+1)
		}
	}
	return nil
}

// environment is the process's environment, and the secrets that were removed from it.
type environment struct {
	read  func(name string) string
	unset func(name string) error

	mu    sync.Mutex
	taken map[string]string
}

// get returns a variable, even if take has removed it.
func (e *environment) get(name string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if value, taken := e.taken[name]; taken {
		return value
	}
	return e.read(name)
}

// take removes variables from the process's environment, so that child processes do not inherit
// them. Only get still returns them.
func (e *environment) take(names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range names {
		value := e.read(name)
		if value == "" || e.unset(name) != nil {
			continue
		}
		if e.taken == nil {
			e.taken = map[string]string{}
		}
		e.taken[name] = value
	}
}
