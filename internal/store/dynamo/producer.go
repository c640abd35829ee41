package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
)

// produced parses a sensor row as its producer wrote it: SENSOR#{key}, with its fields as
// attributes or in a map named data. An error describes the producer's mistake.
func (r Record) produced(id pipeline.ID) (*record.Produced, error) {
	key, suffix, err := sensor.ExternalKey(strings.TrimPrefix(r.Image.text("SK"), sensorPrefix))
	if err != nil {
		return nil, err
	}
	fields, err := r.fields()
	if err != nil {
		return nil, err
	}
	p := &record.Produced{Row: r.Image.text("SK"), Sequence: r.Sequence, At: r.At}
	p.Write = store.Write{Pipeline: id, Reading: sensor.Reading{Key: key, Fields: fields}}
	if p.Write.Reading.Period, err = sensor.PeriodOf(fields, suffix); err != nil {
		return nil, err
	}
	if gone := r.Image.number(TTL); gone > 0 {
		if gone > latest {
			return nil, fmt.Errorf("%s is %d, which is after the year 9999; write seconds since 1970, not milliseconds",
				TTL, gone)
		}
		p.Write.Reading.ExpiresAt = time.Unix(gone, 0).UTC()
	}
	return p, nil
}

// latest is the last second of the year 9999: later times cannot be read back as written.
const latest = 253402300799

// fields returns the fields under data or, without it, all attributes that are not the table's own.
func (r Record) fields() (sensor.Fields, error) {
	all := map[string]any{}
	from := map[string]types.AttributeValue(r.Image)
	nested, is := r.Image["data"].(*types.AttributeValueMemberM)
	if is {
		from = nested.Value
	}
	for name, value := range from {
		if !is && (name == "PK" || name == "SK" || name == TTL) {
			continue
		}
		v, err := plainValue(value)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		all[name] = v
	}
	normal, err := sensor.Normalize(all)
	if err != nil {
		return nil, err
	}
	fields := sensor.Fields(normal.(map[string]any))
	if size, err := json.Marshal(fields); err != nil || len(size) > sensor.MaxBytes {
		return nil, fmt.Errorf("the data has %d bytes, and may have %d", len(size), sensor.MaxBytes)
	}
	return fields, nil
}

var errBinary = errors.New("is binary, which no rule can read; write a text, number, bool, list or map")

// plainValue converts an attribute to a reading's value.
func plainValue(v types.AttributeValue) (any, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value, nil
	case *types.AttributeValueMemberN:
		return plainNumber(v.Value)
	case *types.AttributeValueMemberBOOL:
		return v.Value, nil
	case *types.AttributeValueMemberNULL:
		return nil, nil
	case *types.AttributeValueMemberSS:
		return anyList(v.Value, func(s string) (any, error) { return s, nil })
	case *types.AttributeValueMemberNS:
		return anyList(v.Value, plainNumber)
	case *types.AttributeValueMemberL:
		return anyList(v.Value, plainValue)
	case *types.AttributeValueMemberM:
		inner := map[string]any{}
		for name, value := range v.Value {
			plain, err := plainValue(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			inner[name] = plain
		}
		return inner, nil
	default:
		return nil, errBinary
	}
}

func anyList[T any](list []T, plain func(T) (any, error)) (any, error) {
	out := []any{}
	for _, item := range list {
		v, err := plain(item)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// plainNumber keeps integers exact.
func plainNumber(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(text, 64)
}

// Produced reads the current rows of a pipeline's producers, as if each had been written at the
// given time. It leaves out invalid ones.
func (t *tables) Produced(ctx context.Context, id pipeline.ID, at time.Time) (all []record.Produced, err error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	of := span{table: Control, hash: pipelinePrefix + string(id), low: sensorPrefix, high: sensorPrefix + last}
	for {
		rows, err := t.query(ctx, &of, store.MaxPage)
		if err != nil {
			return nil, fmt.Errorf("read the sensors of %s: %w", id, err)
		}
		for _, r := range rows {
			if p, err := (Record{Image: r, At: at}).produced(id); err == nil {
				all = append(all, *p)
			}
		}
		if of.next == nil {
			return all, nil
		}
	}
}

// Files are the files deployed in the tables.
type Files struct{ Pipelines, Calendars, Archetypes, Sources []pipeline.Source }

// Files reads all of them. Their index places were written by the deployment.
func (t *tables) Files(ctx context.Context) (Files, error) {
	rows, err := t.list(ctx, span{table: Control, index: listed, hash: "FILE", low: " ", high: last}, math.MaxInt)
	if err != nil {
		return Files{}, fmt.Errorf("list the files: %w", err)
	}
	var f Files
	for _, r := range rows {
		f.add(r)
	}
	return f, nil
}

// FileName returns the name of the file in a row.
func FileName(pk string) string {
	kind, name, _ := strings.Cut(pk, "#")
	return strings.ToLower(kind) + "/" + name
}

func (r Row) file() pipeline.Source {
	return pipeline.Source{File: FileName(r.text("PK")), Data: []byte(r.text("config"))}
}

func (f *Files) add(row Row) {
	source := row.file()
	switch kind, _, _ := strings.Cut(row.text("PK"), "#"); kind {
	case "PIPELINE":
		f.Pipelines = append(f.Pipelines, source)
	case "CALENDAR":
		f.Calendars = append(f.Calendars, source)
	case "ARCHETYPE":
		f.Archetypes = append(f.Archetypes, source)
	case "SOURCE":
		f.Sources = append(f.Sources, source)
	}
}

// RequestRerun writes a row that requests another attempt, replacing an earlier request for the
// same run. The stream-router answers it.
func (t *tables) RequestRerun(ctx context.Context, q RerunRequest, now time.Time) error {
	r := Row{
		"id": text(q.ID), "requestedAt": text(now.UTC().Format(time.RFC3339Nano)),
		"force": truth(q.Force), "bypassGate": truth(q.BypassGate),
	}
	r.set("reason", q.Reason)
	r.set("requestedBy", q.By)
	sk := rerunRequest + join(string(q.Key.Schedule), q.Key.Period.String())
	if err := t.put(ctx, address{Control, pipelinePrefix + string(q.Key.Pipeline), sk}, r); err != nil {
		return fmt.Errorf("request another attempt of %s: %w", q.Key, err)
	}
	return nil
}

// requests is the partition of requests about all pipelines.
const requests = "REQUESTS"

// requestLife is how long the row of a request is kept.
const requestLife = 24 * time.Hour

// Request writes a row with an operator's request, as JSON, about a pipeline or, if id is "", about
// all. The stream-router carries it out.
func (t *tables) Request(ctx context.Context, id pipeline.ID, name string, body []byte, now time.Time) error {
	at := address{Control, pipelinePrefix + string(id), request + cut(name)}
	if id == "" {
		at.pk = requests
	}
	r := Row{
		"request": text(string(body)), "requestedAt": text(now.UTC().Format(time.RFC3339Nano)),
		TTL: expires(now.Add(requestLife)),
	}
	if err := t.put(ctx, at, r); err != nil {
		return fmt.Errorf("write the request to the control table: %w", err)
	}
	return nil
}
