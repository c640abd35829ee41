package api

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/internal/source"
)

// The largest bodies in bytes.
const (
	maxBody      = 1 << 20
	maxLogin     = 4 << 10
	maxRequest   = 64 << 10  // of a claim, trigger or pause
	maxJobReport = 512 << 10 // of a heartbeat or report: JSON may need six bytes for each byte of 64 KiB of output
)

// A body must arrive within bodyTime. The handler has as long as the server allows any request.
const (
	bodyTime    = 10 * time.Second
	handlerTime = 30 * time.Second
)

var (
	errBusy = errors.New("the memory for request bodies is in use")
	errSlow = errors.New("the request body did not arrive in time")

	errTooCostly = errors.New("the request body needs more memory than the server uses for bodies; send less in one request")
)

// bodyRule says what a body may be.
type bodyRule struct {
	bytes  int64
	values int           // in its JSON, whose levels are limited too; 0 means that it is not JSON
	nested bool          // a source may decode its text as JSON once more
	from   *budget       // what it reserves memory of; never nil while a body is read
	time   time.Duration // for the handler, once the body has arrived; 0 means handlerTime
}

// body reads a request body within the limits of its rule. It reserves memory as the body arrives,
// so that a slow client holds no more than it has sent, and memory for the decoded values with the
// last byte, before anything decodes them. The reservation lasts until the response.
type body struct {
	bodyRule
	in       io.ReadCloser
	w        http.ResponseWriter
	control  *http.ResponseController // nil until the body turns out not to arrive at once
	scan     scan
	length   int64
	reserved int64
	err      error
}

// limit makes the body of the call's request follow a rule. The client must have been authenticated
// before.
func (c *call) limit(r *http.Request, rule bodyRule) {
	c.body = body{bodyRule: rule, in: r.Body, w: &c.response}
	switch {
	case r.ContentLength > rule.bytes:
		c.body.err = &http.MaxBytesError{Limit: rule.bytes}
	case !rule.from.room(r.ContentLength * costPerByte):
		c.body.err = errBusy // without reading what could not be kept
	}
	r.Body = &c.body
}

// Close closes the body of the request. The reservation remains.
func (b *body) Close() error { return b.in.Close() }

// Read returns an error once the body breaks its rule; that error stays.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.in.Read(p)
	b.err = b.check(p[:n], err)
	if b.err != nil && !errors.Is(b.err, io.EOF) {
		return 0, b.err
	}
	return n, b.err
}

// check returns the error to end reading with after the next bytes, or nil.
func (b *body) check(p []byte, err error) error {
	b.length += int64(len(p))
	if b.length > b.bytes {
		return &http.MaxBytesError{Limit: b.bytes}
	}
	if b.values > 0 {
		if err := b.scan.add(p, b.values); err != nil {
			return err
		}
	}
	cost := b.length * costPerByte
	if err != nil {
		cost += b.decoded()
	}
	if b.from.never(cost) {
		return errTooCostly
	}
	if !b.reserve(cost) {
		return errBusy
	}
	return b.inTime(err)
}

// decoded returns what decoding the body costs.
func (b *body) decoded() int64 {
	cost := b.scan.values()*costPerValue + b.scan.objects*costPerObject
	if b.nested {
		cost += min(b.scan.text*costPerText, maxNestedCost)
	}
	return int64(cost)
}

// reserve reserves memory up to a total.
func (b *body) reserve(total int64) bool {
	more := total - b.reserved
	if more <= 0 {
		return true
	}
	if !b.from.reserve(more, b.reserved) {
		return false
	}
	b.reserved = total
	return true
}

// inTime sets the deadline for a body that does not arrive with its first read, and lifts it at the
// end: afterwards a passed deadline would cancel the request.
func (b *body) inTime(err error) error {
	switch {
	case err == nil && b.control == nil:
		b.control = http.NewResponseController(b.w)
		_ = b.control.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has no connection
	case errors.Is(err, io.EOF) && b.control != nil:
		_ = b.control.SetReadDeadline(time.Now().Add(max(b.time, handlerTime)))
	case err != nil && !errors.Is(err, io.EOF):
		if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
			return errSlow
		}
	}
	return err
}

