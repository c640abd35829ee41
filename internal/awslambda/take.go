package awslambda

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// take writes the readings that the source files derive from an EventBridge event. On an error
// EventBridge redelivers the event, which writes nothing twice.
func (r *Router) take(ctx context.Context, payload json.RawMessage) (ingest.Result, error) {
	e, err := cloudEvent(payload)
	if err != nil {
		return ingest.Result{}, err
	}
	if r.intake == nil {
		r.intake = ingest.New(r.Store, r.Catalog, catalog.MaxFuture)
	}
	id := fmt.Sprintf("%s\n%s", e["source"], e["id"])
	admit := func(*store.Write, int) (func(), error) { return nil, nil } // the EventBridge rule decides who may send
	result, err := r.intake.Take(ctx, []ingest.Event{{Format: source.CloudEvents, ID: id, Body: e}}, admit, r.Now())
	if err != nil {
		return result, err
	}
	about := []any{slog.Any("id", e["id"]), slog.Any("source", e["source"]), slog.Any("type", e["type"])}
	if result.Matched == 0 {
		r.Logger.Info("no source matches an event", about...)
	}
	for _, p := range result.Problems {
		r.Logger.Warn("a source could not write all of its readings", append(about, slog.String("problem", p.String()))...)
	}
	return result, nil
}

// cloudEvent converts an EventBridge event to a CloudEvent, so that the same source files fit both:
// its type is the detail-type, its subject the first resource, its data the detail.
func cloudEvent(payload json.RawMessage) (map[string]any, error) {
	var d struct {
		Delivered
		Account string `json:"account"`
		Region  string `json:"region"`
	}
	if err := json.Unmarshal(payload, &d); err != nil {
		return nil, fmt.Errorf("read an event: %w", err)
	}
	attributes := map[string]any{"specversion": "1.0", "id": d.ID, "source": d.Source, "type": d.Type, "datacontenttype": "application/json", "data": d.Detail}
	if len(d.Resources) > 0 {
		attributes["subject"] = d.Resources[0]
	}
	for name, value := range map[string]string{"time": d.Time, "awsaccount": d.Account, "awsregion": d.Region} {
		if value != "" {
			attributes[name] = value
		}
	}
	text, err := json.Marshal(attributes)
	if err != nil {
		return nil, fmt.Errorf("read an event: %w", err)
	}
	e, err := source.DecodeEvent(text)
	if err != nil {
		return nil, err
	}
	return e, source.CheckCloudEvent(e)
}
