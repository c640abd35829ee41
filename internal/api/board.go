package api

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/attention"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/trend"
)

// BoardItem is a deadline that matters now.
type BoardItem struct {
	State      string     `json:"state" enum:"overdue,at-risk,on-track" doc:"overdue: it has passed, and the run has not completed. at-risk: by the p90 of its durations the run completes after it."`
	Pipeline   string     `json:"pipeline"`
	Schedule   string     `json:"schedule"`
	Date       string     `json:"date"`
	Owner      string     `json:"owner"`
	BreachAt   time.Time  `json:"breachAt"`
	Phase      *string    `json:"phase" doc:"Of the run; null if none has opened."`
	ExpectedAt *time.Time `json:"expectedAt" doc:"When the run completes by the p90 of its durations; null if it is overdue or has no past."`
}

// Board is the deadlines that matter now.
type Board struct {
	At    time.Time   `json:"at"`
	Items []BoardItem `json:"items" doc:"Overdue ones first, then by deadline."`
	More  bool        `json:"more" doc:"More deadlines are armed than are listed."`
}

// What a board shows: how far ahead, and the past that it expects the same of.
const (
	boardAhead = 48 * time.Hour
	boardDays  = 30
)

func (a *API) deadlineBoard(ctx context.Context, _ *struct{}) (*output[Board], error) {
	now, who := a.now(), whoOf(ctx)
	out := Board{At: now.UTC(), Items: []BoardItem{}}
	needs, err := a.needs(ctx, "", now)
	if err != nil {
		return nil, err
	}
	for _, item := range needs {
		if item.Kind == attention.Overdue && who.sees(item.Pipeline) {
			out.Items = append(out.Items, BoardItem{
				State: "overdue", Pipeline: string(item.Pipeline), Schedule: string(item.Schedule), Date: item.Period.String(), Owner: a.ownerOf(item.Pipeline),
				BreachAt: item.Since.UTC(), Phase: text(item.Reason.Param("phase")),
			})
		}
	}
	page, err := a.store.records.Deadlines(ctx, store.DeadlineQuery{State: string(sla.Armed), From: now, To: now.Add(boardAhead), Limit: store.MaxPage})
	if err != nil {
		return nil, fmt.Errorf("read deadlines: %w", err)
	}
	out.More = page.Next != ""
	var keys []run.Key
	for _, d := range page.Items {
		keys = append(keys, d.Key)
	}
	runs, err := a.store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	p90 := map[pipeline.ID]time.Duration{}
	for _, d := range page.Items {
		if !who.sees(d.Key.Pipeline) {
			continue
		}
		item, err := a.ahead(ctx, d, runs[d.Key], p90, now)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, item)
	}
	return answer(out), nil
}

// ahead is a deadline that is still to come. The p90 of each pipeline is read once.
func (a *API) ahead(ctx context.Context, d store.Deadline, r run.Run, p90 map[pipeline.ID]time.Duration, now time.Time) (BoardItem, error) {
	id := d.Key.Pipeline
	v := BoardItem{
		State: "on-track", Pipeline: string(id), Schedule: string(d.Key.Schedule), Date: d.Key.Period.String(), Owner: a.ownerOf(id), BreachAt: d.BreachAt.UTC(),
	}
	if r.Status != "" {
		v.Phase = text(r.Phase(now))
	}
	e := a.catalog.Current().Get(id)
	if e == nil {
		return v, nil
	}
	if _, known := p90[id]; !known {
		s, err := trend.Of(ctx, a.store.records, e, boardDays, now)
		if err != nil {
			return v, err
		}
		p90[id] = s.Took.P90
	}
	if p90[id] == 0 {
		return v, nil
	}
	begins := now
	if fire := e.Schedule.FireFor(d.Key.Period); r.Status == "" && fire.After(now) {
		begins = fire
	}
	if r.Status == run.Running {
		begins = r.Progress.StartedAt
	}
	expected := begins.Add(p90[id])
	if expected.Before(now) {
		expected = now
	}
	if v.ExpectedAt = instant(expected); expected.After(d.BreachAt) {
		v.State = "at-risk"
	}
	return v, nil
}
