package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// sensorPath is the path of a sensor. A / in a key is sent as %2F, a # as %23.
const (
	sensorPath = prefix + "/pipelines/{id}/sensors/{key}"
	putPattern = http.MethodPut + " " + sensorPath
)

// putSensor stores one reading. The body is the reading's data and nothing else, whatever its
// content type.
func (a *API) putSensor(w http.ResponseWriter, r *http.Request) {
	in := incoming{pipeline: pipeline.ID(r.PathValue("id")), key: r.PathValue("key")}
	c := callOf(r.Context())
	p := in.read(c, r)
	var answer client.Written
	if p == nil {
		answer, p = a.putReading(c, in)
	}
	if p != nil {
		a.metrics.refusals.Inc()
		p.write(w, r)
		return
	}
	a.metrics.writes.Inc()
	w.Header()["Content-Type"] = plainJSON
	_ = json.NewEncoder(w).Encode(answer) // it is stored, even if the client has disconnected
}

// putReading checks and stores a reading.
func (a *API) putReading(c *call, in incoming) (client.Written, *Problem) {
	write, undo, p := a.reading(c, c.who, grants{}, in)
	if p != nil {
		return client.Written{}, p
	}
	// An accepted reading is stored even if the client disconnects: otherwise the client could not
	// know whether it was.
	puts, err := a.store.PutReadings(context.WithoutCancel(c), []store.Write{write}, a.now())
	if err != nil {
		undo()
		return client.Written{}, problemOf(fmt.Errorf("store reading %s of %s: %w", write.Reading.Key, write.Pipeline, err))
	}
	written := writtenView(puts[0], write.Reading.Period)
	written.Warning = a.unread(write.Pipeline, write.Reading.Key)
	return written, nil
}

func writtenView(put store.Put, p period.Period) client.Written {
	return client.Written{Version: put.Version, UpdatedAt: put.UpdatedAt.UTC(), Date: date(p)}
}

// read fills in the reading that a request carries, if its client may write it.
func (in *incoming) read(c *call, r *http.Request) (p *Problem) {
	if p := c.who.mayWrite(in.pipeline); p != nil {
		return p
	}
	if isPermit(c.who.callback) {
		if err := c.api.provesWriter(c, OfRun{}); err != nil {
			return problemOf(err)
		}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return problem(http.StatusUnsupportedMediaType, plainKind, "content encoding %.40q is not supported; send plain JSON", encoding)
	}
	c.limit(r, bodyRule{bytes: sensor.MaxBytes, values: maxValues, from: &c.api.bodies})
	if in.data, p = readBody(r); p != nil {
		return p
	}
	if query := r.URL.RawQuery; query != "" {
		q := r.URL.Query()
		in.source, in.ttl, in.expiresAt = q.Get("source"), q.Get("ttl"), q.Get("expiresAt")
	}
	return nil
}

// readBody reads the data of one reading.
func readBody(r *http.Request) ([]byte, *Problem) {
	data, err := io.ReadAll(r.Body)
	p, why := problemOfBody(err)
	switch {
	case err == nil:
		return data, nil
	case why == bodyTooLarge:
		return nil, tooLarge()
	}
	return nil, p
}

func tooLarge() *Problem {
	return problem(http.StatusRequestEntityTooLarge, plainKind, "the reading's data is too large; at most %d bytes are allowed", sensor.MaxBytes)
}

// incoming is a reading as the client sent it.
type incoming struct {
	pipeline  pipeline.ID
	key       string
	data      []byte
	source    string
	ttl       string
	expiresAt string
}

// maxSource is the longest name of a reading's source.
const maxSource = 200

// reading checks an incoming reading, and counts it against the limits of its pipeline. It does not
// retain in.data. g are the grants of the request.
func (a *API) reading(ctx context.Context, who principal, g grants, in incoming) (write store.Write, undo func(), p *Problem) {
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
	if err != nil {
		return store.Write{}, nil, badRequest("%s", err)
	}
	if who, p = g.writer(ctx, a, who, in.pipeline, key, date); p != nil {
		return store.Write{}, nil, p
	}
	return a.write(ctx, who, in, sensor.Reading{Key: key, Period: date, Fields: fields})
}

// write completes a reading that the client may write.
func (a *API) write(ctx context.Context, who principal, in incoming, r sensor.Reading) (write store.Write, undo func(), p *Problem) {
	e, p := a.entry(ctx, in.pipeline)
	if p != nil {
		return store.Write{}, nil, p
	}
	err := a.catalog.Current().CheckDate(in.pipeline, r.Key, r.Period, a.now(), a.settings.MaxFuture)
	if errors.Is(err, catalog.ErrTooFar) {
		err = fmt.Errorf("%w, or raise sensors.maxFuture in the server's file", err)
	}
	if err != nil {
		return store.Write{}, nil, badRequest("%s", err)
	}
	if len(in.source) > maxSource {
		return store.Write{}, nil, badRequest("source has %d characters; at most %d are allowed", len(in.source), maxSource)
	}
	if r.ExpiresAt, p = a.expiry(in); p != nil {
		return store.Write{}, nil, p
	}
	r.Source = who.by(in.source)
	undo, p = a.admit(ctx, who, e, r, len(in.data))
	return store.Write{Pipeline: in.pipeline, Reading: r}, undo, p
}

// expiry returns when a reading expires.
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
			return time.Time{}, badRequest("expiresAt %.60q is not a time; write it like 2026-03-03T10:00:00Z", in.expiresAt)
		}
		return at, p
	}
	return time.Time{}, nil
}
