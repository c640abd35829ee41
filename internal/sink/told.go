package sink

import "slices"

// maxTold is how many events are remembered: enough for those that a crash sends again.
const maxTold = 32

// Told are the ids of the latest events of a matter, so that a repeat is noticed.
type Told []string

// Has says whether an event was told.
func (t Told) Has(id string) bool { return slices.Contains(t, id) }

// Repeats says whether all that an alert tells was told. Of a burst whose last event settled its matter that event was, as
// soon as it happened, and the others were not.
func (t Told) Repeats(a Alert) bool { return t.Has(a.Event.ID) && (a.Count <= 1 || !Settles(a.Event)) }

// With is t after one more event.
func (t Told) With(id string) Told {
	next := append(slices.Clone(t), id)
	return next[max(0, len(next)-maxTold):]
}
