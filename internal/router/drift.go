package router

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

// moved is one field of a post-run sensor compared with its baseline.
type moved struct {
	rerun.Movement
	sensor, field string // the sensor's name in the rules: gate.RuleKey
	was, is       any
	threshold     float64
}

// movements compares a reading of a post-run sensor with its baseline, field by field. Equal values
// that are not numbers have not moved; values that cannot be compared are not Known.
func movements(e *catalog.Entry, sw sensorWrite, was, is sensor.Fields) []moved {
	var all []moved
	for _, field := range driftFields(e, sw) {
		m := moved{sensor: sw.ruleKey(), field: field, was: was.At(field), is: is.At(field), threshold: e.PostRun.DriftThreshold}
		m.Movement = rerun.Drift(m.was, m.is, m.threshold)
		if !m.Known && m.was != nil && sensor.SameData(sensor.Fields{"": m.was}, sensor.Fields{"": m.is}) {
			continue
		}
		all = append(all, m)
	}
	return all
}

// driftFields lists the fields of a post-run sensor to compare: the file's drift field, otherwise
// the field of each rule on the sensor, otherwise count. The field of an age rule is left out: a
// time always moves.
func driftFields(e *catalog.Entry, sw sensorWrite) []string {
	if e.PostRun.DriftField != "" {
		return []string{e.PostRun.DriftField}
	}
	var fields []string
	for _, leaf := range rule.Leaves(e.PostRun.Rules) {
		if cmp.Or(pipeline.ID(leaf.From), e.ID) != sw.Pipeline || leaf.Key != string(sw.Sensor) {
			continue
		}
		if aged := leaf.Check == rule.AgeLT || leaf.Check == rule.AgeGT; aged && leaf.Field != "" {
			continue
		}
		if field := cmp.Or(leaf.Field, "count"); !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// detail returns a movement as the detail of an event.
func (m moved) detail() event.Drift {
	return event.Drift{
		Sensor: m.sensor, Field: m.field, Baseline: plain(m.was), Current: plain(m.is),
		Threshold: strconv.FormatFloat(m.threshold, 'f', -1, 64),
	}
}

// plain formats a value as text; "" for nil.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
