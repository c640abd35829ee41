package main

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// foundResult is what a question about a job came to.
type foundResult string

const (
	foundOK          foundResult = "ok"
	foundUnsure      foundResult = "unsure" // nothing is wrong as far as can be seen
	foundNo          foundResult = "no"
	foundUnreachable foundResult = "unreachable"
)

// jobTestReport is what `job test --format json` prints; every key is always there.
type jobTestReport struct {
	Pipeline pipeline.ID  `json:"pipeline"`
	Type     string       `json:"type"`
	Date     string       `json:"date"`
	Findings []jobFinding `json:"findings"`
	Run      *jobTrial    `json:"run"` // null without --start, or where it was not tried
}

type jobFinding struct {
	Check   string      `json:"check"`
	Result  foundResult `json:"result"`
	Message string      `json:"message"`
}

// jobTrial is a job that was run for the test. Result is success, fail or timeout, or how far it came: refused, unanswered,
// started, unknown.
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
		rows = append(rows, []cell{{string(f.Result), paint}, plain(f.Check), plain(printable(f.Message))})
	}
	fmt.Fprint(a.stdout, table("", rows))
	if r.Run != nil {
		a.writeJobTrial(*r.Run)
	}
}

func (a *app) writeJobTrial(r jobTrial) {
	a.section("Run once")
	a.facts(
		fact("Key", r.ID), fact("Job", r.Handle), fact("Result", r.Result), fact("Category", orNone(r.Category)),
		fact("Message", r.Message), fact("Took", fmt.Sprintf("%.1fs", r.Seconds)),
	)
	a.writeJobOutput(r.Output)
}
