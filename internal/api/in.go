package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// inPath is the address for messages of services that cannot set a header.
const inPath = inRoot + "/{token}/{source}"

// serveIn answers a service that pushes messages to a source. A known token gets 200, with the
// problems, for everything that would fail in the same way again; only what should be redelivered
// is 429 or 503.
func (a *API) serveIn(c *call, r *http.Request, parts []string) {
	r = r.WithContext(c)
	c.request = r
	c.Header()["X-Content-Type-Options"] = nosniff
	d, p := a.checkIn(c, r, parts)
	if p == nil && r.Method == http.MethodOptions {
		webhookHandshake(&c.response, r)
		return
	}
	var answer any
	if p == nil {
		answer, p = a.takeIn(r, d)
	}
	if p != nil {
		p.write(&c.response, r)
		return
	}
	c.Header()["Content-Type"] = plainJSON
	_ = json.NewEncoder(&c.response).Encode(answer) // it is stored, even if the client has disconnected
}

// checkIn returns the source of a request, or a Problem. Everything that does not have a token of
// the role sensor gets the same response.
func (a *API) checkIn(c *call, r *http.Request, parts []string) (*source.Definition, *Problem) {
	if p := a.checkTokenPath(r); p != nil {
		return nil, p
	}
	if r.Method != http.MethodPost && r.Method != http.MethodOptions {
		return nil, problem(http.StatusMethodNotAllowed, plainKind, "%s is not allowed here; use POST", methodLabel(r.Method)).with("Allow", "POST, OPTIONS")
	}
	if len(parts) != 2 {
		return nil, noIn()
	}
	who, ok := a.sensorToken(c, parts[0])
	if !ok {
		return nil, noIn()
	}
	c.who = who
	if p := a.checkWrites(false); p != nil {
		return nil, again(p)
	}
	d := a.catalog.Sources().Get(source.ID(parts[1]))
	if d == nil {
		return nil, problem(http.StatusServiceUnavailable, plainKind, "no source %.140q is active; add or correct its file, and the message is accepted when it is redelivered", parts[1]).with("Retry-After", "60")
	}
	return d, nil
}

func noIn() *Problem {
	return problem(http.StatusNotFound, plainKind, "unknown address; send messages to /in/TOKEN/SOURCE, with a TOKEN of the role sensor")
}

// again returns the response to a message that should be redelivered.
func again(p *Problem) *Problem {
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		if p.header.Get("Retry-After") == "" {
			p.with("Retry-After", "60")
		}
		return p
	}
	later := problem(http.StatusServiceUnavailable, plainKind, "%s", p.Detail).with("Retry-After", "60")
	later.Type, later.cause = p.Type, p.cause
	return later
}

// message is one message of a request, or why it is none.
type message struct {
	event  ingest.Event
	fault  string
	answer string // a code that the service wants back; "" if none
}

// AddressValidation is the response to Event Grid's validation of an address.
type AddressValidation struct {
	ValidationResponse string `json:"validationResponse" doc:"The code that Event Grid sent."`
}

// takeIn writes the readings of the messages of a request.
func (a *API) takeIn(r *http.Request, d *source.Definition) (any, *Problem) {
	messages, err := a.messages(r, d)
	if err != nil {
		return nil, again(problemOf(err))
	}
	var events []ingest.Event
	var faults []string
	var code string
	for _, m := range messages {
		switch {
		case m.answer != "":
			code = m.answer
		case m.fault != "":
			faults = append(faults, m.fault)
		default:
			events = append(events, m.event)
		}
	}
	admit := func(w *store.Write, size int) (func(), error) {
		undo, err := a.admitEvent(r.Context(), whoOf(r.Context()), w, size)
		if p, is := errors.AsType[*Problem](err); is && (p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError) {
			return undo, &ingest.Later{Err: p}
		}
		return undo, err
	}
	result, err := a.intake.TakeEach(r.Context(), events, admit, a.now())
	if err != nil {
		return nil, again(problemOf(err))
	}
	a.metrics.took(events, result)
	result.Problems = a.seenProblems(whoOf(r.Context()), string(d.ID), result.Problems)
	for _, fault := range faults {
		a.metrics.events[d.Format].refused.Inc()
		result.Problems = append(result.Problems, source.EventProblem{Source: d.ID, Write: -1, Message: fault})
	}
	if code != "" {
		return AddressValidation{code}, nil
	}
	return result, nil
}

