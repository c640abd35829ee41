package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// The exit codes of exec where its command did not run. Otherwise the exit code is the command's own.
const (
	exitClosed      = 100 // the gate stayed closed
	exitHeld        = 101 // another worker has it
	exitUnavailable = 102 // excluded, paused, no such period or pipeline
	exitAway        = 103 // the server could not be reached
	exitNotRunnable = 126 // the command is there and cannot be run, as shells have it
	exitNotFound    = 127 // there is no such command
	exitBySignal    = 128 // plus the signal
)

// codeError ends a command that has printed what there is to say with that exit code.
type codeError int

func (c codeError) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// What exec does if the server cannot be reached.
const (
	staysClosed = "closed"
	runsOpen    = "open"
)

// openPatience is how long exec with --on-unreachable open tries to reach a server that it has not reached yet. One that it
// has reached, and whose gate was closed, it asks again as long as --wait says.
const openPatience = 30 * time.Second

// execution is what exec was asked for.
type execution struct {
	pipeline, date, worker string
	wait                   time.Duration
	open                   bool // run the command if the server cannot be reached
	argv                   []string
	program                string // where the command is
	traceparent            string
}

func newExec(a *app) *cobra.Command {
	var x execution
	var wait string
	unreachable := &choice{value: staysClosed, options: []string{staysClosed, runsOpen}}
	cmd := &cobra.Command{
		Use:   "exec PIPELINE -- COMMAND [ARGUMENT...]",
		Short: "Run a command as the job of a pipeline, once its gate is open",
		Long: "Wait for the gate of a pipeline with job: {type: external}, claim its attempt, run COMMAND, and report the\n" +
			"result. Of several at the same time, one runs its command. Its input, output and signals are passed through.\n\n" +
			"The exit code is that of the command. If the command did not run, it is 0 if the run is already COMPLETED,\n" +
			"100 if the gate stayed closed, 101 if another worker has the attempt, 102 if the period is excluded, the\n" +
			"pipeline paused, or there is no such period, and 103 if the server could not be reached.",
		Example: "  0 2 * * * interlock exec nightly-load -- ./load.sh\n" +
			"  interlock exec orders --date 2026-03-03 --wait 2h -- dbt build",
		Args: execArguments,
	}
	addFilled(cmd, &x.date, "date", "the `PERIOD` (default the pipeline's current one)")
	addFilled(cmd, &wait, "wait", "how long to wait for the gate, a `DURATION` such as 2h (default not at all)")
	addFilled(cmd, &x.worker, "worker", "`NAME` of this worker (default HOST:PID)")
	addChoice(cmd, unreachable, "on-unreachable", "what to do if the server cannot be reached: run nothing, or run COMMAND without the gate")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		x.pipeline, x.argv, x.open = args[0], args[1:], unreachable.value == runsOpen
		if wait != "" {
			d, err := document.ParseDuration(wait)
			if err != nil || d < 0 {
				return usagef("--wait %q is not a duration; write it like 90s or 2h", wait)
			}
			x.wait = d
		}
		return a.exec(cmd.Context(), x)
	}
	return cmd
}

// execArguments accepts a pipeline, and after -- a command.
func execArguments(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		return usagef("exec needs PIPELINE")
	case dash < 0 || len(args) == dash:
		return usagef("exec needs the command after --, as in `interlock exec %s -- ./load.sh`", args[0])
	case dash > 1:
		return usagef("exec takes one PIPELINE before --, but got %q", args[1])
	}
	return nil
}

// exec runs the command under the gate.
func (a *app) exec(ctx context.Context, x execution) error {
	var err error
	if x.program, err = exec.LookPath(x.argv[0]); err != nil {
		return a.cannotRun(x.argv[0], err)
	}
	if x.worker == "" {
		x.worker = defaultWorker()
	}
	x.traceparent = a.traceparent()
	signals := catchSignals()
	defer signals.stop()
	waiting, cancel := signals.cancels(ctx)
	defer cancel()
	c, end, err := a.connect(waiting)
	if err != nil {
		return a.notAcquired(x, err, signals)
	}
	defer func() { _ = end() }() // all that was asked of it is answered
	lease, err := c.Acquire(waiting, client.AcquireRequest{
		Pipeline: x.pipeline, Date: x.date, Worker: x.worker, Wait: x.wait, Patience: x.patience(), Traceparent: x.traceparent,
	})
	if err != nil {
		return a.notAcquired(x, err, signals)
	}
	return a.runClaimed(ctx, x, lease, signals)
}

