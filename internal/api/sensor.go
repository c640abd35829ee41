package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// sensorPath is where one sensor lies. A key's / is sent as %2F, its # as %23.
const (
	sensorPath = prefix + "/pipelines/{id}/sensors/{key}"
	putPattern = http.MethodPut + " " + sensorPath
)

// buffers hold the bodies of sensor writes, and the answers to them.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// sensorWrite says which sensor a request writes, where that is plain to see: no mux and no copy of the request are needed
// then. What is escaped, long or odd in any way takes the usual way, which ends in putSensor.
func sensorWrite(r *http.Request) (id, key string, ok bool) {
	if r.Method != http.MethodPut || r.URL.RawPath != "" || r.ContentLength < 0 || r.ContentLength > maxBody {
		return "", "", false
	}
	rest, ok := strings.CutPrefix(r.URL.Path, prefix+"/pipelines/")
	if !ok {
		return "", "", false
	}
	id, rest, _ = strings.Cut(rest, "/")
	key, ok = strings.CutPrefix(rest, "sensors/")
	return id, key, ok && segment(id) && segment(key)
}

// segment says that text is one segment of a path, and means nothing else.
func segment(text string) bool {
	return text != "" && text != "." && text != ".." && !strings.Contains(text, "/")
}

// putSensor takes a reading by the usual way.
func (a *API) putSensor(_ http.ResponseWriter, r *http.Request) {
	a.takeWrite(callOf(r.Context()), r, r.PathValue("id"), r.PathValue("key"))
}

// takeWrite takes one reading. It is the busiest path there is and does without everything that it can do without: the
// body is the reading's data and nothing else, whatever its content type says.
func (a *API) takeWrite(c *call, r *http.Request, id, key string) {
	buf, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	put, write, p := a.takeSensor(c, r, incoming{pipeline: pipeline.ID(id), key: key}, buf)
	if p != nil {
		a.metrics.refusals.Inc()
		p.write(&c.response, r.WithContext(c))
		return
	}
	a.metrics.writes.Inc()
	buf.Reset()
	body := buf.AvailableBuffer()
	body = append(body, `{"version":`...)
	body = strconv.AppendInt(body, put.Version, 10)
	body = append(body, `,"updatedAt":"`...)
	body = put.UpdatedAt.UTC().AppendFormat(body, time.RFC3339Nano)
	body = append(body, `","date":`...)
	if date := write.Reading.Period; date.IsZero() {
		body = append(body, "null}\n"...)
	} else {
		body = append(body, `"`+date.String()+"\"}\n"...)
	}
	c.Header()["Content-Type"] = plainJSON // the length of so short an answer is added by the server
	_, _ = c.Write(body)                   // it is stored, whether or not the client still wants to know
}

// takeSensor checks and stores the reading that a request carries; its body goes through buf.
func (a *API) takeSensor(c *call, r *http.Request, in incoming, buf *bytes.Buffer) (store.Put, store.Write, *Problem) {
	write, undo, p := a.readWrite(c.who, r, in, buf)
	if p != nil {
		return store.Put{}, write, p
	}
	// What was taken is stored, also if the client has gone meanwhile: he would not know otherwise whether it was.
	puts, err := a.store.PutReadings(context.WithoutCancel(c), []store.Write{write}, a.now())
	if err != nil {
		undo()
		return store.Put{}, write, problemOf(fmt.Errorf("store reading %s of %s: %w", write.Reading.Key, write.Pipeline, err))
	}
	return puts[0], write, nil
}

// readWrite is the write that a request asks for. Undo takes back what was counted for it.
func (a *API) readWrite(who principal, r *http.Request, in incoming, buf *bytes.Buffer) (write store.Write, undo func(), p *Problem) {
	if p := who.may(RoleSensor, in.pipeline); p != nil {
		return store.Write{}, nil, p
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return store.Write{}, nil, problem(http.StatusUnsupportedMediaType, plainKind, "content encoding %.40q is not understood; send plain JSON", encoding)
	}
	if p := readBody(buf, r); p != nil {
		return store.Write{}, nil, p
	}
	in.data = buf.Bytes()
	if query := r.URL.RawQuery; query != "" {
		q := r.URL.Query()
		in.source, in.ttl, in.expiresAt = q.Get("source"), q.Get("ttl"), q.Get("expiresAt")
	}
	return a.reading(r.Context(), who, in)
}

