package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/job"
)

// The exit codes of exec if the command did not run, or its output was lost. Otherwise exec exits
// with the command's own code.
const (
	exitClosed      = 100 // the gate stayed closed
	exitHeld        = 101 // another worker holds the attempt
	exitUnavailable = 102 // the period has no run to claim
	exitUnreached   = 103 // the server could not be reached, or cannot serve now
	exitOutputLost  = 104 // the command ran, but not all of its output could be passed on
	exitNotRunnable = 126 // the command exists but cannot be run, as in shells
	exitNotFound    = 127 // no such command
	exitBySignal    = 128 // plus the signal's number
)

// What exec does if it cannot reach the server.
const (
	onUnreachableClosed = "closed"
	onUnreachableOpen   = "open"
)

// openPatience is how long exec with --on-unreachable open waits for a first answer. After the
// first answer, it retries until --wait has passed.
const openPatience = 30 * time.Second

// execution is one call of exec.
type execution struct {
	pipeline, date, worker string
	wait                   time.Duration
	open                   bool // run the command if the server does not answer
	standby                bool // wait for a run that another worker has
	grace                  time.Duration
	harvests               []harvest
	client                 *client.Client
	argv                   []string
	program                string // path of the command
	traceparent            string
}

func newExec(a *app) *cobra.Command {
	var x execution
	var wait, grace string
	var ingest []string
	unreachable := &choice{value: onUnreachableClosed, options: []string{onUnreachableClosed, onUnreachableOpen}}
	cmd := &cobra.Command{
		Use:   "exec PIPELINE -- COMMAND [ARGUMENT...]",
		Short: "Run a command as the job of a pipeline, once its gate is open",
		Long: "Wait for the gate of a pipeline with job: {type: external}, claim its attempt, run COMMAND, and report the\n" +
			"result. If several run at the same time, only one runs its command. Input, output and signals are passed\n" +
			"through.\n\n" +
			"The exit code is the command's own. If the command did not run, it is 0 if the run is already COMPLETED,\n" +
			"100 if the gate stayed closed, 101 if another worker has the attempt, 102 if the period has no run to\n" +
			"claim (it is excluded, not opened or a dry run, or the pipeline is paused, rejected or unknown), 103 if the\n" +
			"server could not be reached or cannot serve now, 2 if the request was rejected (token, date or job type), 126 or 127 if COMMAND\n" +
			"cannot be run, and 128 plus the signal if a signal ended the wait. If the command ran but its output\n" +
			"could not be passed on, as on a full disk, its result is a failure, and the exit code is 104 unless the\n" +
			"command failed itself.",
		Example: "  0 2 * * * interlock exec nightly-load -- ./load.sh\n" +
			"  interlock exec orders --date 2026-03-03 --wait 2h -- dbt build",
		Args: execArguments,
	}
	addFilled(cmd, &x.date, "date", "the `PERIOD` (default the pipeline's current one)")
	addFilled(cmd, &wait, "wait", "how long to wait for the gate, a `DURATION` such as 2h (default 0s)")
	addFilled(cmd, &x.worker, "worker", "`NAME` of this worker (default HOST:PID)")
	cmd.Flags().BoolVar(&x.standby, "standby", false, "wait for a run that another worker has until --wait is over or, without --wait, the run ends; take its next attempt if that one fails")
	addFilled(cmd, &grace, "grace", "how long COMMAND has between SIGTERM and SIGKILL, a `DURATION` such as 10s; at most a third of the heartbeat (default 30s)")
	cmd.Flags().StringArrayVar(&ingest, "ingest", nil, "write readings from the results that COMMAND leaves, as interlock ingest does: `dbt[=DIR]`, gx=FILE or soda=FILE; may be repeated")
	// Registering fails only if the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("ingest", cobra.FixedCompletions([]string{"dbt", "dbt=", "gx=", "soda="}, cobra.ShellCompDirectiveNoSpace))
	addChoice(cmd, unreachable, "on-unreachable", "", "if the server does not answer: closed runs nothing, open runs COMMAND without the gate")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		x.pipeline, x.argv, x.open = args[0], args[1:], unreachable.value == onUnreachableOpen
		var err error
		if x.wait, err = parseLength("wait", wait, "90s or 2h"); err != nil {
			return err
		}
		if x.grace, err = parseLength("grace", cmp.Or(grace, client.DefaultGrace.String()), "10s or 1m"); err != nil {
			return err
		}
		if x.harvests, err = a.parseHarvests(ingest); err != nil {
			return err
		}
		if x.standby && x.open {
			return usagef("use --standby or --on-unreachable open, not both: a standby runs COMMAND only if it is the only one")
		}
		if err := checkWorker(x.worker); err != nil {
			return err
		}
		return a.exec(cmd.Context(), x)
	}
	return cmd
}

// checkWorker checks the name of a worker as the server does.
func checkWorker(name string) error {
	if n := utf8.RuneCountInString(name); n > maxName {
		return usagef("--worker has %d characters, at most %d are allowed", n, maxName)
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return usagef("--worker %q contains a control character", name)
	}
	return nil
}