func (x execution) patience() time.Duration {
	if x.open {
		return openPatience
	}
	return 0
}

// defaultWorker names this process.
func defaultWorker() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// traceVariable is the trace of a program, in its environment.
const traceVariable = "TRACEPARENT"

// traceparent is the trace that the claim belongs to: that of the environment, or a new one.
func (a *app) traceparent() string {
	if given := a.getenv(traceVariable); given != "" {
		return given
	}
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails
	return fmt.Sprintf("00-%x-%x-01", id[:16], id[16:])
}

// cannotRun says that there is no such command to run.
func (a *app) cannotRun(name string, err error) error {
	var failed *exec.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	a.note("cannot run %s: %v; nothing was claimed", name, err)
	if errors.Is(err, os.ErrPermission) {
		return codeError(exitNotRunnable)
	}
	return codeError(exitNotFound)
}

// notAcquired says why the command does not run, or runs it if the server is not there and the user said so.
func (a *app) notAcquired(x execution, err error, signals *signals) error {
	var refused *client.RefusedError
	if sig := signals.caught(); sig != 0 {
		return codeError(exitBySignal + sig)
	}
	if errors.As(err, &refused) {
		return a.refused(refused)
	}
	if !isAway(err) {
		if errors.As(err, new(*client.Problem)) { // a token that is missing, a wrong date
			a.note("%v; %s did not run", hinted(err), x.argv[0])
			return codeError(exitUsage)
		}
		return err
	}
	if !x.open {
		a.note("%v; %s did not run", hinted(err), x.argv[0])
		return codeError(exitAway)
	}
	a.note("%v; running %s without the gate (--on-unreachable open)", err, x.argv[0])
	end, err := a.runChild(x, nil, signals)
	if err != nil {
		return a.cannotRun(x.argv[0], err)
	}
	return end.code()
}

// isAway reports whether the server could not be reached, or is in no state to answer.
func isAway(err error) bool {
	var unreachable *client.UnreachableError
	var tables *dynamo.UnreachableError
	var problem *client.Problem
	return errors.As(err, &unreachable) || errors.As(err, &tables) || errors.As(err, &problem) && problem.Status >= 500
}

// refused says why there was nothing to run.
func (a *app) refused(r *client.RefusedError) error {
	if r.Why == client.RefusedCompleted {
		if a.errTerminal {
			a.note("%s", r.Reason) // a scheduler that tries again and again need not hear of it
		}
		return nil
	}
	reason, _, _ := strings.Cut(r.Reason, forPrograms)
	a.note("%s", reason)
	switch r.Why {
	case client.RefusedHeld:
		return codeError(exitHeld)
	case client.RefusedUnavailable:
		return codeError(exitUnavailable)
	case client.RefusedJob:
		return codeError(exitUsage)
	case client.RefusedClosed, client.RefusedCompleted:
	}
	if rules := closedRules(r.Gate); len(rules) > 1 { // the reason names the first
		for _, rule := range rules {
			fmt.Fprintf(a.stderr, "  %s\n", printable(rule))
		}
	}
	return codeError(exitClosed)
}

// note prints a line of exec itself: never on stdout, which is the command's.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "%s %s\n", a.errStyle.red("interlock:"), printableLines(fmt.Sprintf(format, args...)))
}

// closedRules are the rules that keep a gate closed, one line each.
func closedRules(g *client.Gate) []string {
	var lines []string
	if g == nil {
		return nil
	}
	for _, r := range g.Rules {
		if r.Level == "required" && r.EffectiveOutcome != "pass" {
			lines = append(lines, fmt.Sprintf("%s: %s", r.Key, r.Reason))
		}
	}
	return lines
}
