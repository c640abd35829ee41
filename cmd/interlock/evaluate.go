package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

type evaluateFlags struct {
	sensors string
	age     string
	at      instant
	date    periodFlag
	folders *folderFlags
	format  *choice
}

func newEvaluate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "evaluate FILE --sensors FILE.json",
		Short: "Evaluate a pipeline's rules on given facts",
		Long: "Show, rule by rule, whether a pipeline's gate would be open on given facts.\n" +
			"The sensors file is an object {\"key\": {\"field\": value, …}, …}. A key may contain a period\n" +
			"(\"key#2026-03-03\") and, for rules with `from`, the other pipeline (\"other:key\").\n" +
			"A rule with `over` reads one such fact per slice (\"key#2026-03-03T07\").\n" +
			"All facts count as written --age before --at, and unchanged since: a\n" +
			"rule with `settled` needs --age. Upstream pipelines are not checked.\n" +
			"Exit code 0 if the gate is open, 1 if it is closed.",
		Example: "  interlock evaluate pipelines/orders.yaml --sensors facts.json --at 2026-03-03T06:00:00Z",
		Args:    oneFile,
	}
	f := &evaluateFlags{}
	cmd.Flags().StringVar(&f.sensors, "sensors", "", "`FILE` with the facts as JSON; - reads stdin")
	cmd.Flags().Var(&f.at, "at", "when the rules are evaluated, RFC 3339 (default now)")
	addFilled(cmd, &f.age, "age", "how long before --at the facts were written, a `DURATION` such as 20m (default 0s)")
	cmd.Flags().Var(&f.date, "date", "the period to evaluate for (default the period of --at)")
	f.folders = addFolderFlags(cmd)
	f.format = addFormat(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.evaluate(args[0], f) }
	return cmd
}

func (a *app) evaluate(file string, f *evaluateFlags) error {
	if f.sensors == "" {
		return usagef("evaluate needs the facts: --sensors FILE.json, or --sensors - for stdin")
	}
	def, err := a.loadOne(file, *f.folders)
	if err != nil {
		return err
	}
	e := evaluation{def: def, at: cmp.Or(f.at.value, a.now())}
	e.period = cmp.Or(f.date.Period, def.Schedule.Current(e.at))
	if err := e.period.CheckName(def.Schedule.Zone()); err != nil {
		return usagef("--date: %s", err)
	}
	data, err := a.openFacts(f.sensors)
	if err != nil {
		return err
	}
	age, err := parseLength("age", f.age, "20m or 2h")
	if err != nil {
		return err
	}
	if e.given, err = parseFacts(f.sensors, data, def.ID, e.at.Add(-age)); err != nil {
		return err
	}
	if err := e.evaluate(); err != nil {
		return err
	}
	return verdict(e.open(), a.print(f.format, e.report(), func() { e.write(a) }))
}

// evaluation evaluates a pipeline's gate on given facts.
type evaluation struct {
	def    *pipeline.Definition
	at     time.Time
	period period.Period
	given  facts
	answer gate.Answer
	unmet  []gate.Block
}

func (e *evaluation) open() bool { return len(e.unmet) == 0 }

// evaluate evaluates the start condition and the rules. Upstream runs are not checked.
func (e *evaluation) evaluate() error {
	q := gate.Question{Definition: e.def, Period: e.period, Gate: e.def.Facts}
	var err error
	e.answer, err = gate.Ask(context.Background(), factStore{e.def.ID, e.given}, gate.Situation{Question: q}, e.at)
	e.unmet = e.answer.Unmet(q, e.at)
	return err
}

// factStore serves facts as store readings.
type factStore struct {
	own   pipeline.ID
	facts facts
}

// Readings returns the given readings.
func (g factStore) Readings(_ context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	answers := make([][]*sensor.Reading, len(queries))
	for i, q := range queries {
		_, answers[i] = g.facts.of(g.own, string(q.Pipeline), q.Key)
	}
	return answers, nil
}

// RunsAt returns no runs.
func (g factStore) RunsAt(context.Context, []run.Key) (map[run.Key]run.Run, error) { return nil, nil }

// OpenRuns returns no runs.
func (g factStore) OpenRuns(context.Context, pipeline.ID) ([]run.Run, error) { return nil, nil }

