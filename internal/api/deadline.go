package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/attention"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/trend"
)

func deadlineView(d store.Deadline) client.Deadline {
	return client.Deadline{
		Pipeline: string(d.Key.Pipeline), Schedule: string(d.Key.Schedule), Date: d.Key.Period.String(), Kind: string(d.Kind), State: string(d.State),
		WarnAt: instant(d.WarnAt), BreachAt: d.BreachAt.UTC(), Warned: d.Warned, Critical: d.Critical, ArmedAt: d.ArmedAt.UTC(),
		ClosedAt: instant(d.ClosedAt), DoneAt: instant(d.DoneAt), Reason: text(d.Reason),
	}
}

type deadlinesInput struct {
	Paging
	Pipeline string `query:"pipeline" doc:"Only deadlines of this pipeline."`
	State    string `query:"state" default:"ARMED" doc:"ARMED, MET, BREACHED, CANCELLED, or all."`
	From     string `query:"from" doc:"Only deadlines that breach at or after this time: RFC 3339, a period, or a duration ago such as 2h."`
	To       string `query:"to" doc:"Only deadlines that breach before this time, in the same formats."`
}

func (a *API) listDeadlines(ctx context.Context, in *deadlinesInput) (*output[List[client.Deadline]], error) {
	who := whoOf(ctx)
	id, p1 := parseID(who, in.Pipeline)
	state, p2 := parseState(in.State)
	from, p3 := parseInstant("query.from", in.From, a.now())
	to, p4 := parseInstant("query.to", in.To, a.now())
	if p := cmp.Or(p1, p2, p3, p4); p != nil {
		return nil, p
	}
	page, err := a.store.Deadlines(ctx, store.DeadlineQuery{Pipeline: id, State: state, From: from, To: to, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, fmt.Errorf("read deadlines: %w", err)
	}
	return answer(list(page, func(d store.Deadline) bool { return who.sees(d.Key.Pipeline) }, deadlineView)), nil
}

// parseState parses the state of a deadline; "all" is any state.
func parseState(sent string) (string, *Problem) {
	state := strings.ToUpper(sent)
	switch sla.State(state) {
	case sla.Armed, sla.Met, sla.Breached, sla.Cancelled:
		return state, nil
	}
	if state == "ALL" {
		return "", nil
	}
	known := []string{string(sla.Armed), string(sla.Met), string(sla.Breached), string(sla.Cancelled), "all"}
	return "", badRequest("state %.40q is unknown%s", sent, document.Choice(sent, known)).at("query.state", "unknown")
}

// BoardItem is a deadline that is overdue or near.
type BoardItem struct {
	State      string     `json:"state" enum:"overdue,at-risk,on-track" doc:"overdue: the deadline has passed and the run has not completed. at-risk: the warning was sent, the run failed or is held, or the run's p90 duration ends after the deadline."`
	Pipeline   string     `json:"pipeline"`
	Schedule   string     `json:"schedule"`
	Date       string     `json:"date"`
	Owner      string     `json:"owner"`
	Kind       string     `json:"kind" enum:"absolute,relative" doc:"relative: the deadline counts from the first reading of the start condition."`
	Critical   bool       `json:"critical"`
	Warned     bool       `json:"warned"`
	WarnAt     *time.Time `json:"warnAt"`
	BreachAt   time.Time  `json:"breachAt"`
	Phase      *string    `json:"phase" doc:"The run's phase; null if no run has opened."`
	ExpectedAt *time.Time `json:"expectedAt" doc:"Estimated completion by the p90 duration; null if the run is overdue, does not continue automatically, or has no history."`
}

// Board lists the deadlines that are overdue or near.
type Board struct {
	At    time.Time   `json:"at"`
	Items []BoardItem `json:"items" doc:"Overdue deadlines first, then by time."`
	More  bool        `json:"more" doc:"Whether more deadlines are armed than listed."`
}

// A board looks boardAhead into the future, and estimates durations from the last boardDays. It
// caches the p90 of a pipeline for boardFresh.
const (
	boardAhead = 48 * time.Hour
	boardDays  = 30
	boardFresh = 5 * time.Minute
)

func (a *API) deadlineBoard(ctx context.Context, in *struct {
	Pipeline string `query:"pipeline" doc:"Only deadlines of this pipeline."`
},
) (*output[Board], error) {
	now, who := a.now(), whoOf(ctx)
	only, err := a.onlyPipeline(ctx, in.Pipeline)
	if err != nil {
		return nil, err
	}
	out := Board{At: now.UTC(), Items: []BoardItem{}}
	late, err := attention.LateRuns(ctx, attention.Sources{Store: a.store.records, Catalog: a.catalog}, only, now)
	if err != nil {
		return nil, err
	}
	for _, d := range late {
		if who.sees(d.Key.Pipeline) {
			out.Items = append(out.Items, a.boardItem("overdue", d.Deadline, d.Run, now))
		}
	}
	sortByBreach(out.Items)
	page, err := a.store.records.Deadlines(ctx, store.DeadlineQuery{Pipeline: only, State: string(sla.Armed), From: now, To: now.Add(boardAhead), Limit: store.MaxPage})
	if err != nil {
		return nil, fmt.Errorf("read deadlines: %w", err)
	}
	out.More = page.Next != ""
	ahead, err := a.ahead(ctx, page.Items, now)
	out.Items = append(out.Items, ahead...)
	return answer(out), err
}

func (a *API) boardItem(state string, d store.Deadline, r run.Run, now time.Time) BoardItem {
	id := d.Key.Pipeline
	v := BoardItem{
		State: state, Pipeline: string(id), Schedule: string(d.Key.Schedule), Date: d.Key.Period.String(), Owner: a.ownerOf(id),
		Kind: string(d.Kind), Critical: d.Critical, Warned: d.Warned, WarnAt: instant(d.WarnAt), BreachAt: d.BreachAt.UTC(),
	}
	if r.Status != "" {
		v.Phase = text(r.Phase(now))
	}
	return v
}

// ahead lists future deadlines, soonest first.
func (a *API) ahead(ctx context.Context, due []store.Deadline, now time.Time) ([]BoardItem, error) {
	who := whoOf(ctx)
	var keys []run.Key
	for _, d := range due {
		keys = append(keys, d.Key)
	}
	runs, err := a.store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	var out []BoardItem
	for _, d := range due {
		if !who.sees(d.Key.Pipeline) {
			continue
		}
		r := runs[d.Key]
		v := a.boardItem("on-track", d, r, now)
		expected, err := a.expectedEnd(ctx, d.Key, r, now)
		if err != nil {
			return nil, err
		}
		v.ExpectedAt = instant(expected)
		if d.Warned && r.SucceededAt().IsZero() || stuck(r, now) || expected.After(d.BreachAt) {
			v.State = "at-risk"
		}
		out = append(out, v)
	}
	sortByBreach(out)
	return out, nil
}

func sortByBreach(items []BoardItem) {
	slices.SortStableFunc(items, func(a, b BoardItem) int { return a.BreachAt.Compare(b.BreachAt) })
}

// stuck reports whether a run cannot continue automatically: it ended without completing, or its
// start is held.
func stuck(r run.Run, now time.Time) bool {
	return r.Status.Ended() && r.Status != run.Completed || r.Status.Open() && r.Phase(now) == run.StartHeld
}

// expectedEnd returns when a run completes if its job takes its p90: counted from its start, or
// from the earliest possible start. It is zero if the run is stuck, or there are no completed runs
// to estimate from.
func (a *API) expectedEnd(ctx context.Context, key run.Key, r run.Run, now time.Time) (time.Time, error) {
	if done := r.SucceededAt(); !done.IsZero() {
		return done, nil
	}
	e := a.catalog.Current().Get(key.Pipeline)
	if e == nil || stuck(r, now) {
		return time.Time{}, nil
	}
	p90, err := a.p90s.of(ctx, a.store.records, e, now)
	if err != nil || p90 == 0 {
		return time.Time{}, err
	}
	begins := now
	switch fire := e.Schedule.FireFor(key.Period); {
	case r.Status == "" && fire.After(now):
		begins = fire
	case r.Status == run.Running:
		begins = r.Progress.StartedAt
	case r.Status == run.Pending && r.Progress.WindowStart.After(now):
		begins = r.Progress.WindowStart
	}
	return period.Later(begins.Add(p90), now), nil
}

// p90s caches the p90 job duration of each pipeline: boards are requested often, and each p90 needs
// weeks of runs.
type p90s struct {
	mu   sync.Mutex
	kept map[pipeline.ID]keptP90
}

type keptP90 struct {
	took time.Duration
	at   time.Time
}

func (p *p90s) of(ctx context.Context, s records, e *catalog.Entry, now time.Time) (time.Duration, error) {
	p.mu.Lock()
	kept, known := p.kept[e.ID]
	p.mu.Unlock()
	if known && now.Sub(kept.at) < boardFresh {
		return kept.took, nil
	}
	sum, err := trend.Of(ctx, s, e, boardDays, now)
	if err != nil {
		return 0, err
	}
	if sum.Took.P90 > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.kept[e.ID] = keptP90{sum.Took.P90, now}
	}
	return sum.Took.P90, nil
}
