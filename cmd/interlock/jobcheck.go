package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

type jobTestFlags struct {
	*trialFlags
	start bool
}

// trialFlags are the flags of commands that try part of a pipeline file as the server would.
type trialFlags struct {
	config  string
	date    periodFlag
	folders *folderFlags
	format  *choice
}

// addTrialFlags adds these flags; about says whose period --date is.
func addTrialFlags(cmd *cobra.Command, about string) *trialFlags {
	f := &trialFlags{folders: addFolderFlags(cmd), format: addFormat(cmd)}
	addServerFile(cmd, &f.config)
	cmd.Flags().Var(&f.date, "date", "the period of the "+about+" (default the current one)")
	return f
}

func newJobTest(a *app) *cobra.Command {
	f := &jobTestFlags{}
	cmd := &cobra.Command{
		Use: "test FILE", Short: "Test a pipeline's job against its real target",
		Long: "Fill in the variables and secrets of a pipeline's job.config as a server would, and ask its target whether the job\n" +
			"could start: does it respond, accept the credentials, and have the resources that the file names.\n" +
			"With --start, the job then runs once, outside any schedule and with its own key, and is followed to\n" +
			"its end; Ctrl-C stops it, if its type supports that. No server is involved, and nothing is stored.\n" +
			"The egress and secrets settings come from the server's file.\n" +
			"Exit code 0 if there is no problem, 1 if there is one or the job failed, 3 if the target could not be reached.",
		Example: "  interlock job test pipelines/orders.yaml\n" +
			"  interlock job test pipelines/orders.yaml --start --date 2026-03-03",
		Args: oneFile,
	}
	f.trialFlags = addTrialFlags(cmd, "job's variables")
	cmd.Flags().BoolVar(&f.start, "start", false, "also run the job")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.jobTest(cmd.Context(), args[0], f) }
	return cmd
}

func (a *app) jobTest(ctx context.Context, file string, f *jobTestFlags) error {
	def, err := a.loadOne(file, *f.folders)
	if err != nil {
		return err
	}
	if def.Job == nil {
		return usagef("%s has no job: the results of its runs are reported from outside", file)
	}
	t := &jobTest{def: def, now: a.now, report: jobTestReport{Pipeline: def.ID, Type: def.Job.Type, Findings: []jobFinding{}}}
	cleanUp, err := t.prepare(a, f)
	if err != nil {
		return err
	}
	defer cleanUp()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	end := t.check(ctx)
	if end == nil && f.start {
		end = t.run(ctx)
	}
	if err := a.print(f.format, t.report, func() { a.writeJobTest(t.report) }); err != nil {
		return err
	}
	return end
}

// jobTest tries one job.
type jobTest struct {
	def     *pipeline.Definition
	jobs    *jobs
	limit   time.Duration // timeout of one call
	attempt job.Attempt
	now     func() time.Time
	report  jobTestReport
}

// prepare creates the job types as a server with that file would. Commands run in a temporary
// directory, which cleanUp removes.
func (t *jobTest) prepare(a *app, f *jobTestFlags) (cleanUp func(), err error) {
	file, err := a.serverFile(f.config, a.printProblem)
	if err != nil {
		return nil, err
	}
	if file.Data.Dir, err = os.MkdirTemp("", "interlock-job-test-"); err != nil {
		return nil, fmt.Errorf("create a directory for the job: %w", err)
	}
	cleanUp = func() { os.RemoveAll(file.Data.Dir) }
	if t.jobs, err = newJobs(file, a.getenv, api.Callbacks{}); err != nil { // there is no server to call back to
		cleanUp()
		return nil, err
	}
	t.limit = file.Engine.Lease.D() / 2
	t.attempt = trialAttempt(t.def, f.date, t.now())
	t.report.Date = t.attempt.Period.String()
	return cleanUp, nil
}

