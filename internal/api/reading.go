package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

func readingView(id pipeline.ID) func(*sensor.Reading) client.Reading {
	return func(r *sensor.Reading) client.Reading {
		data := r.Fields
		if r.Deleted {
			data = sensor.Fields{}
		}
		return client.Reading{
			Pipeline: string(id), Key: string(r.Key), Date: date(r.Period), Data: data, Version: r.Version,
			UpdatedAt: r.UpdatedAt.UTC(), Source: text(r.Source), ExpiresAt: instant(r.ExpiresAt), Deleted: r.Deleted,
		}
	}
}

// OfSensor is the path of a sensor. Like all parts of requests it is exported, because huma ignores
// unexported ones.
type OfSensor struct {
	ID   string `path:"id" doc:"The pipeline's id."`
	Key  string `path:"key" doc:"The sensor's key, percent-encoded (/ is %2F, # is %23), with #period to date the reading."`
	Date string `query:"date" doc:"The period of the reading. Default: the latest write of any period."`
}

type historyInput struct {
	OfSensor
	Paging
}

// Paging selects a page of a list.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"Maximum number of items. A page with large items has fewer."`
	Cursor string `query:"cursor" doc:"The nextCursor of the previous page."`
}

func (a *API) sensorRoutes(h huma.API) {
	register(h, get("/pipelines/{id}/sensors", "list-sensors", "Sensors", "List the latest reading of each sensor of a pipeline, by key"), a.listSensors)
	register(h, get("/pipelines/{id}/sensors/{key}", "get-sensor", "Sensors", "Get a sensor's reading: the one that a rule uses for a period, or the latest"), a.getSensor)
	register(h, get("/pipelines/{id}/sensors/{key}/history", "sensor-history", "Sensors", "List the writes of a sensor, newest first"), a.sensorHistory)
	remove := post("/pipelines/{id}/sensors/{key}", "delete-sensor", "Sensors", "Delete the reading of one period, or the undated one; the history keeps both the write and the deletion")
	remove.method, remove.role = http.MethodDelete, RoleSensor
	register(h, remove, a.deleteSensor)
	batch := post("/sensors", "put-sensors", "Sensors", "Write up to 1000 readings, all or none")
	batch.role, batch.needs = RoleNone, needsSensor // the handler checks the role for each reading
	batch.proves = (*API).provesWriter
	op := batch.operation()
	op.SkipValidateBody = true // the handler parses it, so that an error names the reading
	op.RequestBody = jsonBody[[]BatchItem](h, "BatchItems")
	registerAs(h, op, a.putSensors)
}

