package source

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Activity summarises the events received from a source so far.
type Activity struct {
	FirstEvent time.Time `json:"firstEvent,omitzero"`
	LastEvent  time.Time `json:"lastEvent,omitzero"` // last event that matched
	Matched    int64     `json:"matched"`            // matching events
	Written    int64     `json:"written"`            // readings written
	Repeated   int64     `json:"repeated"`           // readings skipped because the event had been received before
	Problems   int64     `json:"problems"`
	Problem    string    `json:"problem,omitempty"` // the last problem
	ProblemAt  time.Time `json:"problemAt,omitzero"`
	Recent     []Taken   `json:"recent,omitempty"` // newest first
	// Gaps are the longest intervals without an event, by the day on which they ended, for the last
	// days with events, oldest first.
	Gaps []Gap `json:"gaps,omitempty"`
	// Quiet is when missing events were reported; zero while none are missing.
	Quiet time.Time `json:"quiet,omitzero"`
	// Confirmation is the last subscription that SNS asked to confirm; nil if there was none.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
	// Topics is when the last event came from each topic of SNS, since the activity was stored.
	Topics map[string]time.Time `json:"-"`
}

// confirmable is how long SNS accepts the link of a confirmation.
const confirmable = 3 * 24 * time.Hour

// Unconfirmed returns the subscription that SNS asks to confirm: it does so until an event comes
// from its topic, for three days. It is nil if there is none.
func (a Activity) Unconfirmed(now time.Time) *Confirmation {
	if a.Confirmation != nil && now.Sub(a.Confirmation.At) < confirmable {
		return a.Confirmation
	}
	return nil
}

// Taken is an event that matched.
type Taken struct {
	At       time.Time `json:"at" doc:"When the event was received."`
	Event    string    `json:"event" doc:"The event's identifying attributes, without its data."`
	Written  int       `json:"written" doc:"Number of readings written."`
	Repeated int       `json:"repeated" doc:"Number of readings not written because the same event wrote them before."`
	Problems []string  `json:"problems" doc:"Why readings or fields are missing."`
	Topic    string    `json:"-"` // of SNS that it came from; "" if from none
}

// Gap is the longest interval without an event that ended on a day.
type Gap struct {
	Day    string        `json:"day"` // in UTC
	Length time.Duration `json:"length"`
}

const (
	maxRecent = 5
	maxGaps   = 14
	// minGaps is how many days with events are needed before the usual interval is known.
	minGaps = 3
	// minSlack is the minimum time beyond the longest known gap before silence is reported.
	minSlack = 15 * time.Minute
)

// Add adds an event.
func (a *Activity) Add(t Taken) {
	one := Activity{
		FirstEvent: t.At, LastEvent: t.At, Matched: 1, Written: int64(t.Written), Repeated: int64(t.Repeated),
		Problems: int64(len(t.Problems)), Recent: []Taken{t},
	}
	if n := len(t.Problems); n > 0 {
		one.Problem, one.ProblemAt = t.Problems[n-1], t.At
	}
	if t.Topic != "" {
		one.Topics = map[string]time.Time{t.Topic: t.At}
	}
	a.Join(one)
}

// Join adds the activity that followed a.
func (a *Activity) Join(later Activity) {
	if later.Matched == 0 {
		return
	}
	recent := slices.Concat(later.Recent, a.Recent)
	if a.FirstEvent.IsZero() {
		a.FirstEvent = later.FirstEvent
	}
	if !a.LastEvent.IsZero() && later.FirstEvent.After(a.LastEvent) {
		a.addGap(Gap{later.FirstEvent.UTC().Format(time.DateOnly), later.FirstEvent.Sub(a.LastEvent)})
	}
	for _, g := range later.Gaps {
		a.addGap(g)
	}
	if later.LastEvent.After(a.LastEvent) {
		a.LastEvent = later.LastEvent
	}
	a.Matched += later.Matched
	a.Written += later.Written
	a.Repeated += later.Repeated
	a.Problems += later.Problems
	if later.Problem != "" {
		a.Problem, a.ProblemAt = later.Problem, later.ProblemAt
	}
	a.Recent = recent[:min(len(recent), maxRecent)]
	a.joinTopics(later.Topics)
}

// joinTopics adds topics from which events came, and ends the confirmation of one of them.
func (a *Activity) joinTopics(later map[string]time.Time) {
	for topic, at := range later {
		if c := a.Confirmation; c != nil && c.Topic == topic && at.After(c.At) {
			a.Confirmation = nil
		}
	}
	if len(a.Topics) == 0 {
		a.Topics = maps.Clone(later)
		return
	}
	maps.Copy(a.Topics, later)
}

func (a *Activity) addGap(g Gap) {
	a.Gaps = slices.Clone(a.Gaps)
	if i := slices.IndexFunc(a.Gaps, func(old Gap) bool { return old.Day == g.Day }); i >= 0 {
		a.Gaps[i].Length = max(a.Gaps[i].Length, g.Length)
		return
	}
	a.Gaps = append(a.Gaps, g)
	a.Gaps = a.Gaps[max(0, len(a.Gaps)-maxGaps):]
}

// Usual returns the typical interval between events: the median of each day's longest gap; 0 while
// too little is known.
func (a Activity) Usual() time.Duration {
	if len(a.Gaps) < minGaps {
		return 0
	}
	lengths := a.lengths()
	return lengths[len(lengths)/2]
}

func (a Activity) lengths() []time.Duration {
	lengths := make([]time.Duration, len(a.Gaps))
	for i, g := range a.Gaps {
		lengths[i] = g.Length
	}
	slices.Sort(lengths)
	return lengths
}

// ExpectedBy returns when the next event counts as missing: when the source has been silent for
// longer than on any of the last days with events, plus a twelfth of that. It is zero while too
// little is known.
func (a Activity) ExpectedBy() time.Time {
	if len(a.Gaps) < minGaps {
		return time.Time{}
	}
	longest := slices.Max(a.lengths())
	return a.LastEvent.Add(longest + max(longest/12, minSlack))
}

// Silence describes how long there has been no event: "no event of source orders-landed for 26 h;
// usually every 24 h". It returns "" unless one is missing.
func (a Activity) Silence(id ID, now time.Time) string {
	if by := a.ExpectedBy(); by.IsZero() || !now.After(by) {
		return ""
	}
	return fmt.Sprintf("source %s has received no event for %s; it usually receives one every %s", id, Rough(now.Sub(a.LastEvent)), Rough(a.Usual()))
}

// Rough formats a duration for people: in days, hours, minutes or seconds, rounded.
func Rough(d time.Duration) string {
	for _, unit := range []struct {
		length, from time.Duration
		name         string
	}{{24 * time.Hour, 72 * time.Hour, "d"}, {time.Hour, 2 * time.Hour, "h"}, {time.Minute, 2 * time.Minute, "min"}} {
		if d >= unit.from {
			return fmt.Sprintf("%d %s", (d+unit.length/2)/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
