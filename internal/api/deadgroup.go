package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// DeadGroup is the dead letters of one sink, of events of one type, that the sink answered in the same way.
type DeadGroup struct {
	Sink      string    `json:"sink"`
	Type      string    `json:"type" doc:"Of the events."`
	Severity  string    `json:"severity" enum:"info,warning,critical" doc:"The highest among them."`
	Reason    string    `json:"reason" doc:"What the sink answered."`
	Letters   int       `json:"letters" doc:"How many dead letters it has."`
	Alerts    int       `json:"alerts" doc:"How many events these stood for."`
	First     time.Time `json:"first" doc:"When the first was given up."`
	Last      time.Time `json:"last" doc:"When the last was given up."`
	Pipelines []string  `json:"pipelines" doc:"The pipelines that they are about, at most 20."`
	IDs       []string  `json:"ids" doc:"The ids of their events, at most 1000: what retry and discard take."`
	Latest    Event     `json:"latest" doc:"The event of the last one."`
}

// DeadGroups is all dead letters in groups.
type DeadGroups struct {
	List[DeadGroup]
	Letters int `json:"letters" doc:"How many dead letters there are on all pages."`
	Alerts  int `json:"alerts" doc:"How many events these stood for."`
}

// The most that a group lists.
const (
	maxGroupIDs       = 1000
	maxGroupPipelines = 20
)

func (a *API) groupDead(ctx context.Context, in *struct {
	Paging
	Sink string `query:"sink" doc:"Only those of this sink."`
},
) (*output[DeadGroups], error) {
	letters, err := a.store.Dead(ctx, in.Sink)
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	who := whoOf(ctx)
	letters = slices.DeleteFunc(letters, func(d store.DeadLetter) bool { return !who.hears(d.Event) })
	groups := groupLetters(letters)
	var out DeadGroups
	for _, g := range groups {
		out.Letters += g.Letters
		out.Alerts += g.Alerts
	}
	page, err := cut(a.cursors, "dead-groups", in.Paging, groups, deadPlace, everything, func(g DeadGroup) DeadGroup { return g })
	if err != nil {
		return nil, err
	}
	out.List = page.Body
	return answer(out), nil
}

// deadPlace orders groups by sink, type and answer.
func deadPlace(g DeadGroup) string { return g.Sink + "\x00" + g.Type + "\x00" + g.Reason }

// groupLetters puts dead letters, oldest first, together.
func groupLetters(letters []store.DeadLetter) []DeadGroup {
	groups := map[string]*DeadGroup{}
	for _, d := range letters {
		one := DeadGroup{Sink: d.Sink, Type: string(d.Event.Type), Reason: d.Reason, First: d.At.UTC(), Pipelines: []string{}, IDs: []string{}}
		g := groups[deadPlace(one)]
		if g == nil {
			g = &one
			groups[deadPlace(one)] = g
		}
		g.add(d)
	}
	out := make([]DeadGroup, 0, len(groups))
	for _, g := range groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b DeadGroup) int { return cmp.Compare(deadPlace(a), deadPlace(b)) })
	return out
}

var severities = []string{"info", "warning", "critical"}

func (g *DeadGroup) add(d store.DeadLetter) {
	g.Letters++
	g.Alerts += max(d.Count, 1)
	g.Last, g.Latest = d.At.UTC(), Event{event: d.Event}
	if s := string(d.Event.Detail.Severity); slices.Index(severities, s) > slices.Index(severities, g.Severity) {
		g.Severity = s
	}
	if id := string(d.Event.Detail.Pipeline); id != "" && len(g.Pipelines) < maxGroupPipelines && !slices.Contains(g.Pipelines, id) {
		g.Pipelines = append(g.Pipelines, id)
	}
	if len(g.IDs) < maxGroupIDs {
		g.IDs = append(g.IDs, d.Event.ID)
	}
}