// check checks whether the job could be started, and adds the findings to the report. It returns
// errNo, errUnreachable or nil.
func (t *jobTest) check(ctx context.Context) error {
	kind := t.jobs.types[t.def.Job.Type]
	if kind == nil {
		return t.record("config", job.Refuse(run.Permanent, "this build cannot run jobs of type %q", t.def.Job.Type))
	}
	expanded, err := t.jobs.expand(t.attempt, t.def.Job)
	if err != nil {
		return t.record("config", err)
	}
	t.attempt = expanded
	t.found("config", foundOK, "job.config is valid, with its variables and secrets filled in")
	checker, ok := kind.(job.Checker)
	if !ok {
		return t.record("target", &job.Unsure{Reason: "jobs of this type cannot be checked before a start"})
	}
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	return t.record("target", checker.Check(limited, expanded))
}

// record adds the result of a check to the report, and returns the command's error for it.
func (t *jobTest) record(what string, err error) error {
	if err == nil {
		t.found(what, foundOK, "has what the job needs")
		return nil
	}
	if unsure, ok := errors.AsType[*job.Unsure](err); ok {
		t.found(what, foundUnsure, unsure.Reason)
		return nil
	}
	if refusal, ok := errors.AsType[*job.Refusal](err); ok {
		t.found(what, foundNo, refusal.Reason)
		return errNo
	}
	t.found(what, foundUnreachable, err.Error())
	return errUnreachable
}

func (t *jobTest) found(what string, result foundResult, message string) {
	t.report.Findings = append(t.report.Findings, jobFinding{Check: what, Result: result, Message: message})
}

// foundResult is the result of a check.
type foundResult string

const (
	foundOK          foundResult = "ok"
	foundUnsure      foundResult = "unsure" // found no problem, but could not check everything
	foundNo          foundResult = "no"
	foundUnreachable foundResult = "unreachable"
)

// jobTestReport is the output of `job test --format json`. All keys are always present.
type jobTestReport struct {
	Pipeline pipeline.ID  `json:"pipeline"`
	Type     string       `json:"type"`
	Date     string       `json:"date"`
	Findings []jobFinding `json:"findings"`
	Run      *jobTrial    `json:"run"` // null without --start, or if the job was not started
}

type jobFinding struct {
	Check   string      `json:"check"`
	Result  foundResult `json:"result"`
	Message string      `json:"message"`
}

// jobTrial is a test run of a job. Result is success, fail or timeout, or the last stage that the
// run reached: refused, unanswered, started or unknown.
type jobTrial struct {
	ID       string  `json:"id"`
	Handle   string  `json:"handle"`
	Result   string  `json:"result"`
	Category *string `json:"category"`
	Message  string  `json:"message"`
	ExitCode *int    `json:"exitCode"`
	Output   string  `json:"output"`
	Seconds  float64 `json:"seconds"`
}

func (r *jobTrial) end(result string, category run.Category, message string) {
	r.Result, r.Category, r.Message = result, textOrNull(string(category)), message
}

func (a *app) writeJobTest(r jobTestReport) {
	s := a.outStyle
	fmt.Fprintf(a.stdout, "%s: %s job, for %s\n\n", r.Pipeline, r.Type, r.Date)
	var rows [][]cell
	for _, f := range r.Findings {
		paint := map[foundResult]func(string) string{foundOK: s.green, foundUnsure: s.yellow, foundNo: s.red, foundUnreachable: s.red}[f.Result]
		rows = append(rows, []cell{{string(f.Result), paint}, plain(f.Check), plain(f.Message)})
	}
	fmt.Fprint(a.stdout, table(rows))
	if r.Run != nil {
		a.writeJobTrial(*r.Run)
	}
}

func (a *app) writeJobTrial(r jobTrial) {
	a.section("Run once")
	a.facts(
		fact("Key", r.ID), fact("Job", r.Handle), fact("Result", r.Result), fact("Category", orZero(r.Category)),
		fact("Message", r.Message), fact("Took", fmt.Sprintf("%.1fs", r.Seconds)),
	)
	a.writeJobOutput(r.Output)
}
