package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// View is the result of evaluating a gate.
type View struct {
	Verdict rule.Verdict
	Sensors []store.SeenSensor  // of the gate, in the order of its Refs; then the start condition's, if not included
	PostRun []store.SeenSensor  // of the post-run rules, if requested
	Read    []store.ReadVersion // all readings that were read

	PreferUntil time.Time // when the preferred rules stop closing the gate; zero without such rules
	Degraded    []string  // the preferred rules that do not pass, if the gate is open without them
	OpensAt     time.Time // when a closed gate opens without new data; zero if it does not
}

// Open reports whether the view allows a start.
func (v View) Open() bool { return v.Verdict.Outcome == rule.Pass }

// maxNamed is how many rules a message names.
const maxNamed = 5

// Unmet returns the end of a message that names the rules which close the gate, with what each saw:
// "; not satisfied: rows (count is 12, needs ≥ 1000)". It is empty if the gate is open.
func (v View) Unmet(now time.Time) string {
	if v.Open() {
		return ""
	}
	var named []string
	more := 0
	for _, l := range v.Verdict.Leaves {
		if !l.Closes() || l.Preferred && v.Lapsed(now) {
			continue
		}
		if more++; more > maxNamed {
			continue
		}
		name := l.Rule.Key
		if l.Rule.From != "" {
			name = l.Rule.From + ":" + name
		}
		if text := fmt.Sprintf("%s (%s)", name, l.Reason); !slices.Contains(named, text) {
			named = append(named, text)
		}
	}
	if more == 0 {
		return ""
	}
	text := "; not satisfied: " + strings.Join(named, ", ")
	if more > maxNamed {
		text += fmt.Sprintf(" and %d more rules", more-maxNamed)
	}
	return text
}

// Leaves returns the result of each rule, in the form stored with a start.
func (v View) Leaves() []store.SeenLeaf {
	leaves := make([]store.SeenLeaf, 0, len(v.Verdict.Leaves))
	for _, l := range v.Verdict.Leaves {
		leaves = append(leaves, SeenLeaf(l))
	}
	return leaves
}

// Snapshot returns the facts of r's next start, in the form stored with it.
func (v View) Snapshot(r run.Run, at time.Time) store.Snapshot {
	return store.Snapshot{
		ID:  run.SnapshotID(fmt.Sprintf("%s/%d", r.ID(), r.Progress.StartTries+1)),
		Key: r.Key, Attempt: r.Attempt, At: at, Config: r.Progress.Opening.ConfigVersion,
		Outcome: v.Verdict.Outcome, Bypassed: r.Progress.Opening.GateBypassed,
		Leaves: v.Leaves(), Sensors: v.Sensors, PostRun: v.PostRun,
		PreferUntil: v.PreferUntil, Degraded: v.Degraded,
	}
}

// SeenLeaf converts the result of a rule to its stored form.
func SeenLeaf(l rule.Leaf) store.SeenLeaf {
	return store.SeenLeaf{
		Key: l.Rule.Key, From: l.Rule.From, Check: l.Rule.Check, Field: l.Rule.Field, Needs: l.Rule.Value,
		Over: l.Rule.Over, Time: l.Rule.Time, Advisory: l.Advisory, Preferred: l.Preferred, Group: l.Path, Negated: l.Negated, Moot: l.Moot, Outcome: l.Outcome, Value: l.Value, Reason: l.Reason,
	}
}

// Rules returns the result of each rule, in the form used in events.
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

// Seen returns what the circuit breaker and the late-data check compare.
func (v View) Seen() []rerun.Seen { return Compared(v.Sensors) }

// Compared is Seen for the sensors of a stored snapshot.
func Compared(sensors []store.SeenSensor) []rerun.Seen {
	seen := make([]rerun.Seen, 0, len(sensors))
	for _, s := range sensors {
		seen = append(seen, rerun.Seen{Sensor: string(s.Pipeline) + "/" + string(s.Key), Content: s.Content})
	}
	return seen
}

// WithoutData keeps only the versions and content hashes of sensors. Upstreams keep their data,
// which says whether they had completed.
func WithoutData(sensors []store.SeenSensor) []store.SeenSensor {
	bare := slices.Clone(sensors)
	for i := range bare {
		if !IsUpstream(bare[i]) {
			bare[i].Fields, bare[i].Slices = nil, nil
		}
	}
	return bare
}

// IsUpstream reports whether s is a run of an upstream pipeline.
func IsUpstream(s store.SeenSensor) bool { return s.Key.Engine() }

// noted converts what ref showed to its stored form.
func noted(own pipeline.ID, ref rule.Ref, seen sensor.Seen) store.SeenSensor {
	s := store.SeenSensor{Pipeline: owner(own, ref), Key: ref.Key, Start: ref.Start}
	if r := seen.Reading; r != nil {
		s.Period, s.Version, s.UpdatedAt, s.ExpiresAt = r.Period, r.Version, r.UpdatedAt, r.ExpiresAt
		s.ChangedAt, s.Content, s.Fields = r.ChangedAt, Content(r.Facts()), r.Fields
	}
	if len(seen.Over) > 0 {
		noteSlices(&s, seen.Over)
	}
	return s
}

// owner returns the pipeline whose sensor ref reads.
func owner(own pipeline.ID, ref rule.Ref) pipeline.ID {
	return cmp.Or(pipeline.ID(ref.From), own)
}

// RuleKey returns the name of a sensor in the rules of pipeline own; baselines are stored by it. A
// sensor of another pipeline (from) has that pipeline's id as a prefix.
func RuleKey(own, pipeline pipeline.ID, key sensor.Key) string {
	if pipeline == own {
		return string(key)
	}
	return string(pipeline) + "/" + string(key)
}

// Content returns a hash of a reading's data. Data that sensor.SameData considers equal has the
// same hash.
func Content(f sensor.Fields) string {
	canonical, err := store.EncodeFields(f)
	if err != nil { // only for data that no reading can hold
		canonical = fmt.Sprintf("%v", f)
	}
	sum := sha256.Sum256([]byte(canonical))
	return hex.EncodeToString(sum[:16])
}

// maxText bounds a value in an event, which is for people; the snapshot has the full value.
const maxText = 200

// text formats a value for an event; "" if there was none.
func text(v any) string {
	if v == nil {
		return ""
	}
	shown, isText := v.(string)
	if !isText {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		shown = string(raw)
	}
	return excerpt.Bytes(shown, maxText)
}
