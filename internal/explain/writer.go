package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/source"
)

// probes reads the state of the probes whose answers the gate reads.
func (b *builder) probes(ctx context.Context) error {
	known := b.Catalog.Current()
	seen := map[string]bool{}
	for _, leaf := range b.x.Gate.Leaves {
		id := b.owner(leaf.SeenLeaf)
		name := prober.NoteKey(id, leaf.Key)
		p := known.Probe(id, sensor.Key(leaf.Key))
		if p == nil || seen[name] {
			continue
		}
		seen[name] = true
		s, err := prober.StateOf(ctx, b.Store, id, p.Key, known.Get(id).Version)
		if err != nil {
			return err
		}
		b.x.Probes = append(b.x.Probes, prober.Standing{Pipeline: id, Probe: *p, State: s})
	}
	return nil
}

// probed returns the probe that answers a rule; nil if none does.
func (b *builder) probed(leaf Leaf) *pipeline.Probe {
	return b.Catalog.Current().Probe(b.owner(leaf.SeenLeaf), sensor.Key(leaf.Key))
}

// asked says when a probe answers a rule again.
func asked(p *pipeline.Probe) string {
	if p.Interval > 0 {
		return fmt.Sprintf("; its probe runs every %s", document.Duration(p.Interval))
	}
	return fmt.Sprintf("; its probe runs while a run waits, and an answer is valid for %s", document.Duration(p.TTL))
}

// probing describes the state of the probes.
func (x Explanation) probing() []string {
	var lines []string
	for _, s := range x.Probes {
		name := s.Probe.Key
		if s.Pipeline != x.Key.Pipeline {
			name = string(s.Pipeline) + ":" + name
		}
		lines = append(lines, name+": "+probeLine(s, x.At))
	}
	return lines
}

// probeLine describes the state of a probe in a sentence.
func probeLine(s prober.Standing, now time.Time) string {
	var parts []string
	if state := s.State; !state.Answered.IsZero() {
		text := fmt.Sprintf("%s for %s, answered %s", state.Status, state.Period, reason.When(state.Answered, now))
		if state.Reason != "" {
			text += ": " + state.Reason
		}
		parts = append(parts, text)
	}
	if s.State.Failures > 0 {
		parts = append(parts, broken(s, now))
	}
	return cmp.Or(strings.Join(parts, "; "), "has not run yet")
}

func broken(s prober.Standing, now time.Time) string {
	state := s.State
	text := fmt.Sprintf("could not answer %s: %s", reason.When(state.Failed, now), state.Failure)
	if state.Failures > 1 {
		text = fmt.Sprintf("could not answer %d times in a row since %s, last %s: %s", state.Failures, period.Stamp(state.Since), reason.When(state.Failed, now), state.Failure)
	}
	if state.Resting(now) {
		text += "; it runs again at the earliest " + reason.When(state.Rest, now)
	}
	return text
}

// sources adds, for the rules that keep the gate closed, when the source that writes their sensor
// last had an event.
func (b *builder) sources(ctx context.Context) error {
	for _, leaf := range b.x.Gate.Closed() {
		owner := b.owner(leaf.SeenLeaf)
		for _, d := range b.Catalog.Sources().All() {
			if !d.Writes(owner, leaf.Key) {
				continue
			}
			a, err := ingest.StoredOf(ctx, b.Store, d.ID)
			if err != nil {
				return err
			}
			if r := b.sourceReason(d, a); !slices.Contains(b.x.Reasons, r.StringAt(b.now)) {
				b.why(r)
			}
		}
	}
	return nil
}

// sourceReason says when a source last had an event.
func (b *builder) sourceReason(d *source.Definition, a source.Activity) reason.Reason {
	id := reason.Str("source", d.ID)
	switch silence := a.Silence(d.ID, b.now); {
	case silence != "":
		return reason.New("source-silent", "{text}", reason.Str("text", silence), id)
	case a.LastEvent.IsZero():
		return reason.New("source-no-event", "source {source} has received no event yet", id)
	default:
		return reason.New("source-event", "source {source} received its last event {at}", id, reason.At("at", a.LastEvent))
	}
}
