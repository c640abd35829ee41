package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/store"
)

// Timeline is what was expected of the pipelines between two instants, and what became of it.
type Timeline struct {
	From       time.Time  `json:"from"`
	To         time.Time  `json:"to"`
	Items      []Schedule `json:"items" doc:"One per pipeline, by id."`
	NextCursor *string    `json:"nextCursor" doc:"Leads to the next page; null on the last."`
}

// Schedule is one pipeline's part of a timeline.
type Schedule struct {
	Pipeline  string `json:"pipeline"`
	Slots     []Slot `json:"slots" doc:"Oldest first."`
	Truncated bool   `json:"truncated" doc:"There are more than fit; ask for less at once."`
}

// Slot is one period of a timeline.
type Slot struct {
	Date      string     `json:"date"`
	Schedule  string     `json:"schedule"`
	State     string     `json:"state" enum:"upcoming,missing,excluded,run" doc:"missing: there is no run although its time is over, and its deadline if a sensor or an upstream opens it."`
	StartsAt  time.Time  `json:"startsAt" doc:"The period's first instant."`
	FireAt    *time.Time `json:"fireAt" doc:"When it opens automatically."`
	Excluded  *string    `json:"excluded" doc:"Why the calendar suppresses it."`
	Status    *string    `json:"status" doc:"The run's."`
	Attempt   *int       `json:"attempt"`
	OpenedAt  *time.Time `json:"openedAt"`
	StartedAt *time.Time `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"`
	WarnAt    *time.Time `json:"warnAt" doc:"When its deadline warns."`
	BreachAt  *time.Time `json:"breachAt" doc:"Its deadline."`
	Deadline  *string    `json:"deadline" enum:"ARMED,WARNED,MET,BREACHED,CANCELLED" doc:"The state of the deadline, including the relative one; null if none was ever armed."`
}

// The limits of a timeline.
const (
	maxSpan  = 31 * 24 * time.Hour
	maxSlots = 500 // of one pipeline
)

type timelineInput struct {
	From     string `query:"from" doc:"RFC 3339, a period, or how long ago; default 24h ago."`
	To       string `query:"to" doc:"Likewise; default 24h from now."`
	Pipeline string `query:"pipeline" doc:"Only this pipeline."`
	Limit    int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many pipelines at most."`
	Cursor   string `query:"cursor" doc:"The nextCursor of the page before."`
}

func (a *API) timeline(ctx context.Context, in *timelineInput) (*output[Timeline], error) {
	s, p := a.span(in)
	if p != nil {
		return nil, p
	}
	who := whoOf(ctx)
	only, p := parseID(who, in.Pipeline)
	if p != nil {
		return nil, p
	}
	after, err := a.afterID("timeline", in.Cursor)
	if err != nil {
		return nil, err
	}
	page := List[Schedule]{Items: []Schedule{}}
	for _, e := range a.catalog.Current().All() {
		if e.ID <= after || only != "" && e.ID != only || !who.sees(e.ID) {
			continue
		}
		if page.full(in.Limit) {
			page.NextCursor = a.cursors.next("timeline", page.last().Pipeline)
			break
		}
		item, err := a.slots(ctx, e, s)
		if err != nil {
			return nil, err
		}
		page.add(item)
	}
	return answer(Timeline{From: s.from, To: s.to, Items: page.Items, NextCursor: page.NextCursor}), nil
}

// stretch is the time that a timeline shows.
type stretch struct{ from, to, now time.Time }

func (a *API) span(in *timelineInput) (stretch, *Problem) {
	now := a.now().UTC()
	s := stretch{from: now.Add(-24 * time.Hour), to: now.Add(24 * time.Hour), now: now}
	if in.From != "" {
		from, p := parseInstant("query.from", in.From, now)
		if p != nil {
			return s, p
		}
		s.from, s.to = from, from.Add(48*time.Hour)
	}
	if in.To != "" {
		to, p := parseInstant("query.to", in.To, now)
		if p != nil {
			return s, p
		}
		s.to = to
	}
	if !s.to.After(s.from) || s.to.Sub(s.from) > maxSpan {
		return s, badRequest("a timeline goes from one instant to a later one, at most 31 days; got %s to %s", s.from.Format(time.RFC3339), s.to.Format(time.RFC3339))
	}
	return s, nil
}