// execArguments accepts a pipeline, and a command after "--".
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
	if x.program, err = findCommand(x.argv[0]); err != nil {
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
	defer func() { _ = end() }() // every request has been answered
	x.client = c
	lease, err := c.Acquire(waiting, client.AcquireRequest{
		Pipeline: x.pipeline, Date: x.date, Worker: x.worker, Wait: x.wait, Patience: x.patience(), Traceparent: x.traceparent,
		Standby: x.standby, Grace: cmp.Or(x.grace, -1),
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

// defaultWorker returns a name for this process.
func defaultWorker() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// traceVariable is the environment variable with a program's trace.
const traceVariable = "TRACEPARENT"

// givenTrace returns the trace in the environment; "" if there is none, or if it is invalid, which
// W3C Trace Context treats alike.
func (a *app) givenTrace() string {
	given := a.getenv(traceVariable)
	in := propagation.MapCarrier{job.TraceHeader: given}
	if !trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), in)).IsValid() {
		return ""
	}
	return given
}

// traceparent returns the claim's trace: the one in the environment, or a new one.
func (a *app) traceparent() string {
	if given := a.givenTrace(); given != "" {
		return given
	}
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails
	return fmt.Sprintf("00-%x-%x-01", id[:16], id[16:])
}

// findCommand returns the path of a command. The error is an *exec.Error, as that of exec.LookPath,
// which does not tell a file that is not executable from one that does not exist.
func findCommand(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || !errors.Is(err, exec.ErrNotFound) || strings.ContainsRune(name, filepath.Separator) {
		return path, err
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, missing := os.Stat(filepath.Join(dir, name)); missing == nil && info.Mode().IsRegular() && name != "" {
			return "", &exec.Error{Name: name, Err: fmt.Errorf("%s: %w", filepath.Join(dir, name), os.ErrPermission)}
		}
	}
	return "", err
}

// cannotRun reports that the command cannot be run, and returns the exit code.
func (a *app) cannotRun(name string, err error) error {
	if failed, ok := errors.AsType[*exec.Error](err); ok {
		err = failed.Err
	}
	a.note("cannot run %s: %v; nothing was claimed", name, err)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOTDIR) {
		return codeError(exitNotFound)
	}
	return codeError(exitNotRunnable)
}

// notAcquired reports why the command does not run. If the server is unreachable and
// --on-unreachable is open, it runs the command.
func (a *app) notAcquired(x execution, err error, signals *signals) error {
	if sig := signals.caught(); sig != 0 {
		return codeError(exitBySignal + sig)
	}
	if refused, ok := errors.AsType[*client.RefusedError](err); ok {
		return a.refused(refused)
	}
	switch code, remote := remoteCode(err); {
	case !remote:
		return err
	case code != exitUnreachable: // for example a missing token or an invalid date
		a.note("%v; %s did not run", hinted(err), x.argv[0])
		return codeError(exitUsage)
	case x.open && contactLost(err):
		a.note("%v; %s did not run: the server answered before, so another worker may have the run", err, x.argv[0])
		return codeError(exitUnreached)
	case x.open && a.answered(err):
		a.note("%v; %s did not run: --on-unreachable open is for a server that does not answer", hinted(err), x.argv[0])
		return codeError(exitUnreached)
	case !x.open:
		a.note("%v; %s did not run", hinted(err), x.argv[0])
		return codeError(exitUnreached)
	}
	a.note("%v; running %s without the gate (--on-unreachable open)", err, x.argv[0])
	end, err := a.runChild(x, nil, signals)
	if err != nil {
		return a.cannotRun(x.argv[0], err)
	}
	if len(x.harvests) > 0 {
		a.note("the artifacts of %s were not written: it ran without the gate", x.argv[0])
	}
	return end.code()
}

// contactLost reports whether the server had answered for the run before it could not be reached.
func contactLost(err error) bool {
	_, lost := errors.AsType[*client.ContactLostError](err)
	return lost
}

// answered reports whether a server answered, other than a proxy whose server is away. An Interlock
// server that cannot serve now, as on a full disk, may have a closed gate, and other workers may run
// the job. Anything else that answers does so every time, and the gate would never be asked. With
// --store there is no server, and tables that are not available have not answered.
func (a *app) answered(err error) bool {
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		away := a.remote.store != "" && problem.Status == http.StatusServiceUnavailable
		return problem.RequestID != "" && !away // a proxy may answer with JSON too
	}
	away, ok := errors.AsType[*client.UnreachableError](err)
	return ok && away.Status != 0 && away.Status < http.StatusInternalServerError
}

// refused reports why exec did not get an attempt.
func (a *app) refused(r *client.RefusedError) error {
	if r.Why == client.RefusedCompleted {
		if a.errTerminal {
			a.note("%s", r.Reason) // only on a terminal: a scheduler that retries often does not need this message
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
	if rules := closedRules(r.Gate); len(rules) > 1 { // the reason already names the first rule
		for _, rule := range rules {
			fmt.Fprintf(a.stderr, "  %s\n", printable(rule))
		}
	}
	return codeError(exitClosed)
}

// note prints a message of exec itself to stderr; stdout belongs to the command.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "%s %s\n", a.errStyle.red("interlock:"), printableLines(fmt.Sprintf(format, args...)))
}

// closedRules returns one line for each rule that keeps a gate closed.
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