// unread lists the given sensors that no rule reads; their names are often misspelt.
func (e *evaluation) unread() []sensorName {
	read := map[sensorName]bool{}
	for _, ref := range e.def.Facts.Refs() {
		name, _ := e.given.of(e.def.ID, ref.From, ref.Key)
		read[name] = true
	}
	if start := e.def.Start; start != nil {
		name, _ := e.given.of(e.def.ID, start.Rule.From, sensor.Key(start.Rule.Key))
		read[name] = true
	}
	var unread []sensorName
	for name := range e.given {
		if !read[name] {
			unread = append(unread, name)
		}
	}
	return unread
}

// evaluationReport is the output of `evaluate --format json`. All keys are always present.
type evaluationReport struct {
	Open           bool          `json:"open"`
	Outcome        rule.Outcome  `json:"outcome"` // of the rules alone
	BlockedBy      []blockReport `json:"blockedBy"`
	StartCondition *leafReport   `json:"startCondition"`
	Pipeline       pipeline.ID   `json:"pipeline"`
	Date           string        `json:"date"`
	At             string        `json:"at"`
	Excluded       bool          `json:"excluded"`
	ExcludedReason *string       `json:"excludedReason"` // why the calendar excludes the period
	After          []pipeline.ID `json:"after"`          // upstreams, which are not checked
	Rules          []leafReport  `json:"rules"`
	PreferUntil    *string       `json:"preferUntil"` // when preferred rules stop keeping the gate closed
	Degraded       []string      `json:"degraded"`    // preferred rules that do not pass although the gate is open
	OpensAt        *string       `json:"opensAt"`     // when a closed gate opens if the facts do not change
	// Run and RetryAfterSeconds are always null, because there are no runs. They keep the report in
	// the same form as the API's answer.
	Run               *struct{} `json:"run"`
	RetryAfterSeconds *int64    `json:"retryAfterSeconds"`
}

// blockReport is one reason why the gate is closed.
type blockReport struct {
	Code   gate.Code `json:"code"`
	Reason string    `json:"reason"`
	Until  *string   `json:"until"`
}

// leafReport is the report on one rule. Value is the value read, Needs the value that the rule
// compares it with.
type leafReport struct {
	Key     string       `json:"key"`
	Check   rule.Check   `json:"check"`
	Field   *string      `json:"field"`
	Needs   any          `json:"needs"`
	Time    *string      `json:"time"` // describes settled and over
	From    *string      `json:"from"`
	Level   rule.Level   `json:"level"`
	Group   *string      `json:"group"`
	Outcome rule.Outcome `json:"outcome"` // before any "not"
	// EffectiveOutcome is the outcome after every "not" around the rule: the rule's contribution to
	// the gate.
	EffectiveOutcome rule.Outcome `json:"effectiveOutcome"`
	Value            any          `json:"value"`
	Reason           string       `json:"reason"`
}

func (e *evaluation) report() evaluationReport {
	excluded := e.def.Schedule.Excluded(e.period)
	report := evaluationReport{
		Open: e.open(), Outcome: e.answer.Verdict.Outcome, Pipeline: e.def.ID, BlockedBy: []blockReport{},
		Date: e.period.String(), At: period.Exact(e.at),
		Excluded: excluded != "", ExcludedReason: textOrNull(excluded),
		After: append([]pipeline.ID{}, e.def.After...), Rules: []leafReport{},
		PreferUntil: timeOrNull(e.answer.PreferUntil), Degraded: append([]string{}, e.answer.Degraded...), OpensAt: timeOrNull(e.answer.OpensAt),
	}
	for _, b := range e.unmet {
		report.BlockedBy = append(report.BlockedBy, blockReport{Code: b.Code, Reason: b.Reason.String(), Until: timeOrNull(b.Until)})
	}
	if e.answer.Start != nil {
		report.StartCondition = new(reportOn(*e.answer.Start))
	}
	for _, leaf := range e.answer.Verdict.Leaves {
		report.Rules = append(report.Rules, reportOn(leaf))
	}
	return report
}

func reportOn(leaf rule.Leaf) leafReport {
	return leafReport{
		Key: leaf.Rule.Key, Check: leaf.Rule.Check, Field: textOrNull(leaf.Rule.Field), Needs: leaf.Rule.Value,
		Time: textOrNull(leaf.Rule.Time), From: textOrNull(leaf.Rule.From), Level: levelOf(leaf), Group: textOrNull(leaf.Path),
		Outcome: leaf.Outcome, EffectiveOutcome: leaf.Effective(), Value: leaf.Value, Reason: leaf.Reason,
	}
}

func levelOf(leaf rule.Leaf) rule.Level {
	switch {
	case leaf.Advisory:
		return rule.Advisory
	case leaf.Preferred:
		return rule.Preferred
	}
	return rule.Required
}

// textOrNull returns nil for "", so that JSON has null.
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
