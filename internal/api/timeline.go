package api

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/timeline"
)

// Timeline lists the runs expected between two instants, and what became of each.
type Timeline struct {
	From       time.Time         `json:"from"`
	To         time.Time         `json:"to"`
	At         time.Time         `json:"at" doc:"The server's time."`
	Axis       string            `json:"axis" enum:"period,execution"`
	Items      []client.Schedule `json:"items" doc:"One per pipeline, by id."`
	NextCursor *string           `json:"nextCursor" doc:"The cursor of the next page; null on the last page."`
}

type timelineInput struct {
	From     string `query:"from" doc:"Start of the range: RFC 3339, a period, or a duration ago such as 2h. Default: 24h ago."`
	To       string `query:"to" doc:"End of the range, in the same formats. Default: 24h from now."`
	Axis     string `query:"axis" enum:"period,execution" default:"period" doc:"Where a period is placed: period places it at the time of its data, execution at the time it ran."`
	Bucket   string `query:"bucket" doc:"Count the periods of each pipeline in buckets of this width, such as 1h. Default: use buckets only if there are too many periods to list."`
	Pipeline string `query:"pipeline" doc:"Only this pipeline."`
	Limit    int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"Maximum number of pipelines."`
	Cursor   string `query:"cursor" doc:"The nextCursor of the previous page."`
}

// maxPageRuns is the number of runs after which a page of a timeline or of trends ends.
const maxPageRuns = 50_000

func (a *API) timeline(ctx context.Context, in *timelineInput) (*output[Timeline], error) {
	q, p := a.stretch(in)
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
	now := a.now()
	reader, err := timeline.New(ctx, timeline.Sources{Store: a.store.records, Catalog: a.catalog}, q, now)
	if err != nil {
		return nil, err
	}
	page, read := List[client.Schedule]{Items: []client.Schedule{}}, 0
	for _, e := range a.catalog.Current().All() {
		if e.ID <= after || only != "" && e.ID != only || !who.sees(e.ID) {
			continue
		}
		if page.full(in.Limit) || read >= maxPageRuns {
			page.NextCursor = a.cursors.next("timeline", page.last().Pipeline)
			break
		}
		lane, err := reader.Lane(ctx, e)
		if err != nil {
			return nil, err
		}
		read += lane.Read
		page.add(laneView(lane))
	}
	return answer(Timeline{From: q.From, To: q.To, At: now.UTC(), Axis: string(q.Axis), Items: page.Items, NextCursor: page.NextCursor}), nil
}

// stretch parses the requested time range; the default is one day back to one day ahead.
func (a *API) stretch(in *timelineInput) (timeline.Query, *Problem) {
	const day = 24 * time.Hour
	now := a.now().UTC()
	q := timeline.Query{From: now.Add(-day), To: now.Add(day), Axis: timeline.Axis(in.Axis)}
	if in.From != "" {
		from, p := parseInstant("query.from", in.From, now)
		if p != nil {
			return q, p
		}
		q.From, q.To = from, from.Add(2*day)
	}
	if in.To != "" {
		to, p := parseInstant("query.to", in.To, now)
		if p != nil {
			return q, p
		}
		q.To = to
	}
	if !q.To.After(q.From) || q.To.Sub(q.From) > timeline.MaxSpan {
		return q, badRequest("from must be before to, and at most %d days; got %s to %s",
			timeline.MaxSpan/day, period.Stamp(q.From), period.Stamp(q.To)).at("query.from", "not before query.to, or too long a range")
	}
	if in.Bucket != "" {
		width, p := parseWidth(in.Bucket)
		if p != nil {
			return q, p
		}
		q.Width = width
	}
	return q, nil
}

func laneView(l timeline.Lane) client.Schedule {
	v := client.Schedule{
		Pipeline: string(l.Pipeline), Slots: views(l.Slots, slotView), Buckets: views(l.Buckets, bucketView), Counts: countsView(l.Counts),
	}
	if l.Width > 0 {
		v.BucketSeconds = seconds(l.Width)
	}
	return v
}

func countsView(counts map[timeline.Phase]int) map[string]int {
	out := make(map[string]int, len(counts))
	for phase, n := range counts {
		out[string(phase)] = n
	}
	return out
}

func bucketView(b timeline.Bucket) client.Bucket {
	return client.Bucket{
		From: b.From.UTC(), To: b.To.UTC(), Worst: string(b.Worst), Counts: countsView(b.Counts), Total: b.Total, Bypassed: b.Bypassed, Breached: b.Breached,
		Schedule: b.Schedule, First: b.First.String(), Last: b.Last.String(),
	}
}

func slotView(s timeline.Slot) client.Slot {
	v := client.Slot{
		Date: s.Key.Period.String(), Schedule: string(s.Key.Schedule), State: "upcoming", Phase: string(s.Phase),
		StartsAt: s.Start.UTC(), EndsAt: s.End.UTC(), FireAt: instant(s.FireAt), Excluded: text(s.Excluded),
		RetryAt: instant(s.RetryAt), WarnAt: instant(s.Warn), BreachAt: instant(s.Breach), Deadline: text(s.Deadline),
		DryRun: s.DryRun, Cause: maybeReason(s.Cause), Outside: s.Outside, Degraded: startedWithout(s.Run),
	}
	switch {
	case s.Run.Status != "":
		r := s.Run
		v.State, v.Attempt, v.GateBypassed = "run", &r.Attempt, r.Progress.Opening.GateBypassed
		v.OpenedAt, v.StartedAt, v.EndedAt = instant(r.OpenedAt), instant(r.Progress.StartedAt), instant(r.EndedAt)
		if !s.DryRun {
			v.Status = new(client.Status(r.Status))
		}
	case s.Phase == timeline.Excluded:
		v.State = "excluded"
	case s.Phase == timeline.Missing:
		v.State = "missing"
	}
	return v
}