// readBody reads the data of one reading.
func readBody(buf *bytes.Buffer, r *http.Request) *Problem {
	if r.ContentLength > sensor.MaxBytes {
		return tooLarge()
	}
	err := readAll(buf, r)
	if err == nil && buf.Len() <= sensor.MaxBytes {
		return nil
	}
	if limit := new(http.MaxBytesError); err == nil || errors.As(err, &limit) {
		return tooLarge()
	}
	return badRequest("the body could not be read to its end: %s", err)
}

// readAll reads the body: as much as it says it has or, where it does not say, as may be and a little more.
func readAll(buf *bytes.Buffer, r *http.Request) error {
	if r.ContentLength < 0 {
		_, err := io.Copy(buf, io.LimitReader(r.Body, sensor.MaxBytes+1))
		return err
	}
	buf.Grow(int(r.ContentLength))
	body := buf.AvailableBuffer()[:r.ContentLength]
	_, err := io.ReadFull(r.Body, body)
	_, _ = buf.Write(body) // never fails, and stays where it is
	return err
}

func tooLarge() *Problem {
	return problem(http.StatusRequestEntityTooLarge, plainKind, "a reading's data has at most %d bytes", sensor.MaxBytes)
}

// incoming is a reading as it was sent.
type incoming struct {
	pipeline  pipeline.ID
	key       string
	data      []byte
	source    string
	ttl       string
	expiresAt string
}

// maxSource is how long the name of a reading's source may be.
const maxSource = 200

// reading checks what was sent, and counts it against the limits of its pipeline. It keeps nothing of in.data.
func (a *API) reading(ctx context.Context, who principal, in incoming) (write store.Write, undo func(), p *Problem) {
	e, p := a.entry(ctx, in.pipeline)
	if p != nil {
		return store.Write{}, nil, p
	}
	key, suffix, err := sensor.ExternalKey(in.key)
	if err != nil {
		return store.Write{}, nil, badRequest("%s", err)
	}
	if len(in.data) > sensor.MaxBytes {
		return store.Write{}, nil, tooLarge()
	}
	fields, err := sensor.Decode(in.data)
	if err != nil {
		return store.Write{}, nil, badRequest("%s", err)
	}
	date, err := sensor.PeriodOf(fields, suffix)
	if err == nil {
		err = a.catalog.Current().CheckDate(in.pipeline, key, date, a.now(), a.settings.MaxFuture)
	}
	if errors.Is(err, catalog.ErrTooFar) {
		err = fmt.Errorf("%w, or raise sensors.maxFuture in the server's file", err)
	}
	if err != nil {
		return store.Write{}, nil, badRequest("%s", err)
	}
	if len(in.source) > maxSource {
		return store.Write{}, nil, badRequest("source has %d characters; at most %d are allowed", len(in.source), maxSource)
	}
	expires, p := a.expiry(in)
	if p != nil {
		return store.Write{}, nil, p
	}
	write = store.Write{Pipeline: in.pipeline, Reading: sensor.Reading{
		Key: key, Period: date, Fields: fields, Source: who.by(in.source), ExpiresAt: expires,
	}}
	undo, p = a.admit(ctx, e, write.Reading, len(in.data))
	return write, undo, p
}

// expiry is when a reading ceases to count.
func (a *API) expiry(in incoming) (time.Time, *Problem) {
	switch {
	case in.ttl != "" && in.expiresAt != "":
		return time.Time{}, badRequest("give ttl or expiresAt, not both")
	case in.ttl != "":
		ttl, err := document.ParseDuration(in.ttl)
		if err != nil || ttl <= 0 {
			return time.Time{}, badRequest("ttl %.60q is not a duration above 0; write it like 2h", in.ttl)
		}
		return a.now().Add(ttl).UTC(), nil
	case in.expiresAt != "":
		at, ok, p := parseTime("expiresAt", in.expiresAt)
		if !ok {
			return time.Time{}, badRequest("expiresAt %.60q is not an instant; write it like 2026-03-03T10:00:00Z", in.expiresAt)
		}
		return at, p
	}
	return time.Time{}, nil
}
