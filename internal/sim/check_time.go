package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// S1 again, for rules over time: the verdict on a snapshot comes from the same code that opened the
// gate, so a bug would affect both. Here the rules are read from the stored file and evaluated
// independently.

// plainFile is the part of a file that is checked here.
type plainFile struct {
	Schedule struct {
		After []any `yaml:"after"` // ids, or objects
	} `yaml:"schedule"`
	Validation struct {
		Rules []plainRule `yaml:"rules"`
	} `yaml:"validation"`
}

type plainRule struct {
	Key     string     `yaml:"key"`
	Check   rule.Check `yaml:"check"`
	Field   string     `yaml:"field"`
	Value   any        `yaml:"value"`
	Level   rule.Level `yaml:"level"`
	Settled string     `yaml:"settled"`
	Over    *struct {
		AtLeast int `yaml:"atLeast"`
	} `yaml:"over"`
}

// rulesHold checks that each rule of the stored file holds on a snapshot, without the compiled
// gate.
func (w *watch) rulesHold(r run.Run, s store.Snapshot) {
	c, err := w.rows.Config(context.Background(), r.Pipeline, s.Config)
	if err != nil {
		return // reported by startIsSafe
	}
	var file plainFile
	if err := yaml.Unmarshal(c.File.Data, &file); err != nil {
		w.fail(NoUnsafeStart, "the file of %s cannot be read: %v", r.ID(), err)
		return
	}
	for _, up := range file.Schedule.After {
		w.upstreamHolds(r, up)
	}
	for _, one := range file.Validation.Rules {
		if one.Level == rule.Preferred && !s.At.Before(s.PreferUntil) {
			continue
		}
		if why := one.fails(s); why != "" {
			w.fail(NoUnsafeStart, "start of %s on snapshot %s: %s %s: %s", r.ID(), s.ID, one.Check, one.Key, why)
		}
	}
}

// upstreamHolds checks that as many runs of an upstream are COMPLETED as the file requires; one, if
// it gives no number.
func (w *watch) upstreamHolds(r run.Run, up any) {
	id, least := fmt.Sprint(up), 1.0
	if object, is := up.(map[string]any); is {
		id = fmt.Sprint(object["pipeline"])
		least, _ = number(object["atLeast"]) // the files of worlds have valid numbers
	}
	done := 0
	for key := range w.notes.completed {
		if string(key.Pipeline) == id && (key.Period == r.Period || r.Period.Holds(key.Period) || key.Period.Holds(r.Period)) {
			done++
		}
	}
	if float64(done) < least {
		w.fail(NoUnsafeStart, "start of %s: %d runs of %s were ever COMPLETED, %v are needed", r.ID(), done, id, least)
	}
}

// fails returns why a rule does not hold on a snapshot; "" if it does.
func (p plainRule) fails(s store.Snapshot) string {
	for _, seen := range s.Sensors {
		if string(seen.Key) != p.Key || seen.Start || seen.Pipeline != s.Key.Pipeline {
			continue
		}
		if p.Over == nil {
			return p.failsOn(seen.Version, seen.Fields, seen.UpdatedAt, seen.ChangedAt, s.At)
		}
		passing := 0
		for _, slice := range seen.Slices {
			if p.failsOn(slice.Version, slice.Fields, slice.UpdatedAt, slice.ChangedAt, s.At) == "" {
				passing++
			}
		}
		if need := p.Over.AtLeast; passing < need || need == 0 {
			return fmt.Sprintf("%d slices of %d pass, %d are needed", passing, len(seen.Slices), need)
		}
		return ""
	}
	return "the snapshot does not show it"
}

// failsOn returns why the rule does not hold on one reading.
func (p plainRule) failsOn(version int64, fields sensor.Fields, updated, changed, at time.Time) string {
	if version == 0 {
		return "no reading"
	}
	if p.Check == rule.GTE {
		got, isNumber := number(fields[p.Field])
		least, _ := number(p.Value) // the files of worlds have valid numbers
		if !isNumber || got < least {
			return fmt.Sprintf("%s is %v", p.Field, fields[p.Field])
		}
	}
	if p.Settled == "" {
		return ""
	}
	settled, err := time.ParseDuration(p.Settled)
	if changed.IsZero() {
		changed = updated
	}
	if err != nil || at.Sub(changed) < settled {
		return fmt.Sprintf("its data changed %s before", at.Sub(changed))
	}
	return ""
}

// number converts a value to a number.
func number(v any) (float64, bool) {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return n, err == nil
}