// messages reads the messages of a request: one, or a list of them. It does not look at the content
// type. An error means that the store failed.
func (a *API) messages(r *http.Request, d *source.Definition) ([]message, error) {
	none := func(why string) []message { return []message{{fault: "nothing is written: " + why}} }
	binary := d.Format == source.CloudEvents && r.Header.Get("Ce-Specversion") != ""
	body, p := a.eventBody(r, !binary || source.IsJSON(r.Header.Get("Content-Type")), true)
	if p != nil && p.Status == http.StatusServiceUnavailable {
		return nil, p
	}
	if p != nil {
		return none(p.Detail), nil
	}
	if binary {
		event, err := source.BinaryEvent(attributes(r), r.Header.Get("Content-Type"), body)
		if err != nil {
			return none(err.Error()), nil
		}
		m, err := a.messageOf(r, d, event, 0)
		return []message{m}, err
	}
	list, batch, err := decodeMessages(body)
	if err != nil {
		return none(err.Error()), nil
	}
	var all []message
	for i, event := range list {
		m, err := a.messageOf(r, d, event, i)
		if err != nil {
			return nil, err
		}
		if batch && m.fault != "" {
			m.fault = fmt.Sprintf("message %d: %s", i, m.fault)
		}
		all = append(all, m)
	}
	return all, nil
}

// messageOf checks and identifies one message, the i-th of its request. An error means that the
// store failed.
func (a *API) messageOf(r *http.Request, d *source.Definition, event map[string]any, i int) (message, error) {
	if code := source.ValidationCode(event); code != "" {
		return message{answer: code}, nil
	}
	if c, is, err := source.ConfirmationOf(event); err != nil {
		return message{fault: err.Error()}, nil
	} else if is {
		if p := mayWriteTo(whoOf(r.Context()), d); p != nil {
			return message{fault: p.Detail}, nil
		}
		return message{fault: c.Asks() + "; `interlock sources` shows the link to open"}, a.intake.Confirm(r.Context(), d.ID, c, a.now())
	}
	if err := source.Check(d.Format, event); err != nil {
		return message{fault: "nothing is written: " + err.Error()}, nil
	}
	e := ingest.Event{Format: d.Format, Source: d.ID, Body: event}
	if d.Format == source.CloudEvents {
		e = cloudEvent(event)
		e.Source = d.ID
	}
	if d.Format == source.JSON {
		e.ID = jsonID(r.Header.Get, event, i)
	}
	return message{event: e}, nil
}

// jsonID returns the id of the i-th message of a request: its own or, as the headers name the
// request, theirs with its place.
func jsonID(header func(string) string, event map[string]any, i int) string {
	id := source.MessageID(header, event)
	if i == 0 || id == "" {
		return id
	}
	if own := source.MessageID(http.Header{}.Get, event); own != "" {
		return own
	}
	return fmt.Sprintf("%s %d", id, i)
}

// mayWriteTo returns a Problem unless a client may write at least one of a source's pipelines. A
// source that takes the pipeline from the message may write any.
func mayWriteTo(who principal, d *source.Definition) *Problem {
	ids, any := d.Pipelines()
	if p := who.may(RoleSensor, ""); p != nil || any {
		return p
	}
	if !slices.ContainsFunc(ids, who.sees) {
		return problem(http.StatusForbidden, plainKind, "the token may write to none of the pipelines of source %s", d.ID)
	}
	return nil
}

// inOperations describes the address for services that cannot set a header.
func inOperations(h huma.API) []*huma.Operation {
	parameters := []*huma.Param{word("path", "token", "A token with the role sensor; on a server without tokens, any text."), word("path", "source", "The source's id.")}
	anything := map[string]*huma.MediaType{"*/*": {Schema: &huma.Schema{}}}
	accepted := jsonAnswer[ingest.Result](h, "The messages were accepted. Event Grid's validation of the address is answered with its code.")
	answers := []*huma.Schema{accepted.Content["application/json"].Schema, schemaOf[AddressValidation](h, "")}
	accepted.Content["application/json"].Schema = &huma.Schema{AnyOf: answers}
	return []*huma.Operation{
		{
			Method: http.MethodPost, Path: inPath, OperationID: "put-message", Tags: []string{"Sources"}, Summary: "Receive a message from a service that cannot set a header, or a list of messages",
			Description: "For SNS, Pub/Sub, Event Grid and others that can only call a URL. Needs no header: the token is in the path. The path is not logged. The content type is ignored. " +
				"What would fail again is a problem in a response with status 200; 429 and 503 ask for the message again.",
			Security: needsNoToken, Parameters: parameters, RequestBody: &huma.RequestBody{Required: true, Content: anything},
			Responses: map[string]*huma.Response{"200": accepted, "default": problems(h)},
		},
		{
			Method: http.MethodOptions, Path: inPath, OperationID: "validate-address", Tags: []string{"Sources"}, Summary: "Answer the validation request of CloudEvents web hooks",
			Description: "Needs no header: the token is in the path.", Security: needsNoToken, Parameters: parameters,
			Responses: map[string]*huma.Response{"200": {Description: "The address accepts events."}, "default": problems(h)},
		},
	}
}
