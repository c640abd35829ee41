package trend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Arrivals are the first writes of a sensor for each period, oldest period first.
type Arrivals struct {
	Pipeline  pipeline.ID
	Key       sensor.Key
	Arrived   []Arrival
	Truncated bool // there were more writes than are read
}

// Arrival is the first write for a period.
type Arrival struct {
	Period period.Period
	At     time.Time
	After  time.Duration // since the period's first instant
}

// The limits of what is read for one response.
const (
	maxSensors = 12
	maxWrites  = 5 * store.MaxPage // of one sensor
)

// arrivals returns those of the sensors that the start condition and the gate read, in file order.
func arrivals(ctx context.Context, s reader, e *catalog.Entry, since time.Time) ([]Arrivals, error) {
	var all []Arrivals
	for _, a := range watched(e) {
		if err := a.read(ctx, s, e, since); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// watched lists the sensors that are written from outside.
func watched(e *catalog.Entry) []Arrivals {
	var all []Arrivals
	gates := []*rule.Gate{e.Gate}
	if e.Start != nil {
		gates = []*rule.Gate{e.Start.Gate, e.Gate}
	}
	for _, g := range gates {
		if g == nil {
			continue
		}
		for _, ref := range g.Refs() {
			a := Arrivals{Pipeline: cmp.Or(pipeline.ID(ref.From), e.ID), Key: ref.Key}
			known := slices.ContainsFunc(all, func(o Arrivals) bool { return o.Pipeline == a.Pipeline && o.Key == a.Key })
			if !known && !ref.Key.Engine() && len(all) < maxSensors {
				all = append(all, a)
			}
		}
	}
	return all
}

// read fills in the first writes.
func (a *Arrivals) read(ctx context.Context, s reader, e *catalog.Entry, since time.Time) error {
	first := map[period.Period]time.Time{}
	q := store.HistoryQuery{Pipeline: a.Pipeline, Key: a.Key, Limit: store.MaxPage}
	for seen := 0; ; {
		page, err := s.History(ctx, q)
		if err != nil {
			return fmt.Errorf("read history of %s of %s: %w", a.Key, a.Pipeline, err)
		}
		for _, r := range page.Items {
			if !r.Deleted {
				first[e.PeriodOf(r)] = r.UpdatedAt // newest first, so the last assignment is the earliest write
			}
		}
		seen += len(page.Items)
		q.Cursor = page.Next
		if q.Cursor == "" || page.Items[len(page.Items)-1].UpdatedAt.Before(since) {
			break
		}
		if a.Truncated = seen >= maxWrites; a.Truncated {
			break
		}
	}
	for p, at := range first {
		if start := p.Start(e.Schedule.Zone()); !start.Before(since) {
			a.Arrived = append(a.Arrived, Arrival{Period: p, At: at, After: at.Sub(start)})
		}
	}
	slices.SortFunc(a.Arrived, func(x, y Arrival) int { return x.Period.Compare(y.Period) })
	return nil
}
