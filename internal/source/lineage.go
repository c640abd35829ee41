package source

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// eventTypes are the run states of OpenLineage.
var eventTypes = []string{"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"}

// CheckLineage returns an error that names the field if an event is not an OpenLineage event about
// a run, a job or a dataset. An eventTime without a time zone, as some clients send it, becomes one
// in UTC.
func CheckLineage(event map[string]any) error {
	fields := sensor.Fields(event)
	required := []string{"eventTime", "producer", "schemaURL"}
	switch {
	case event["run"] != nil:
		required = append(required, "run.runId", "job.namespace", "job.name")
	case event["job"] != nil:
		required = append(required, "job.namespace", "job.name")
	case event["dataset"] != nil:
		required = append(required, "dataset.namespace", "dataset.name")
	default:
		return errors.New("field run is missing; an OpenLineage event needs a run, a job or a dataset")
	}
	for _, name := range required {
		if fields.At(name) == nil {
			return fmt.Errorf("field %s is missing; OpenLineage requires it", name)
		}
		if err := checkText("field", name, fields.At(name)); err != nil {
			return err
		}
	}
	text, _ := event["eventTime"].(string)
	if _, zoned, ok := period.ReadInstant(text); !ok {
		return fmt.Errorf("field eventTime: %.60q is not RFC 3339", text)
	} else if !zoned {
		event["eventTime"] = text + "Z"
	}
	if kind, given := event["eventType"]; given && kind != nil {
		if text, _ := kind.(string); !slices.Contains(eventTypes, text) {
			return fmt.Errorf("field eventType: %s is not one of %q", sensor.Literal(kind), eventTypes)
		}
	}
	return nil
}

// RunState is what an OpenLineage event says about its run.
type RunState struct {
	RunID string
	At    time.Time // when the event was sent
	Ended bool      // the run has ended: COMPLETE, FAIL or ABORT
}

// RunStateOf returns what an event that CheckLineage accepted says about its run; false if it is
// not about one.
func RunStateOf(event map[string]any) (RunState, bool) {
	fields := sensor.Fields(event)
	id, _ := fields.At("run.runId").(string)
	kind, _ := event["eventType"].(string)
	text, _ := event["eventTime"].(string)
	at, _, ok := period.ReadInstant(text)
	if id == "" || kind == "" || !ok {
		return RunState{}, false
	}
	return RunState{RunID: id, At: at, Ended: kind == "COMPLETE" || kind == "FAIL" || kind == "ABORT"}, true
}
