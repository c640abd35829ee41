package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

func newProbe(a *app) *cobra.Command { return group("probe", "Test probes", newProbeRun(a)) }

func newProbeRun(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run FILE NAME", Short: "Run a pipeline's probe once",
		Long: "Run a probe of a pipeline file, or of its archetype, as a server would, and show its answer and\n" +
			"the rules that read it. No server is involved, and nothing is stored.\n" +
			"The egress and secrets settings come from the server's file.\n" +
			"Exit code 0 if these rules pass (without rules: if it answers PASS), 1 if not, 3 if the probe failed.",
		Example: "  interlock probe run pipelines/orders.yaml landing --date 2026-03-03",
		Args:    arguments("FILE", "NAME"),
	}
	f := addTrialFlags(cmd, "probe")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.probeRun(cmd.Context(), args[0], args[1], f) }
	return cmd
}

func (a *app) probeRun(ctx context.Context, file, name string, f *trialFlags) error {
	def, err := a.loadOne(file, *f.folders)
	if err != nil {
		return err
	}
	p := def.Probe(sensor.Key(name))
	if p == nil {
		return noProbe(file, name, def)
	}
	server, err := a.serverFile(f.config, a.printProblem)
	if err != nil {
		return err
	}
	jobs, err := newJobs(server, a.getenv, api.Callbacks{}) // for its evaluator
	if err != nil {
		return err
	}
	t := &probeTrial{def: def, probe: *p, began: a.now()}
	t.period = cmp.Or(f.date.Period, def.Schedule.Current(t.began))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	answer, failed := jobs.evaluator.Evaluate(ctx, probe.Request{Pipeline: def.ID, File: def.File, Probe: *p, Period: t.period, Attempt: 1})
	end := t.record(answer, failed, a.now())
	if err := a.print(f.format, t.report(), func() { t.write(a) }); err != nil {
		return err
	}
	return end
}

// noProbe returns an error that names the existing probes.
func noProbe(file, name string, def *pipeline.Definition) error {
	var names []string
	for _, p := range def.Probes {
		names = append(names, p.Key)
	}
	if len(names) == 0 {
		return usagef("%s has no probes", file)
	}
	return usagef("%s has no probe %q%s", file, name, document.Choice(name, names))
}

// probeTrial is a probe that is run by hand.
type probeTrial struct {
	def    *pipeline.Definition
	probe  pipeline.Probe
	period period.Period
	began  time.Time
	took   time.Duration

	answer probe.Answer
	broken *probe.Failure
	leaves []rule.Leaf // of the rules that read the probe
}

// record stores the probe's answer or error, and returns the command's error for it.
func (t *probeTrial) record(answer probe.Answer, failed error, now time.Time) error {
	t.took = now.Sub(t.began)
	about, err := t.period, error(nil)
	if failed == nil {
		t.answer = answer
		about, err = sensor.PeriodOf(answer.Fields(), t.period)
	}
	switch {
	case answer.Status == probe.Unknown:
		return t.judge(nil, now)
	case errors.As(failed, &t.broken):
	case failed != nil:
		t.broken = &probe.Failure{Reason: "interrupted"}
	case err != nil:
		t.broken = &probe.Failure{Reason: fmt.Sprintf("the value of its answer has an invalid period: %v", err)}
	default:
		return t.judge(&sensor.Reading{Key: sensor.Key(t.probe.Key), Period: about, Fields: answer.Fields(), UpdatedAt: now, Version: 1}, now)
	}
	return errUnreachable
}

// judge evaluates the rules that read the probe, without a reading if r is nil.
func (t *probeTrial) judge(r *sensor.Reading, now time.Time) error {
	gates := []*rule.Gate{t.def.Facts}
	if t.def.Start != nil && t.def.Opens != pipeline.ByCron {
		gates = append(gates, t.def.Start.Gate)
	}
	if t.def.PostRun != nil {
		gates = append(gates, t.def.PostRun.Gate)
	}
	for _, g := range gates {
		t.evaluate(g, r, now)
	}
	if len(t.leaves) == 0 {
		return verdict(t.answer.Status == probe.Pass, nil)
	}
	closed := slices.ContainsFunc(t.leaves, func(l rule.Leaf) bool { return !l.Advisory && l.Effective() != rule.Pass })
	return verdict(!closed, nil)
}

func (t *probeTrial) evaluate(g *rule.Gate, r *sensor.Reading, now time.Time) {
	refs := g.Refs()
	snapshot := make(rule.Snapshot, len(refs))
	for i, ref := range refs {
		if string(ref.Key) == t.probe.Key && ref.From == "" {
			snapshot[i] = sensor.ForPeriod(t.period, []*sensor.Reading{r})
		}
	}
	for _, leaf := range g.Explain(snapshot, now).Leaves {
		if leaf.Rule.Key == t.probe.Key && leaf.Rule.From == "" {
			t.leaves = append(t.leaves, leaf)
		}
	}
}

// probeReport is the output of `probe run --format json`. All keys are always present.
type probeReport struct {
	Pipeline        pipeline.ID   `json:"pipeline"`
	Probe           string        `json:"probe"`
	Date            string        `json:"date"`
	Seconds         float64       `json:"seconds"`
	Broken          bool          `json:"broken"`
	Status          *string       `json:"status"`
	Value           sensor.Fields `json:"value"`
	Reason          *string       `json:"reason"` // of the probe, or why it failed
	FailureCategory *string       `json:"failureCategory"`
	Rules           []leafReport  `json:"rules"` // the rules that read the probe
}

func (t *probeTrial) report() probeReport {
	r := probeReport{
		Pipeline: t.def.ID, Probe: t.probe.Key, Date: t.period.String(), Seconds: t.took.Seconds(), Rules: []leafReport{},
		Status: textOrNull(string(t.answer.Status)), Value: t.answer.Value, Reason: textOrNull(t.answer.Reason), FailureCategory: textOrNull(t.answer.Category),
	}
	if t.broken != nil {
		r.Broken, r.Reason, r.FailureCategory = true, textOrNull(t.broken.Reason), textOrNull(string(t.broken.Category))
	}
	for _, leaf := range t.leaves {
		r.Rules = append(r.Rules, reportOn(leaf))
	}
	return r
}

func (t *probeTrial) write(a *app) {
	s := a.outStyle
	fmt.Fprintf(a.stdout, "%s: probe %s, for %s\n\n", t.def.ID, t.probe.Key, t.period)
	if t.broken != nil {
		fmt.Fprintf(a.stdout, "%s  %s\n", s.red("broke"), printable(t.broken.Reason))
		return
	}
	paint := s.green
	if t.answer.Status != probe.Pass {
		paint = s.red
	}
	fmt.Fprintf(a.stdout, "%s  %s\n", paint(string(t.answer.Status)), printable(t.answer.Reason))
	fmt.Fprintf(a.stdout, "value: %s\n", printable(sensor.Literal(t.answer.Value)))
	if len(t.leaves) == 0 {
		fmt.Fprintln(a.stdout, "note: no rule of this pipeline reads it")
		return
	}
	fmt.Fprintf(a.stdout, "\n%s", table(a.ruleRows(leafRules(t.leaves))))
}
