package api

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// promises is how the deadlines of runs stand, as a timeline shows it: the worse of two.
type promises map[run.Key]string

// warned is an armed deadline that has warned.
const warned = "WARNED"

// weight orders what a timeline shows of deadlines, the worst last.
var weight = map[string]int{string(sla.Cancelled): 1, string(sla.Met): 2, string(sla.Armed): 3, warned: 4, string(sla.Breached): 5}

func (p promises) add(d store.Deadline) {
	state := string(d.State)
	if d.State == sla.Armed && d.Warned {
		state = warned
	}
	if weight[state] > weight[p[d.Key]] {
		p[d.Key] = state
	}
}

// promises reads the deadlines of the periods in s. A deadline lies after the beginning of its period, by the length of the
// period, two days at most and those that the file adds.
func (a *API) promises(ctx context.Context, e *catalog.Entry, s stretch) (promises, error) {
	out := promises{}
	if e.SLA.Deadline == nil && e.SLA.Max == 0 {
		return out, nil
	}
	const day = 24 * time.Hour
	later := time.Duration(e.SLA.DayOffset+2)*day + e.Schedule.Size().Longest()
	q := store.DeadlineQuery{Pipeline: e.ID, From: s.from.Add(-day), To: s.to.Add(later), Limit: store.MaxPage}
	page, err := a.store.Deadlines(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read deadlines of %s: %w", e.ID, err)
	}
	for _, d := range page.Items {
		out.add(d)
	}
	return out, nil
}
