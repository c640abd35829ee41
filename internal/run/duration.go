package run

import (
	"slices"
	"time"
)

// Learned is how long the jobs of earlier runs took, as it was known when an attempt's job started.
// It is zero if too little was known, or if no poll may be left out.
type Learned struct {
	Runs int           `json:"runs"` // completed runs whose durations are known
	P10  time.Duration `json:"p10"`
}

// LearnLast is how many durations count, the latest ones.
const LearnLast = 20

// learnFrom is how many durations must be known.
const learnFrom = 5

// Learn returns how long the jobs of a pipeline took, from its runs, latest first. It is zero if fewer
// than five durations are known.
func Learn(runs []Run) Learned {
	var all []time.Duration
	for _, r := range runs {
		if took, known := r.JobDuration(); known && len(all) < LearnLast {
			all = append(all, took)
		}
	}
	if len(all) < learnFrom {
		return Learned{}
	}
	slices.Sort(all)
	return Learned{Runs: len(all), P10: Percentile(all, 0.1)}
}

// JobDuration returns how long the job of a completed run's last attempt took; false if there was none.
func (r Run) JobDuration() (time.Duration, bool) {
	started := r.Progress.StartedAt
	if r.Status != Completed || started.IsZero() || r.EndedAt.Before(started) {
		return 0, false
	}
	return r.EndedAt.Sub(started), true
}

// Percentile interpolates between the two nearest sorted values, like percentile_cont in SQL.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	at := p * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + time.Duration((at-float64(low))*float64(sorted[high]-sorted[low]))
}
