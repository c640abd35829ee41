package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/template"
)

// Sample returns an alert to test a template with.
func Sample(at time.Time) sink.Alert {
	about := event.About{Pipeline: "orders", Schedule: "cron", Attempt: 1, At: at}
	return sink.Alert{Event: event.New(event.JobFailed, about, "the job failed: exit code 1", event.Finished{}), Count: 1, Since: at}
}

// rendered renders the body of an alert with a template.
func rendered(t *template.Template, a sink.Alert) ([]byte, error) {
	data, err := fields(a)
	if err != nil {
		return nil, err
	}
	body, err := t.Render(data)
	if err != nil {
		return nil, fmt.Errorf("its template: %w", err)
	}
	return []byte(body), nil
}

// fields returns the fields that a template may use.
func fields(a sink.Alert) (map[string]any, error) {
	e, d, story := a.Event, a.Event.Detail, a.Story()
	text, err := e.DetailJSON()
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	var detail map[string]any
	if err := json.Unmarshal(text, &detail); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	why := make([]any, len(story.Why))
	for i, line := range story.Why {
		why[i] = line
	}
	return map[string]any{
		"ID": e.ID, "Type": string(e.Type), "Severity": string(d.Severity), "Time": e.Time.UTC().Format(time.RFC3339),
		"Pipeline": string(d.Pipeline), "Schedule": string(d.Schedule), "Date": d.Date.String(), "Attempt": d.Attempt,
		"Title": story.Title, "Message": d.Message, "Why": why, "Remedy": story.Todo, "Owner": a.Owner,
		"Count": max(a.Count, 1), "Since": a.Since.UTC().Format(time.RFC3339), "RunURL": a.Links.Run, "PipelineURL": a.Links.Pipeline,
		"Key": sink.Matter(e), "Settles": sink.Settles(e), "Detail": detail,
	}, nil
}
