package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// OfPeriod is a pipeline and one of its periods.
type OfPeriod struct {
	ID   string `path:"id" doc:"The pipeline's id."`
	Date string `query:"date" doc:"The period. Default: the current period: that of a fire now or, if no fire is for it, of the last fire."`
}

// gateInput is a pipeline, one of its periods, and how long to wait for its gate.
type gateInput struct {
	OfPeriod
	Wait string `query:"wait" doc:"Long poll: wait up to this long, such as 30s, at most 60s. The response comes as soon as a start is allowed, a start can no longer become possible, or the job has been started."`
}

func (a *API) getGate(ctx context.Context, in *gateInput) (*output[client.Gate], error) {
	e, p1 := a.entry(ctx, pipeline.ID(in.ID))
	date, p2 := parsePeriod("query.date", in.Date)
	wait, p3 := parseWait(in.Wait)
	if p := cmp.Or(p1, p2, p3); p != nil {
		return nil, p
	}
	if date.IsZero() {
		date = e.Schedule.Current(a.now())
	}
	if p := checkName("query.date", e, date); p != nil {
		return nil, p
	}
	out, err := a.gateView(ctx, e, date)
	if err == nil && wait > 0 && !endsWait(out, blockCode(out)) {
		out, err = a.awaitGate(ctx, e, date, out, wait)
	}
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// gateView evaluates the gate of a period now.
func (a *API) gateView(ctx context.Context, e *catalog.Entry, date period.Period) (client.Gate, error) {
	now := a.now()
	s, err := a.situation(ctx, e, date)
	if err != nil {
		return client.Gate{}, err
	}
	ask, err := gate.Ask(ctx, a.store, s, now)
	if err != nil {
		return client.Gate{}, err
	}
	out := client.Gate{
		Pipeline: string(e.ID), Date: date.String(), Turn: turnOf(e, date, s.Run.Status.Open(), now), At: now.UTC(), Open: ask.Allowed(), Outcome: ask.Verdict.Outcome.String(), Rules: []client.Rule{},
		PreferUntil: instant(ask.PreferUntil), Degraded: append([]string{}, ask.Degraded...), OpensAt: instant(ask.OpensAt),
		BlockedBy: views(ask.Blocks, func(b gate.Block) client.StartBlock {
			return client.StartBlock{Code: string(b.Code), Reason: b.Reason.String(), Said: reasonView(b.Reason), Until: instant(b.Until)}
		}),
	}
	for i, leaf := range ask.Leaves() {
		r := liveRule(leaf, ask.Verdict.Leaves[i], now)
		r.Closes = ask.Closes(ask.Verdict.Leaves[i], now)
		out.Rules = append(out.Rules, r)
	}
	if ask.Start != nil {
		out.StartCondition = new(liveRule(gate.SeenLeaf(*ask.Start), *ask.Start, now))
	}
	if s.Run.Status != "" {
		out.Run = new(a.runView(s.Run))
	}
	if wait := ask.RetryAfter(e.Interval, now); wait > 0 {
		out.RetryAfterSeconds = new(int64(math.Ceil(wait.Seconds())))
	}
	return out, nil
}

// situation reads everything that the start of the pipeline's own run of a period depends on.
func (a *API) situation(ctx context.Context, e *catalog.Entry, date period.Period) (gate.Situation, error) {
	s := gate.Situation{Question: gate.Question{Definition: e.Definition, Upstream: a.catalog.Current().Definition, Period: date}}
	key := e.Key(date)
	var err error
	if s.Row, err = a.row(ctx, e.ID); err != nil {
		return s, err
	}
	if s.Run, err = store.IfFound(a.store.Run(ctx, key)); err != nil {
		return s, fmt.Errorf("read run %s: %w", key, err)
	}
	s.Opened = s.Run.Progress.WindowStart
	if s.Run.Status != "" {
		s.Definition, _, err = a.catalog.Shown(ctx, s.Run, e.Definition)
	}
	return s, err
}

// liveRule returns a rule with its current reading.
func liveRule(leaf store.SeenLeaf, seen rule.Leaf, now time.Time) client.Rule {
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

func ruleView(leaf store.SeenLeaf) client.Rule {
	level := rule.Required
	switch {
	case leaf.Advisory:
		level = rule.Advisory
	case leaf.Preferred:
		level = rule.Preferred
	}
	return client.Rule{
		Key: leaf.Key, Check: string(leaf.Check), Field: text(leaf.Field), Needs: leaf.Needs, From: text(leaf.From), Level: string(level), Time: text(leaf.Time),
		Group: text(leaf.Group), Negated: leaf.Negated, Outcome: leaf.Outcome.String(), EffectiveOutcome: leaf.Outcome.In(leaf.Negated).String(), Value: leaf.Value, Reason: leaf.Reason,
	}
}

func turnOf(e *catalog.Entry, p period.Period, open bool, now time.Time) client.Turn {
	zone := e.Schedule.Zone()
	t := client.Turn{StartsAt: p.Start(zone).UTC(), EndsAt: p.End(zone).UTC()}
	due := e.Schedule.FireFor(p)
	if due.IsZero() && e.Opens == pipeline.ByStream {
		due = t.EndsAt
	}
	t.DueAt, t.Due = instant(due), open || !due.IsZero() && !now.Before(due)
	return t
}

func currentOf(e *catalog.Entry, open []run.Run, now time.Time) *client.Current {
	p := e.Schedule.Current(now)
	if len(open) > 0 {
		p = open[len(open)-1].Period
	}
	if p.IsZero() {
		return nil
	}
	return &client.Current{Date: p.String(), OpenRun: len(open) > 0, Turn: turnOf(e, p, len(open) > 0, now)}
}

// nextFire returns the next period that the schedule opens automatically, skipping those before the
// end of a pause.
func nextFire(e *catalog.Entry, row store.Pipeline, now time.Time) client.NextFire {
	from := now.Add(time.Nanosecond)
	if row.Paused() {
		until := row.PausedUntil()
		if until.IsZero() {
			return client.NextFire{}
		}
		if until.After(from) {
			from = until
		}
	}
	for slot := range e.Schedule.Upcoming(from) {
		due := e.SLA.For(slot.Period, slot.FireAt, e.Schedule)
		return client.NextFire{Date: date(slot.Period), FireAt: instant(slot.FireAt), WarnAt: instant(due.Warn), BreachAt: instant(due.Breach)}
	}
	return client.NextFire{}
}

// RuleHistory is the last writes of the sensor that a rule reads, with the field that the rule
// uses.
type RuleHistory struct {
	Pipeline string         `json:"pipeline" doc:"The pipeline of the sensor."`
	Key      string         `json:"key"`
	Field    *string        `json:"field"`
	Points   []HistoryPoint `json:"points" doc:"Newest first."`
}

// HistoryPoint is one write.
type HistoryPoint struct {
	At      time.Time `json:"at"`
	Date    *string   `json:"date" doc:"The period of the reading; null if it is undated."`
	Version int64     `json:"version"`
	Source  *string   `json:"source" doc:"The writer's name, if known."`
	Value   any       `json:"value" doc:"The value of the field; null if the reading has none."`
	Deleted bool      `json:"deleted" doc:"Whether this write deleted the reading of its period."`
}

// ruleHistory returns the history of all rules of a gate in one response.
func (a *API) ruleHistory(ctx context.Context, in *struct {
	OfPipeline
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"40" doc:"Maximum number of writes per sensor."`
},
) (*output[List[RuleHistory]], error) {
	e, p := a.entry(ctx, pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	out, who, rules := List[RuleHistory]{Items: []RuleHistory{}}, whoOf(ctx), rulesOf(e.Gate)
	for _, r := range rules {
		key, owner := sensor.Key(r.Key), e.ID
		if r.From != "" {
			owner = pipeline.ID(r.From)
		}
		if key.Engine() || !who.sees(owner) {
			continue
		}
		points, err := a.points(ctx, store.HistoryQuery{Pipeline: owner, Key: key}, r.Field, in.Limit, maxPageBytes/len(rules))
		if err != nil {
			return nil, fmt.Errorf("read history of %s of %s: %w", key, owner, err)
		}
		out.Items = append(out.Items, RuleHistory{Pipeline: string(owner), Key: r.Key, Field: text(r.Field), Points: points})
	}
	return answer(out), nil
}

// points reads the field from up to limit writes, fewer if the values are large. It keeps only the
// field in memory.
func (a *API) points(ctx context.Context, q store.HistoryQuery, field string, limit, most int) ([]HistoryPoint, error) {
	points := []HistoryPoint{}
	for bytes := 0; ; {
		q.Limit = min(pieceItems, limit-len(points))
		page, err := a.store.History(ctx, q)
		if err != nil {
			return nil, err
		}
		found := views(page.Items, pointOf(field))
		points, bytes, q.Cursor = append(points, found...), bytes+encodedSize(found), page.Next
		if q.Cursor == "" || len(points) >= limit || bytes >= most {
			return points, nil
		}
	}
}

// rulesOf lists the rules of a gate. A gate reports on all of its rules, even without any reading.
func rulesOf(g *rule.Gate) []rule.Asked {
	verdict := g.Explain(make(rule.Snapshot, len(g.Refs())), time.Time{})
	return views(verdict.Leaves, func(l rule.Leaf) rule.Asked { return *l.Rule })
}

func pointOf(field string) func(*sensor.Reading) HistoryPoint {
	return func(r *sensor.Reading) HistoryPoint {
		return HistoryPoint{At: r.UpdatedAt.UTC(), Date: date(r.Period), Version: r.Version, Source: text(r.Source), Value: r.Fields.At(field), Deleted: r.Deleted}
	}
}
