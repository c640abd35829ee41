package api

import (
	"context"
	"math"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/store"
)

// Gate is the answer to "may I run?".
type Gate struct {
	Pipeline          string    `json:"pipeline"`
	Date              string    `json:"date" doc:"The period that was looked at."`
	At                time.Time `json:"at"`
	Open              bool      `json:"open" doc:"The rules hold, and nothing else stands against a start."`
	Outcome           string    `json:"outcome" enum:"pass,fail,unknown" doc:"What the rules alone say."`
	BlockedBy         *string   `json:"blockedBy" doc:"What stands against a start beside the rules: an excluded period, a pause, schedule.time."`
	Rules             []Rule    `json:"rules"`
	RetryAfterSeconds *int64    `json:"retryAfterSeconds" doc:"When to ask again; null while the gate is open, or where asking again is of no use."`
}

// Rule is the report on one rule.
type Rule struct {
	Key              string     `json:"key"`
	Check            string     `json:"check"`
	Field            *string    `json:"field"`
	Needs            any        `json:"needs" doc:"What the field is compared with."`
	From             *string    `json:"from" doc:"The other pipeline whose sensor is read."`
	Level            string     `json:"level" enum:"required,advisory"`
	Group            *string    `json:"group" doc:"Where it stands in a group, for people."`
	Outcome          string     `json:"outcome" enum:"pass,fail,unknown" doc:"Of the rule itself."`
	EffectiveOutcome string     `json:"effectiveOutcome" enum:"pass,fail,unknown" doc:"After every not around the rule: what it contributes to the gate."`
	Value            any        `json:"value" doc:"The value seen; null if there was none."`
	Reason           string     `json:"reason"`
	Version          *int64     `json:"version" doc:"Of the reading that was seen."`
	UpdatedAt        *time.Time `json:"updatedAt" doc:"When the reading was written."`
	Source           *string    `json:"source" doc:"Who wrote it, where that is known."`
}

// OfPeriod is a pipeline and one of its periods.
type OfPeriod struct {
	ID   string `path:"id" doc:"The pipeline's id."`
	Date string `query:"date" doc:"The period; that of a fire now unless said."`
}

func (a *API) getGate(ctx context.Context, in *OfPeriod) (*output[Gate], error) {
	e, p := a.entry(ctx, pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	now := a.now()
	date, p := parsePeriod("query.date", in.Date)
	if p != nil {
		return nil, p
	}
	if date.IsZero() {
		date = e.Schedule.PeriodAt(now)
	}
	row, err := a.row(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	view, err := gate.Look(ctx, a.store, gate.Question{Definition: e.Definition, Upstream: a.catalog.Current().Definition, Period: date}, now)
	if err != nil {
		return nil, err
	}
	b := blocked(e, row, date, now)
	out := Gate{
		Pipeline: string(e.ID), Date: date.String(), At: now.UTC(), Open: view.Open() && b.why == "",
		Outcome: view.Verdict.Outcome.String(), BlockedBy: text(b.why), Rules: []Rule{},
	}
	for i, leaf := range view.Leaves() {
		out.Rules = append(out.Rules, liveRule(leaf, view.Verdict.Leaves[i], now))
	}
	if !out.Open {
		out.RetryAfterSeconds = b.retry(e, now)
	}
	return answer(out), nil
}

// block is what stands against a start beside the rules.
type block struct {
	why     string
	until   time.Time // when it ends by itself, if it does
	forever bool
}

// blocked says what, if anything, stands against a start of that period.
func blocked(e *catalog.Entry, row store.Pipeline, p period.Period, now time.Time) block {
	if why := e.Schedule.Excluded(p); why != "" {
		return block{why: "excluded: " + why, forever: true}
	}
	if !row.Pause.Since.IsZero() {
		return block{why: "paused by " + row.Pause.By, until: row.Pause.Until}
	}
	if at := e.Schedule.EarliestStart(p); e.Schedule.HasTime() && at.After(now) {
		return block{why: "not before " + at.UTC().Format(time.RFC3339), until: at}
	}
	return block{}
}

// retry is in how many seconds to ask again: the pipeline's own interval, or when what blocks it ends.
func (b block) retry(e *catalog.Entry, now time.Time) *int64 {
	if b.forever {
		return nil
	}
	wait := e.Interval
	if until := b.until.Sub(now); !b.until.IsZero() && until > 0 {
		wait = until
	}
	seconds := int64(math.Ceil(wait.Seconds()))
	return &seconds
}

// liveRule is the report on a rule at this moment.
func liveRule(leaf store.SeenLeaf, seen rule.Leaf, now time.Time) Rule {
	r := ruleView(leaf)
	if seen.Age >= 0 {
		r.Version, r.UpdatedAt = number(seen.Version), instant(now.Add(-seen.Age))
	}
	return r
}

func number(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func ruleView(leaf store.SeenLeaf) Rule {
	level := rule.Required
	if leaf.Advisory {
		level = rule.Advisory
	}
	return Rule{
		Key: leaf.Key, Check: string(leaf.Check), Field: text(leaf.Field), Needs: leaf.Needs, From: text(leaf.From), Level: string(level),
		Group: text(leaf.Group), Outcome: leaf.Outcome.String(), EffectiveOutcome: leaf.Outcome.In(leaf.Negated).String(), Value: leaf.Value, Reason: leaf.Reason,
	}
}