func (a *API) listSensors(ctx context.Context, in *struct {
	OfPipeline
	Paging
},
) (*output[List[client.Reading]], error) {
	id, err := a.known(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	page, err := a.store.LatestReadings(ctx, store.LatestQuery{Pipeline: id, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, fmt.Errorf("read sensors of %s: %w", id, err)
	}
	readings := page.Items[:0]
	for _, r := range page.Items {
		if r.Deleted {
			if r, err = a.latest(ctx, id, r.Key); err != nil {
				return nil, err
			}
		}
		if r != nil {
			readings = append(readings, r)
		}
	}
	page.Items = readings
	return answer(list(page, everything, readingView(id))), nil
}

func (a *API) getSensor(ctx context.Context, in *OfSensor) (*output[client.Reading], error) {
	id, q, err := a.sensorQuery(ctx, in)
	if err != nil {
		return nil, err
	}
	if q.Period.IsZero() {
		r, err := a.latest(ctx, id, q.Key)
		if err == nil && r == nil {
			err = a.noReading(ctx, id, q.Key, "")
		}
		if err != nil {
			return nil, err
		}
		return answer(readingView(id)(r)), nil
	}
	answers, err := a.store.Readings(ctx, []store.ReadingQuery{{Pipeline: id, Key: q.Key, Period: q.Period}})
	if err != nil {
		return nil, fmt.Errorf("read sensor %s of %s: %w", q.Key, id, err)
	}
	seen := sensor.ForPeriod(q.Period, answers[0])
	switch {
	case seen.Reading != nil:
		return answer(readingView(id)(seen.Reading)), nil
	case !seen.Other.IsZero():
		return nil, a.noReading(ctx, id, q.Key, fmt.Sprintf(" for %s; there is one for %s", q.Period, seen.Other))
	}
	return nil, a.noReading(ctx, id, q.Key, "")
}

// latest returns the last written reading of any period that is not deleted; nil if there is none.
func (a *API) latest(ctx context.Context, id pipeline.ID, key sensor.Key) (*sensor.Reading, error) {
	q, gone := store.HistoryQuery{Pipeline: id, Key: key, Limit: 10}, map[period.Period]bool{}
	for {
		page, err := a.store.History(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read sensor %s of %s: %w", key, id, err)
		}
		for _, r := range page.Items {
			if gone[r.Period] = gone[r.Period] || r.Deleted; !gone[r.Period] {
				return r, nil
			}
		}
		if page.Next == "" {
			return nil, nil
		}
		q.Cursor = page.Next
	}
}

// deleteSensor deletes the reading of one period, or the undated one.
func (a *API) deleteSensor(ctx context.Context, in *struct {
	ID     string `path:"id" doc:"The pipeline's id."`
	Key    string `path:"key" doc:"The sensor's key, percent-encoded (/ is %2F, # is %23), with #period to date the reading."`
	Date   string `query:"date" doc:"The period whose reading is deleted. Without it and without #period, the undated reading is deleted."`
	Source string `query:"source" maxLength:"200" doc:"The name of who deletes it."`
},
) (*output[client.Written], error) {
	id, q, err := a.sensorQuery(ctx, &OfSensor{ID: in.ID, Key: in.Key, Date: in.Date})
	if err != nil {
		return nil, err
	}
	if _, _, err := sensor.ExternalKey(in.Key); err != nil {
		return nil, badRequest("%s", err)
	}
	if err := a.deletable(ctx, id, q); err != nil {
		return nil, err
	}
	undo, p := a.quotas.write(whoOf(ctx), id, 0, a.now())
	if p != nil {
		return nil, p
	}
	gone := sensor.Reading{Key: q.Key, Period: q.Period, Source: whoOf(ctx).by(in.Source), Deleted: true}
	puts, err := a.store.PutReadings(context.WithoutCancel(ctx), []store.Write{{Pipeline: id, Reading: gone}}, a.now())
	if err != nil {
		undo()
		return nil, fmt.Errorf("delete sensor %s of %s: %w", q.Key, id, err)
	}
	a.metrics.writes.Inc()
	return answer(writtenView(puts[0], q.Period)), nil
}

// deletable returns an error unless there is a reading of exactly that period.
func (a *API) deletable(ctx context.Context, id pipeline.ID, q store.ReadingQuery) error {
	answers, err := a.store.Readings(ctx, []store.ReadingQuery{{Pipeline: id, Key: q.Key, Period: q.Period}})
	if err != nil {
		return fmt.Errorf("read sensor %s of %s: %w", q.Key, id, err)
	}
	note := ""
	for _, r := range answers[0] {
		switch {
		case r.Deleted:
		case r.Period == q.Period:
			return nil
		case r.Period.IsZero():
			note = "; there is an undated one"
		default:
			note = fmt.Sprintf("; there is one for %s", r.Period)
		}
	}
	if q.Period.IsZero() {
		if note == "" {
			note = a.nearKey(ctx, id, q.Key)
		}
		return problem(http.StatusNotFound, unknownSensor, "pipeline %s has no undated reading of %s%s", id, q.Key, note)
	}
	return a.noReading(ctx, id, q.Key, fmt.Sprintf(" for %s%s", q.Period, note))
}

func (a *API) sensorHistory(ctx context.Context, in *historyInput) (*output[List[client.Reading]], error) {
	id, q, err := a.sensorQuery(ctx, &in.OfSensor)
	if err != nil {
		return nil, err
	}
	page, err := a.store.History(ctx, store.HistoryQuery{Pipeline: id, Key: q.Key, Period: q.Period, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, fmt.Errorf("read history of sensor %s of %s: %w", q.Key, id, err)
	}
	if len(page.Items) == 0 && in.Cursor == "" && q.Period.IsZero() && !a.catalog.Uses(id, q.Key) {
		return nil, a.noReading(ctx, id, q.Key, "")
	}
	return answer(list(page, everything, readingView(id))), nil
}

// sensorQuery returns the sensor that a path names, with the period from its suffix or the query.
func (a *API) sensorQuery(ctx context.Context, in *OfSensor) (pipeline.ID, store.ReadingQuery, error) {
	var q store.ReadingQuery
	id, err := a.known(ctx, in.ID)
	if err != nil {
		return id, q, err
	}
	q.Key, q.Period, err = sensor.ParseKey(in.Key)
	if err != nil {
		return id, q, badRequest("%s", err)
	}
	if in.Date != "" {
		var p *Problem
		if q.Period, p = parsePeriod("query.date", in.Date); p != nil {
			return id, q, p
		}
	}
	return id, q, nil
}

// known returns the id of a pipeline that is or was active: the history of a removed one stays.
func (a *API) known(ctx context.Context, sent string) (pipeline.ID, error) {
	id := pipeline.ID(sent)
	if a.catalog.Current().Get(id) != nil {
		return id, nil
	}
	_, err := a.row(ctx, id)
	return id, err
}

// everything is the filter of lists in which the client may see every item.
func everything[T any](T) bool { return true }
