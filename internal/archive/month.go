package archive

import (
	"context"
	"strconv"
)

// Month summarises one month of a pipeline, from the archive's views.
type Month struct {
	Month string // 2026-03

	Runs, Attempts, JobsStarted, JobsFailed, Reruns int

	Met, Breached int      // counts of runs that had a deadline
	MetPercent    *float64 // nil if no run had one

	Jobs                        int // successful jobs; the percentiles are their durations in seconds
	P50, P90, P95, P99, Longest float64
}

// atOnce is how many queries run at the same time; others wait.
const atOnce = 2

// Months queries the monthly summaries of an archive.
type Months struct {
	dsn   string
	asked chan struct{}
}

// NewMonths returns Months for the archive at dsn.
func NewMonths(dsn string) *Months { return &Months{dsn: dsn, asked: make(chan struct{}, atOnce)} }

// months joins the views. A month may have deadlines but no runs, or runs without deadlines.
const months = `
SELECT month, coalesce(a.runs, 0), coalesce(a.attempts, 0), coalesce(a.started, 0), coalesce(a.failed, 0), coalesce(a.reruns, 0),
	coalesce(s.met, 0), coalesce(s.breached, 0), s.met_percent::double precision,
	coalesce(d.jobs, 0), coalesce(d.p50, 0), coalesce(d.p90, 0), coalesce(d.p95, 0), coalesce(d.p99, 0), coalesce(d.longest, 0)
FROM (
	SELECT month_of(period) AS month, count(*) AS runs, sum(attempts)::bigint AS attempts,
		sum(jobs_started)::bigint AS started, sum(jobs_failed)::bigint AS failed, sum(reruns_accepted)::bigint AS reruns
	FROM attempts_per_period WHERE pipeline = $1 GROUP BY month_of(period)
) AS a
FULL JOIN (SELECT * FROM sla_compliance WHERE pipeline = $1) AS s USING (month)
FULL JOIN (SELECT * FROM duration_percentiles WHERE pipeline = $1) AS d USING (month)
WHERE month <> ''
ORDER BY month DESC LIMIT $2`

// Of returns the latest months of a pipeline that have data in the archive, newest first, at most
// limit.
func (m *Months) Of(ctx context.Context, pipeline string, limit int) ([]Month, error) {
	select {
	case m.asked <- struct{}{}:
		defer func() { <-m.asked }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := connect(ctx, m.dsn)
	if err != nil {
		return nil, err
	}
	defer s.close()
	there, err := s.begun(ctx)
	if err != nil || !there {
		return nil, err
	}
	said, err := s.ask(ctx, months, pipeline, strconv.Itoa(limit))
	var all []Month
	for _, row := range said {
		all = append(all, monthOf(row))
	}
	return all, fault(ctx, "ask about months", err)
}

// monthOf converts a row of the months query.
func monthOf(row answer) Month {
	one := Month{Month: row.text(0)}
	counts := map[int]*int{
		1: &one.Runs, 2: &one.Attempts, 3: &one.JobsStarted, 4: &one.JobsFailed, 5: &one.Reruns, 6: &one.Met, 7: &one.Breached, 9: &one.Jobs,
	}
	for i, into := range counts {
		*into = int(row.number(i))
	}
	for i, into := range []*float64{&one.P50, &one.P90, &one.P95, &one.P99, &one.Longest} {
		*into = row.fraction(10 + i)
	}
	if row[8] != nil {
		percent := row.fraction(8)
		one.MetPercent = &percent
	}
	return one
}
