package api

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/trend"
)

// Compliance reports how pipelines met their deadlines.
type Compliance struct {
	At         time.Time     `json:"at"`
	Items      []Kept        `json:"items" doc:"One per pipeline with deadlines, by id."`
	Owners     []OwnerKept   `json:"owners" doc:"The same figures by owner, over all pages."`
	Total      []KeptWindow  `json:"total" doc:"The same figures over all pipelines."`
	Lateness   []LatenessBin `json:"lateness" doc:"Histogram of completion times relative to the deadline, over all pages; earliest first, runs that never completed last."`
	NextCursor *string       `json:"nextCursor" doc:"The cursor of the next page; null on the last page."`
}

// Kept reports how one pipeline met its deadlines.
type Kept struct {
	Pipeline string       `json:"pipeline"`
	Owner    string       `json:"owner"`
	Windows  []KeptWindow `json:"windows" doc:"Figures for the last 7, 30 and 90 days."`
}

// OwnerKept reports how the pipelines of one owner met their deadlines.
type OwnerKept struct {
	Owner     string       `json:"owner"`
	Pipelines int          `json:"pipelines" doc:"Number of pipelines with deadlines."`
	Windows   []KeptWindow `json:"windows" doc:"Figures for the last 7, 30 and 90 days."`
}

// KeptWindow counts the settled deadlines of the last days, today included, by their UTC day.
type KeptWindow struct {
	Days               int      `json:"days"`
	Met                int      `json:"met" doc:"Deadlines met."`
	Warned             int      `json:"warned" doc:"Deadlines met after the warning."`
	Breached           int      `json:"breached"`
	Cancelled          int      `json:"cancelled" doc:"Cancelled deadlines, which count as neither met nor breached."`
	MetPercent         *float64 `json:"metPercent" doc:"Share of met among met and breached; null if there are none."`
	LongestLateSeconds int64    `json:"longestLateSeconds" doc:"The longest delay among runs that completed late."`
}

// LatenessBin counts the completions within a range of lateness.
type LatenessBin struct {
	FromSeconds *int64 `json:"fromSeconds" doc:"Lower bound, exclusive; negative is before the deadline, null is no bound."`
	ToSeconds   *int64 `json:"toSeconds" doc:"Upper bound, inclusive; null is no bound."`
	Never       bool   `json:"never" doc:"Whether this bucket counts runs that have never completed."`
	Counts      []int  `json:"counts" doc:"Figures for the last 7, 30 and 90 days."`
}

type complianceInput struct {
	Paging
	Pipeline string `query:"pipeline" doc:"Only this pipeline."`
	Owner    string `query:"owner" doc:"Only pipelines of this owner."`
}

func (a *API) trendRoutes(h huma.API) {
	register(h, get("/compliance", "compliance", "Trends", "Get SLA compliance over 7, 30 and 90 days, by pipeline and by owner"), a.compliance)
	register(h, get("/trends", "list-trends", "Trends", "Get each pipeline's job durations and attempts, compared with the days before"), a.listTrends)
	register(h, get("/pipelines/{id}/trends", "get-trends", "Trends", "Get a pipeline's durations, sensor arrivals, attempts and drift by day"), a.getTrends)
	register(h, get("/pipelines/{id}/months", "get-months", "Trends", "Get a pipeline's deadlines, durations and attempts by month, as far back as the archive goes"), a.getMonths)
}

func (a *API) compliance(ctx context.Context, in *complianceInput) (*output[Compliance], error) {
	who := whoOf(ctx)
	only, p := parseID(who, in.Pipeline)
	if p != nil {
		return nil, p
	}
	after, err := a.afterID("compliance", in.Cursor)
	if err != nil {
		return nil, err
	}
	now := a.now()
	kept, err := a.ledger.Compliance(ctx, now)
	if err != nil {
		return nil, err
	}
	out, sum := Compliance{At: now.UTC(), Items: []Kept{}}, sums{owners: map[string]*ownerTally{}}
	for _, id := range sortedIDs(kept) {
		owner := a.ownerOf(id)
		if only != "" && id != only || in.Owner != "" && owner != in.Owner || !who.sees(id) {
			continue
		}
		sum.add(owner, kept[id])
		switch {
		case id <= after:
		case len(out.Items) == in.Limit:
			out.NextCursor = a.cursors.next("compliance", out.Items[in.Limit-1].Pipeline)
		default:
			out.Items = append(out.Items, Kept{Pipeline: string(id), Owner: owner, Windows: keptWindows(kept[id])})
		}
	}
	out.Owners, out.Total, out.Lateness = sum.byOwner(), keptWindows(sum.total), latenessBins(sum.total)
	return answer(out), nil
}

// sums adds up the counts of several pipelines.
type sums struct {
	total  trend.Kept
	owners map[string]*ownerTally
}

type ownerTally struct {
	pipelines int
	kept      trend.Kept
}

func (s *sums) add(owner string, k trend.Kept) {
	s.total.Add(k)
	o := s.owners[owner]
	if o == nil {
		o = &ownerTally{}
		s.owners[owner] = o
	}
	o.pipelines++
	o.kept.Add(k)
}

func (s *sums) byOwner() []OwnerKept {
	out := []OwnerKept{}
	for name, o := range s.owners {
		out = append(out, OwnerKept{Owner: name, Pipelines: o.pipelines, Windows: keptWindows(o.kept)})
	}
	slices.SortFunc(out, func(a, b OwnerKept) int { return strings.Compare(a.Owner, b.Owner) })
	return out
}

// ownerOf returns a pipeline's owner; "" if the pipeline is not active.
func (a *API) ownerOf(id pipeline.ID) string {
	if e := a.catalog.Current().Get(id); e != nil {
		return e.Owner
	}
	return ""
}

func sortedIDs[V any](m map[pipeline.ID]V) []pipeline.ID {
	return slices.Sorted(maps.Keys(m))
}

// afterID returns the last id of the page before the cursor; "" without a cursor.
func (a *API) afterID(list, cursor string) (pipeline.ID, error) {
	after, err := a.cursors.open(list, cursor)
	return pipeline.ID(after), err
}

func keptWindows(k trend.Kept) []KeptWindow {
	out := make([]KeptWindow, len(k))
	for i, t := range k {
		out[i] = KeptWindow{
			Days: trend.Windows[i], Met: t.Met, Warned: t.Warned, Breached: t.Breached, Cancelled: t.Cancelled,
			MetPercent: percent(t.Met, t.Met+t.Breached), LongestLateSeconds: int64(t.Longest / time.Second),
		}
	}
	return out
}

// percent returns n as a percentage of of, rounded down so that 100 means all; nil if of is 0.
func percent(n, of int) *float64 {
	if of <= 0 {
		return nil
	}
	return new(math.Floor(10000*float64(n)/float64(of)) / 100)
}

func latenessBins(k trend.Kept) []LatenessBin {
	bins := make([]LatenessBin, len(trend.Bins)+2)
	for i := range bins {
		b := &bins[i]
		b.Never = i == len(bins)-1
		if i > 0 && !b.Never {
			b.FromSeconds = seconds(trend.Bins[i-1])
		}
		if i < len(trend.Bins) {
			b.ToSeconds = seconds(trend.Bins[i])
		}
		for _, t := range k {
			b.Counts = append(b.Counts, t.Late[i])
		}
	}
	return bins
}

func seconds(d time.Duration) *int64 { return new(int64(d / time.Second)) }