// slots is one pipeline's part: what its schedule expects, and the runs there are.
func (a *API) slots(ctx context.Context, e *catalog.Entry, s stretch) (Schedule, error) {
	zone := e.Schedule.Zone()
	q := store.RunQuery{Pipeline: e.ID, From: period.At(s.from, max(e.Schedule.Size(), period.Day), zone), To: period.At(s.to, period.Minute, zone), Limit: maxSlots}
	page, err := a.store.Runs(ctx, q)
	if err != nil {
		return Schedule{}, fmt.Errorf("read runs of %s: %w", e.ID, err)
	}
	due, err := a.promises(ctx, e, s)
	if err != nil {
		return Schedule{}, err
	}
	out := Schedule{Pipeline: string(e.ID), Slots: []Slot{}, Truncated: page.Next != ""}
	seen := map[run.Key]bool{}
	for _, r := range page.Items {
		if s.shows(e, r) {
			seen[r.Key] = true
			out.Slots = append(out.Slots, slotOfRun(e, r, due))
		}
	}
	expected := out.expect(e, s, seen)
	unread, err := a.unread(ctx, e, expected, reach(q, page))
	if err != nil {
		return Schedule{}, err
	}
	for _, slot := range expected {
		if r, there := unread[e.Key(slot.Period)]; there {
			out.Slots = append(out.Slots, slotOfRun(e, r, due))
			continue
		}
		out.Slots = append(out.Slots, slotWithout(e, slot, s.now, due))
	}
	slices.SortStableFunc(out.Slots, func(a, b Slot) int { return a.StartsAt.Compare(b.StartsAt) })
	return out, nil
}

// shows says whether a run is to be seen in s: it begins there, or its period goes on there.
func (s stretch) shows(e *catalog.Entry, r run.Run) bool {
	zone := e.Schedule.Zone()
	start := r.Period.Start(zone)
	if fire := e.Schedule.FireFor(r.Period); !fire.IsZero() && r.Schedule == e.Opens {
		start = fire
	}
	return start.Before(s.to) && (!start.Before(s.from) || r.Period.End(zone).After(s.from))
}

// expect lists the periods that are expected and not seen, as many as there is room for.
func (out *Schedule) expect(e *catalog.Entry, s stretch, seen map[run.Key]bool) []schedule.Slot {
	if e.Opens == pipeline.ByHand || e.DryRun {
		return nil
	}
	from := s.from
	if e.Horizon.After(from) {
		from = e.Horizon
	}
	var expected []schedule.Slot
	for slot := range e.Schedule.Slots(from) {
		if !slot.Begins(e.Schedule.Zone()).Before(s.to) {
			break
		}
		if seen[e.Key(slot.Period)] {
			continue
		}
		if len(out.Slots)+len(expected) >= maxSlots {
			out.Truncated = true
			break
		}
		expected = append(expected, slot)
	}
	return expected
}

// reach is how far back a page of q goes: it has all runs of later periods.
func reach(q store.RunQuery, page store.Page[run.Run]) period.Period {
	if page.Next != "" {
		return page.Items[len(page.Items)-1].Period
	}
	return q.From
}

// unread reads the runs of slots whose periods lie further back than what was read: with an offset they fire long after they
// are over.
func (a *API) unread(ctx context.Context, e *catalog.Entry, slots []schedule.Slot, reach period.Period) (map[run.Key]run.Run, error) {
	var keys []run.Key
	for _, slot := range slots {
		if slot.Period.Compare(reach) <= 0 {
			keys = append(keys, e.Key(slot.Period))
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	runs, err := a.store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read runs of %s: %w", e.ID, err)
	}
	return runs, nil
}

// lastCall is from when on a period without a run is missing: its fire or, where a sensor or an upstream opens it, its end;
// not before its deadline, up to which what opens it may still come.
func lastCall(e *catalog.Entry, slot schedule.Slot, v Slot) time.Time {
	if !slot.FireAt.IsZero() {
		return slot.FireAt
	}
	end := slot.Period.End(e.Schedule.Zone())
	if v.BreachAt != nil && v.BreachAt.After(end) {
		return *v.BreachAt
	}
	return end
}

// bareSlot is what the schedule alone says of a period.
func bareSlot(e *catalog.Entry, p period.Period) Slot {
	fire := e.Schedule.FireFor(p)
	due := e.SLA.For(p, fire, e.Schedule)
	return Slot{
		Date: p.String(), Schedule: string(e.Opens), StartsAt: p.Start(e.Schedule.Zone()).UTC(), FireAt: instant(fire),
		WarnAt: instant(due.Warn), BreachAt: instant(due.Breach),
	}
}

// slotWithout is a period that is expected and has no run.
func slotWithout(e *catalog.Entry, slot schedule.Slot, now time.Time, due promises) Slot {
	v := bareSlot(e, slot.Period)
	v.Excluded, v.State, v.Deadline = text(slot.Excluded), "upcoming", text(due[e.Key(slot.Period)])
	switch {
	case slot.Excluded != "":
		v.State = "excluded"
	case lastCall(e, slot, v).Before(now):
		v.State = "missing"
	}
	return v
}

func slotOfRun(e *catalog.Entry, r run.Run, due promises) Slot {
	v := bareSlot(e, r.Period)
	v.Schedule, v.State, v.Status, v.Attempt = string(r.Schedule), "run", text(r.Status), &r.Attempt
	v.OpenedAt, v.StartedAt, v.EndedAt = instant(r.OpenedAt), instant(r.Progress.StartedAt), instant(r.EndedAt)
	v.Deadline = text(due[r.Key])
	return v
}
