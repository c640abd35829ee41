package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// View is what a look at a gate showed.
type View struct {
	Verdict rule.Verdict
	Sensors []store.SeenSensor  // of the gate, in the order of its Refs; then the start condition's, if it is not among them
	PostRun []store.SeenSensor  // of the post-run rules, if the question asks for them
	Read    []store.ReadVersion // all readings that these were chosen from

	PreferUntil time.Time // when the preferred rules cease to close the gate; zero without such rules
	Degraded    []string  // the preferred rules that do not pass and without which the gate is open
	OpensAt     time.Time // when a closed gate opens if its data stays as it is; zero where time alone does not open it
}

// Open says that a start may rest on this view.
func (v View) Open() bool { return v.Verdict.Outcome == rule.Pass }

// Leaves is the report on each rule as it is stored with a start.
func (v View) Leaves() []store.SeenLeaf {
	leaves := make([]store.SeenLeaf, 0, len(v.Verdict.Leaves))
	for _, l := range v.Verdict.Leaves {
		leaves = append(leaves, SeenLeaf(l))
	}
	return leaves
}

// Snapshot is what the next start of r is decided on, as it is stored with it.
func (v View) Snapshot(r run.Run, at time.Time) store.Snapshot {
	return store.Snapshot{
		ID:  run.SnapshotID(fmt.Sprintf("%s/%d", r.ID(), r.Progress.StartTries+1)),
		Key: r.Key, Attempt: r.Attempt, At: at, Config: r.Progress.Opening.ConfigVersion,
		Outcome: v.Verdict.Outcome, Bypassed: r.Progress.Opening.GateBypassed,
		Leaves: v.Leaves(), Sensors: v.Sensors, PostRun: v.PostRun,
		PreferUntil: v.PreferUntil, Degraded: v.Degraded,
	}
}

// SeenLeaf is the report on a rule as it is stored with a start.
func SeenLeaf(l rule.Leaf) store.SeenLeaf {
	return store.SeenLeaf{
		Key: l.Rule.Key, From: l.Rule.From, Check: l.Rule.Check, Field: l.Rule.Field, Needs: l.Rule.Value,
		Over: l.Rule.Over, Time: l.Rule.Time, Advisory: l.Advisory, Preferred: l.Preferred, Group: l.Path, Negated: l.Negated, Outcome: l.Outcome, Value: l.Value, Reason: l.Reason,
	}
}

// Rules is the report on each rule as it is announced.
func (v View) Rules() []event.RuleOutcome {
	rules := make([]event.RuleOutcome, 0, len(v.Verdict.Leaves))
	for _, l := range v.Verdict.Leaves {
		r := event.RuleOutcome{Key: l.Rule.Key, Check: string(l.Rule.Check), Outcome: l.Outcome.String(), Value: text(l.Value), Reason: l.Reason, Advisory: l.Advisory, Preferred: l.Preferred}
		if l.Negated {
			r.EffectiveOutcome = l.Effective().String()
		}
		rules = append(rules, r)
	}
	return rules
}

// Seen is what the circuit breaker and late data compare.
func (v View) Seen() []rerun.Seen { return Compared(v.Sensors) }

// Compared is what the circuit breaker and late data compare of a stored snapshot's sensors.
func Compared(sensors []store.SeenSensor) []rerun.Seen {
	seen := make([]rerun.Seen, 0, len(sensors))
	for _, s := range sensors {
		seen = append(seen, rerun.Seen{Sensor: string(s.Pipeline) + "/" + string(s.Key), Content: s.Content})
	}
	return seen
}

// WithoutData leaves only versions and content hashes of what sensors showed. Upstreams keep their data, which says whether they
// had completed.
func WithoutData(sensors []store.SeenSensor) []store.SeenSensor {
	bare := slices.Clone(sensors)
	for i := range bare {
		if !IsUpstream(bare[i]) {
			bare[i].Fields, bare[i].Slices = nil, nil
		}
	}
	return bare
}

// IsUpstream says that s is a run of an upstream pipeline.
func IsUpstream(s store.SeenSensor) bool { return strings.HasPrefix(string(s.Key), "run/") }

// noted is what ref showed, in the form that is stored.
func noted(own pipeline.ID, ref rule.Ref, seen sensor.Seen) store.SeenSensor {
	s := store.SeenSensor{Pipeline: owner(own, ref), Key: ref.Key, Start: ref.Start}
	if r := seen.Reading; r != nil {
		s.Period, s.Version, s.UpdatedAt, s.ExpiresAt = r.Period, r.Version, r.UpdatedAt, r.ExpiresAt
		s.ChangedAt, s.Content, s.Fields = r.ChangedAt, Content(r.Fields), r.Fields
	}
	if len(seen.Over) > 0 {
		noteSlices(&s, seen.Over)
	}
	return s
}

// owner is the pipeline whose sensor ref reads.
func owner(own pipeline.ID, ref rule.Ref) pipeline.ID {
	if ref.From != "" {
		return pipeline.ID(ref.From)
	}
	return own
}

// RuleKey names a sensor as the rules of pipeline own do: baselines are kept by it. A sensor of another pipeline
// (from) carries that one's id.
func RuleKey(own, pipeline pipeline.ID, key sensor.Key) string {
	if pipeline == own {
		return string(key)
	}
	return string(pipeline) + "/" + string(key)
}