// free returns what the body reserved. It is safe to call for a request without a limited body.
func (b *body) free() {
	if b.from != nil {
		b.from.release(b.reserved)
		b.reserved = 0
	}
}

// eventBody reads the body of a request, which OpenLineage clients may compress. isJSON says whether
// it will be decoded, and nested whether a source may decode its texts once more.
func (a *API) eventBody(r *http.Request, isJSON, nested bool) ([]byte, *Problem) {
	rule := bodyRule{bytes: maxBody, from: &a.bodies, nested: nested}
	if isJSON {
		rule.values = maxValues
	}
	remedy := "send fewer events, or compress them with gzip"
	c := callOf(r.Context())
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		remedy = "send fewer events"
		if r.ContentLength > maxBody {
			return nil, tooMany(remedy)
		}
		packed := http.MaxBytesReader(&c.response, r.Body, maxBody)
		unzipped, err := gzip.NewReader(packed)
		if err != nil {
			return nil, badRequest("Content-Encoding is gzip, but the body is not: %s", err)
		}
		r.Body, r.ContentLength, rule.bytes = unzipped, -1, source.MaxEvent
	default:
		return nil, problem(http.StatusUnsupportedMediaType, plainKind, "content encoding %.40q is not supported; send gzip or none", encoding)
	}
	c.limit(r, rule)
	body, err := io.ReadAll(r.Body)
	if limit, over := errors.AsType[*http.MaxBytesError](err); over && limit.Limit == maxBody {
		return nil, tooMany(remedy)
	} else if over {
		return nil, problem(http.StatusRequestEntityTooLarge, plainKind, "the request body is too large when unzipped; at most %d bytes are allowed: send fewer events", source.MaxEvent)
	}
	if err != nil {
		p, _ := problemOfBody(err)
		return nil, p
	}
	return body, nil
}

// tooMany is the response to a body that is too large as it was sent.
func tooMany(remedy string) *Problem {
	return problem(http.StatusRequestEntityTooLarge, plainKind, "the request body is too large; at most %d bytes are allowed: %s", maxBody, remedy)
}

// The reasons to reject a body, as the metric names them.
const (
	bodyTooLarge = "size"
	bodyTooDeep  = "depth"
	bodyTooWide  = "values"
	bodyTooSlow  = "slow"
	bodyNoRoom   = "busy"
)

// problemOfBody returns the response to an error of reading a body, and the reason to reject it; ""
// if the client did not send all of it.
func problemOfBody(err error) (*Problem, string) {
	limit, over := errors.AsType[*http.MaxBytesError](err)
	wide, tooMany := errors.AsType[tooWide](err)
	switch {
	case over:
		return problem(http.StatusRequestEntityTooLarge, plainKind, "the request body is too large; at most %d bytes are allowed", limit.Limit), bodyTooLarge
	case errors.Is(err, errTooDeep):
		return badRequest("%s", errTooDeep), bodyTooDeep
	case tooMany:
		return problem(http.StatusRequestEntityTooLarge, plainKind, "%s", wide), bodyTooWide
	case errors.Is(err, errTooCostly):
		return problem(http.StatusRequestEntityTooLarge, plainKind, "%s", errTooCostly), bodyTooWide
	case errors.Is(err, errSlow):
		return problem(http.StatusRequestTimeout, plainKind, "%s; send it within %s", errSlow, bodyTime), bodyTooSlow
	case errors.Is(err, errBusy):
		return problem(http.StatusServiceUnavailable, busy, "the server is handling as many request bodies as its memory allows; nothing was stored: send the request again").
			with("Retry-After", "1"), bodyNoRoom
	}
	return badRequest("read the request body: %s", err), ""
}
