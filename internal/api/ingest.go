package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// The paths that receive events.
const (
	cloudEventsPath = prefix + "/cloudevents"
	lineagePath     = prefix + "/lineage"
	ingestPath      = prefix + "/ingest/{source}"
)

// ingestRoutes registers the routes that receive events. They read their bodies themselves, because
// huma does not know the formats.
func (a *API) ingestRoutes() {
	a.mux.HandleFunc("POST "+cloudEventsPath, a.events(source.CloudEvents, cloudEvents))
	a.mux.HandleFunc("OPTIONS "+cloudEventsPath, webhookHandshake)
	a.mux.HandleFunc("POST "+lineagePath, a.events(source.OpenLineage, lineage))
	a.mux.HandleFunc("POST "+ingestPath, a.events(source.JSON, a.jsonEvents))
}

// events returns a handler that ingests the events which read parses from a request.
func (a *API) events(format source.Format, read func(*http.Request, []byte) ([]ingest.Event, *Problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		result, p := a.take(r, format, read)
		if p != nil {
			a.metrics.events[format].refused.Inc()
			p.write(w, r)
			return
		}
		header := w.Header()
		header["Content-Type"] = plainJSON
		_ = json.NewEncoder(w).Encode(result) // it is stored, even if the client has disconnected
	}
}

func (a *API) take(r *http.Request, format source.Format, read func(*http.Request, []byte) ([]ingest.Event, *Problem)) (ingest.Result, *Problem) {
	who := whoOf(r.Context())
	if p := who.may(RoleSensor, ""); p != nil {
		return ingest.Result{}, p
	}
	body, p := a.eventBody(r, format != source.CloudEvents || source.IsJSON(r.Header.Get("Content-Type")), format != source.OpenLineage)
	if p != nil {
		return ingest.Result{}, p
	}
	events, p := read(r, body)
	if p != nil {
		return ingest.Result{}, p
	}
	admit := func(w *store.Write, size int) (func(), error) { return a.admitEvent(r.Context(), who, w, size) }
	result, err := a.intake.Take(r.Context(), events, admit, a.now())
	if err != nil {
		return result, problemOf(err)
	}
	a.metrics.took(events, result)
	result.Problems = a.seenProblems(who, r.PathValue("source"), result.Problems)
	return result, nil
}

// admitEvent decides whether a client may write a reading of an event.
func (a *API) admitEvent(ctx context.Context, who principal, w *store.Write, size int) (func(), error) {
	if p := who.may(RoleSensor, w.Pipeline); p != nil {
		return nil, p
	}
	e, p := a.entry(ctx, w.Pipeline)
	if p != nil {
		return nil, p
	}
	w.Reading.Source = who.by(w.Reading.Source)
	return viewed(a.admit(ctx, who, e, w.Reading, size))
}

// cloudEvents parses CloudEvents in binary, structured or batched mode.
func cloudEvents(r *http.Request, body []byte) ([]ingest.Event, *Problem) {
	contentType := r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && contentType != "" {
		return nil, badRequest("header Content-Type: %.100q is not a media type", contentType)
	}
	switch {
	case media == "application/cloudevents+json":
		event, err := source.DecodeEvent(body)
		if err == nil {
			err = source.CheckCloudEvent(event)
		}
		return oneCloudEvent(event, err)
	case media == "application/cloudevents-batch+json":
		return cloudEventBatch(body)
	case strings.HasPrefix(media, "application/cloudevents"):
		return nil, problem(http.StatusUnsupportedMediaType, plainKind, "content type %.60q is not supported; send application/cloudevents+json, application/cloudevents-batch+json, or binary mode", media)
	}
	attributes := attributes(r)
	if len(attributes) == 0 {
		return nil, badRequest("the request is not a CloudEvent; send the headers ce-specversion, ce-id, ce-source and ce-type, or the content type application/cloudevents+json")
	}
	event, err := source.BinaryEvent(attributes, contentType, body)
	return oneCloudEvent(event, err)
}

// attributes returns the attributes of a CloudEvent in binary mode.
func attributes(r *http.Request) map[string]string {
	all := map[string]string{}
	for name, values := range r.Header {
		if attribute, ok := strings.CutPrefix(name, "Ce-"); ok {
			all[strings.ToLower(attribute)] = values[0]
		}
	}
	return all
}

func oneCloudEvent(event map[string]any, err error) ([]ingest.Event, *Problem) {
	if err != nil {
		return nil, badRequest("%s", err)
	}
	return []ingest.Event{cloudEvent(event)}, nil
}

// cloudEvent returns an event whose attributes were checked.
func cloudEvent(event map[string]any) ingest.Event {
	return ingest.Event{Format: source.CloudEvents, ID: fmt.Sprintf("%s\n%s", event["source"], event["id"]), Body: event}
}

// decodeBatch decodes a list of events; its error says that none of them was written.
func decodeBatch(body []byte) ([]map[string]any, error) {
	list, err := source.DecodeEvents(body)
	if err != nil {
		return nil, fmt.Errorf("%w; no event of the batch was written", err)
	}
	return list, nil
}

