package archive

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

func runRow(r run.Run) (row, error) {
	body, err := document(r)
	if err != nil {
		return nil, fmt.Errorf("archive: write run %s: %w", r.Key, err)
	}
	opening := r.Progress.Opening
	return row{
		text(r.Pipeline), text(r.Schedule), r.Period.String(), r.Version, text(r.Status), text(r.Reason), r.Attempt, text(opening.Cause),
		text(opening.ConfigVersion), instant(r.OpenedAt), instant(r.UpdatedAt), instant(r.EndedAt), body,
	}, nil
}

func logRow(e store.JobEntry) row {
	return row{
		text(e.Key.Pipeline), text(e.Key.Schedule), e.Key.Period.String(), e.Attempt, text(e.Event), e.Try, instant(e.At), text(e.Handle),
		text(e.Category), text(e.Message), text(e.Output), text(e.By),
	}
}

func rerunRow(r store.Rerun) row {
	return row{
		text(r.Key.Pipeline), text(r.Key.Schedule), r.Key.Period.String(), text(r.ID), instant(r.At), text(r.By), text(r.Reason), r.Force,
		r.BypassGate, r.Accepted, text(r.Why), r.Attempt,
	}
}

func eventRow(e store.StoredEvent) (row, error) {
	detail, err := e.Event.DetailJSON()
	if err != nil {
		return nil, fmt.Errorf("archive: write event %s: %w", e.Event.ID, err)
	}
	d := e.Event.Detail
	return row{
		text(e.Event.ID), instant(e.Event.Time), int64(e.Position), text(e.Event.Type), text(d.Severity),
		text(d.Pipeline), text(d.Schedule), d.Date.String(), d.Attempt, text(d.Message), withoutZero(string(detail)),
	}, nil
}

func readingRow(id pipeline.ID, r *sensor.Reading) (row, error) {
	fields, err := document(r.Fields)
	if err != nil {
		return nil, fmt.Errorf("archive: write reading %d of %s/%s: %w", r.Version, id, r.Key, err)
	}
	return row{text(id), text(r.Key), r.Version, instant(r.UpdatedAt), r.Period.String(), text(r.Source), instant(r.ExpiresAt), fields}, nil
}

// instant returns nil (NULL) for the zero time.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}
