package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
)

func (a *API) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(OpenAPI()) // the client may have disconnected
}

// OpenAPI returns the description of the API; do not change it. It is built on first use from
// routes that serve no requests, because adding to the description of live routes would race with
// requests being checked against it.
var OpenAPI = sync.OnceValue(func() []byte {
	h := newHuma(http.NewServeMux())
	new(API).routes(h)
	return describe(h)
})

// describe writes the description, and adds the operations that are not registered with huma.
func describe(h huma.API) []byte {
	doc := h.OpenAPI()
	doc.AddOperation(putOperation(h))
	doc.AddOperation(streamOperation(h))
	for _, op := range slices.Concat(plainOperations(h), pingOperations(h), eventOperations(h), inOperations(h)) {
		doc.AddOperation(op)
	}
	addWords(doc)
	types := doc.Components.Schemas
	for name, s := range types.Map() {
		nullables(s, types.TypeFromRef(schemaPrefix+name))
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		panic(err) // every type of this package can be described
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		panic(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// nullables allows null for properties that may be null although they are enums or objects.
func nullables(s *huma.Schema, of reflect.Type) {
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := s.Properties[name]
		switch {
		case property == nil:
		case property.Nullable && len(property.Enum) > 0:
			property.Enum = append(property.Enum, nil)
		case property.Ref != "" && f.Type.Kind() == reflect.Pointer:
			object := &huma.Schema{Ref: property.Ref}
			s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{object, {Type: "null"}}, Description: property.Description}
		}
	}
}

// schemaOf returns the schema of a type.
func schemaOf[T any](h huma.API, hint string) *huma.Schema {
	return h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, hint)
}

func jsonBody[T any](h huma.API, hint string) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](h, hint)}}}
}

func jsonAnswer[T any](h huma.API, what string) *huma.Response {
	return &huma.Response{Description: what, Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](h, "")}}}
}

func problems(h huma.API) *huma.Response {
	return &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{problemType: {Schema: schemaOf[Problem](h, "")}}}
}

// word returns a text parameter. Every path parameter is required.
func word(in, name, doc string) *huma.Param {
	return &huma.Param{In: in, Name: name, Required: in == "path", Description: doc, Schema: &huma.Schema{Type: "string"}}
}

func putOperation(h huma.API) *huma.Operation {
	put := route{
		method: http.MethodPut, path: sensorPath[len(prefix):], name: "put-sensor", tag: "Sensors", role: RoleSensor, needs: needsSensor,
		summary: "Write a reading: the body is its data",
	}.operation()
	put.Middlewares = nil
	put.Parameters = []*huma.Param{
		word("path", "id", "The pipeline's id."),
		word("path", "key", "The sensor's key, percent-encoded (/ is %2F, # is %23), with #period to date the reading."),
		word("query", "source", "The writer's name."),
		word("query", "ttl", "How long the reading is valid, such as 2h."),
		word("query", "expiresAt", "When the reading expires, RFC 3339."),
	}
	put.RequestBody = &huma.RequestBody{
		Required:    true,
		Description: "An object of at most 64 KiB. Its fields date, hour and minute name the period, else the key's suffix does.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object", AdditionalProperties: true}}},
	}
	put.Responses = map[string]*huma.Response{"200": jsonAnswer[client.Written](h, "The reading is stored durably."), "default": problems(h)}
	return &put
}

func streamOperation(h huma.API) *huma.Operation {
	op := get("/events/stream", "follow-events", "Events", "Stream events as server-sent events").operation()
	op.Middlewares = nil
	op.Parameters = []*huma.Param{
		word("query", "pipeline", "Only events of this pipeline."), word("query", "type", "Only events of this type."),
		word("query", "since", "Start in the past: RFC 3339, a period, or a duration ago such as 2h."),
		word("query", "lastEventId", "The same as the header, for clients that cannot set headers."),
		word("query", "heartbeat", "true: keep-alives are events named heartbeat with {at, intervalSeconds}, and the first is sent at once. Otherwise keep-alives are comments."),
		word("header", "Last-Event-ID", "Resume after this event."),
	}
	op.Responses = map[string]*huma.Response{
		"200":     {Description: "data is an event, id its position in the stream. A keep-alive is sent every 15 seconds.", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}}},
		"default": problems(h),
	}
	return &op
}

// plainOperations describes the operations outside the API's prefix.
func plainOperations(h huma.API) []*huma.Operation {
	plain := func(path, name, summary string, ok *huma.Response) *huma.Operation {
		return &huma.Operation{
			Method: http.MethodGet, Path: path, OperationID: name, Summary: summary, Tags: []string{"Server"}, Description: needsNothing, Security: needsNoToken,
			Responses: map[string]*huma.Response{"200": ok, "default": problems(h)},
		}
	}
	ready := plain("/readyz", "readyz", "Check whether the controller is ready", jsonAnswer[client.Readiness](h, "The controller is ready."))
	ready.Responses["503"] = &huma.Response{Description: "The controller is not ready.", Content: map[string]*huma.MediaType{problemType: {Schema: schemaOf[Unreadiness](h, "")}}}
	anything := &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object", AdditionalProperties: true}}}}
	metrics := &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}}}
	figures := plain("/metrics", "metrics", "Get metrics in the Prometheus format", metrics)
	figures.Description, figures.Security = needsRole(RoleViewer), needsToken
	ready.Description += " The checks are listed for viewers whose token is not limited to pipelines."
	identity := plain(IdentityPath, "prove-identity", "Prove which store the controller uses and which pipelines it has, without revealing either", jsonAnswer[Proof](h, "The proof."))
	identity.Parameters = []*huma.Param{word("query", "nonce", "32 random bytes in hexadecimal, new for each request.")}
	identity.Parameters[0].Required = true
	return []*huma.Operation{
		plain("/healthz", "healthz", "Check whether the process responds", anything), ready,
		figures, identity,
		plain("/openapi.json", "openapi", "Get this OpenAPI document", anything),
	}
}

// pingOperations describes pings, with and without a signal.
func pingOperations(h huma.API) []*huma.Operation {
	plain := map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}}
	var all []*huma.Operation
	for _, path := range []string{pingPath, pingSignalPath} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			op := &huma.Operation{
				Method: method, Path: path, OperationID: "ping-" + strings.ToLower(method), Tags: []string{"Sensors"},
				Summary:     "Write a reading {status, exitStatus, durationSeconds, body} with a plain GET or POST",
				Description: "For cron jobs and other clients that can only call a URL. Needs no header: the token is in the path. The path is not logged.",
				Security:    needsNoToken,
				Parameters: []*huma.Param{
					word("path", "token", "A token with the role sensor; on a server without tokens, any text."),
					word("path", "pipeline", "The pipeline's id."), word("path", "key", "The sensor's key, percent-encoded, with #period to date the reading."),
				},
				Responses: map[string]*huma.Response{"200": {Description: "The reading is stored durably.", Content: plain}, "default": problems(h)},
			}
			if path == pingSignalPath {
				op.OperationID += "-signal"
				op.Parameters = append(op.Parameters, word("path", "signal", "start, fail, or an exit status from 0 to 255. 0 is success, any other status is a failure."))
			}
			if method == http.MethodPost {
				op.RequestBody = &huma.RequestBody{Description: "Stored in the field body, up to 10 KiB.", Content: plain}
			}
			all = append(all, op)
		}
	}
	return all
}