func cloudEventBatch(body []byte) ([]ingest.Event, *Problem) {
	list, err := decodeBatch(body)
	if err != nil {
		return nil, badRequest("%s", err)
	}
	events := make([]ingest.Event, len(list))
	for i, event := range list {
		if err := source.CheckCloudEvent(event); err != nil {
			return nil, badRequest("event %d of the batch: %s; no event of the batch was written", i, err).at(fmt.Sprintf("body[%d]", i), err.Error())
		}
		events[i] = cloudEvent(event)
	}
	return events, nil
}

// webhookHandshake answers the validation request of CloudEvents web hooks: every origin may
// deliver, at any rate, as far as its token allows. It reveals nothing and needs no token: senders
// validate before they use one.
func webhookHandshake(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Allow", "POST, OPTIONS")
	if origin := r.Header.Get("WebHook-Request-Origin"); origin != "" {
		header.Set("WebHook-Allowed-Origin", origin)
		header.Set("WebHook-Allowed-Rate", "*")
		if rate := r.Header.Get("WebHook-Request-Rate"); rate != "" {
			header.Set("WebHook-Allowed-Rate", rate)
		}
	}
	w.WriteHeader(http.StatusOK)
}

// lineage parses an OpenLineage event.
func lineage(_ *http.Request, body []byte) ([]ingest.Event, *Problem) {
	event, err := source.DecodeEvent(body)
	if err == nil {
		err = source.CheckLineage(event)
	}
	if err != nil {
		return nil, badRequest("%s", err)
	}
	return []ingest.Event{{Format: source.OpenLineage, Body: event}}, nil
}

// jsonEvents parses the events for a source of format json: an object, or a list of objects.
func (a *API) jsonEvents(r *http.Request, body []byte) ([]ingest.Event, *Problem) {
	id := source.ID(r.PathValue("source"))
	d := a.catalog.Sources().Get(id)
	switch {
	case d == nil:
		return nil, noSource(a.catalog, string(id))
	case d.Format != source.JSON:
		return nil, problem(http.StatusConflict, plainKind, "source %s is of format %s; send its events to %s", id, d.Format, map[source.Format]string{
			source.CloudEvents: cloudEventsPath, source.OpenLineage: lineagePath,
		}[d.Format])
	}
	list, _, err := decodeMessages(body)
	if err != nil {
		return nil, badRequest("%s", err)
	}
	return identified(id, list, r.Header.Get("Idempotency-Key"))
}

// decodeMessages decodes an object, or a list of objects.
func decodeMessages(body []byte) (list []map[string]any, batch bool, err error) {
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		list, err = decodeBatch(body)
		return list, true, err
	}
	event, err := source.DecodeEvent(body)
	return []map[string]any{event}, false, err
}

// maxKey is the maximum length of an Idempotency-Key, as in Once.
const maxKey = 100

// identified returns the events of a request to a source, with an Idempotency-Key or "".
func identified(id source.ID, list []map[string]any, key string) ([]ingest.Event, *Problem) {
	if utf8.RuneCountInString(key) > maxKey {
		return nil, humaProblem(http.StatusBadRequest, "validation failed", &huma.ErrorDetail{
			Location: "header.Idempotency-Key", Message: fmt.Sprintf(validation.MsgExpectedMaxLength, maxKey),
		})
	}
	events := make([]ingest.Event, len(list))
	for i, event := range list {
		events[i] = ingest.Event{Format: source.JSON, Source: id, Body: event}
	}
	if key == "" {
		return events, nil
	}
	of, err := digest(list)
	if err != nil {
		return nil, problemOf(err)
	}
	for i := range events {
		events[i].ID, events[i].Of = fmt.Sprintf("%s\n%s\n%d", id, key, i), of
	}
	return events, nil
}

// idempotencyKey describes the header of jsonEvents.
func idempotencyKey() *huma.Param {
	p := word("header", "Idempotency-Key", "A repeated request with the same key writes only what the first could not write, for 24 hours. The same key with a different request returns 422.")
	p.Schema.MaxLength = new(maxKey)
	return p
}

// eventOperations describes the routes that receive events.
func eventOperations(h huma.API) []*huma.Operation {
	operation := func(path, name, summary string, types ...string) *huma.Operation {
		op := route{method: http.MethodPost, path: strings.TrimPrefix(path, prefix), name: name, tag: "Sources", role: RoleSensor, summary: summary}.operation()
		op.Middlewares = nil
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		for _, media := range types {
			op.RequestBody.Content[media] = &huma.MediaType{Schema: &huma.Schema{}}
		}
		op.Responses = map[string]*huma.Response{"200": jsonAnswer[ingest.Result](h, "The events were accepted."), "default": problems(h)}
		return &op
	}
	cloud := operation(cloudEventsPath, "put-cloudevents", "Receive CloudEvents 1.0 in binary (headers ce-NAME, the body is the data), structured or batched mode",
		"application/cloudevents+json", "application/cloudevents-batch+json", "*/*")
	bridge := operation(ingestPath, "put-json-events", "Receive a JSON object or a list of objects for a source of format json", "application/json")
	bridge.Parameters = []*huma.Param{word("path", "source", "The source's id."), idempotencyKey()}
	return []*huma.Operation{cloud, operation(lineagePath, "put-lineage", "Receive an OpenLineage event", "application/json"), bridge}
}
