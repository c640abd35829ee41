package timeline

import (
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
)

// Bucket counts the periods that begin in one part of the time range.
type Bucket struct {
	From, To    time.Time
	Worst       Phase
	Counts      map[Phase]int
	Total       int
	Bypassed    int           // runs whose gate an operator bypassed
	Breached    int           // periods whose deadline was breached
	First, Last period.Period // first and last period in it
	Schedule    string        // schedule of First
}

// When a lane shows buckets instead of single periods.
const (
	maxSlots   = 200                 // more periods than this
	maxBuckets = 128                 // of the width that is chosen if the query sets none
	longSpan   = 31 * 24 * time.Hour // longer ranges always use buckets for daily and shorter periods
)

// widths are the bucket widths to choose from if the query sets none.
var widths = []time.Duration{
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// widthFor returns the bucket width for a range of that length.
func widthFor(span time.Duration) time.Duration {
	for _, w := range widths {
		if span <= maxBuckets*w {
			return w
		}
	}
	return widths[len(widths)-1]
}

// tally adds a slot to its bucket.
func (b *builder) tally(s Slot) {
	at, _ := b.place(s)
	i := int(max(at.Sub(b.reader.From), 0) / b.width)
	bucket := b.buckets[i]
	if bucket == nil {
		from := b.reader.From.Add(time.Duration(i) * b.width)
		to := period.Earlier(from.Add(b.width), b.reader.To)
		bucket = &Bucket{From: from, To: to, Worst: s.Phase, Counts: map[Phase]int{}, First: s.Key.Period, Last: s.Key.Period, Schedule: string(s.Key.Schedule)}
		b.buckets[i] = bucket
	}
	bucket.Total++
	bucket.Counts[s.Phase]++
	if s.Phase.worse(bucket.Worst) {
		bucket.Worst = s.Phase
	}
	if s.Key.Period.Compare(bucket.First) < 0 {
		bucket.First, bucket.Schedule = s.Key.Period, string(s.Key.Schedule)
	}
	if s.Key.Period.Compare(bucket.Last) > 0 {
		bucket.Last = s.Key.Period
	}
	if s.Run.Status == run.Completed && s.Run.Progress.Opening.GateBypassed {
		bucket.Bypassed++
	}
	if s.Deadline == string(sla.Breached) {
		bucket.Breached++
	}
}

// sorted lists the buckets, oldest first.
func (b *builder) sorted() []Bucket {
	out := make([]Bucket, 0, len(b.buckets))
	for _, i := range slices.Sorted(maps.Keys(b.buckets)) {
		out = append(out, *b.buckets[i])
	}
	return out
}
