package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Reading is one write of a sensor.
type Reading struct {
	Pipeline  string         `json:"pipeline"`
	Key       string         `json:"key" doc:"The sensor's key, without its period."`
	Date      *string        `json:"date" doc:"The period it is for; null if it is undated."`
	Data      map[string]any `json:"data" doc:"The fields that were written."`
	Version   int64          `json:"version"`
	UpdatedAt time.Time      `json:"updatedAt"`
	Source    *string        `json:"source" doc:"Who wrote it, where that is known."`
	ExpiresAt *time.Time     `json:"expiresAt" doc:"From when on it no longer counts; null if it always does."`
}

func readingView(id pipeline.ID) func(*sensor.Reading) Reading {
	return func(r *sensor.Reading) Reading {
		return Reading{
			Pipeline: string(id), Key: string(r.Key), Date: date(r.Period), Data: r.Fields, Version: r.Version,
			UpdatedAt: r.UpdatedAt.UTC(), Source: text(r.Source), ExpiresAt: instant(r.ExpiresAt),
		}
	}
}

// OfSensor is the path of a sensor. It is exported, like all parts of requests, because huma looks into no other.
type OfSensor struct {
	ID   string `path:"id" doc:"The pipeline's id."`
	Key  string `path:"key" doc:"The sensor's key, percent-encoded (/ is %2F, # is %23), with #period if need be."`
	Date string `query:"date" doc:"The period to look for; unless said, the latest write counts, whatever its period."`
}

type historyInput struct {
	OfSensor
	Paging
}

// Paging is which page of a list is asked for.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many items at most."`
	Cursor string `query:"cursor" doc:"The nextCursor of the page before."`
}

func (a *API) sensorRoutes(h huma.API) {
	register(h, get("/pipelines/{id}/sensors", "list-sensors", "Sensors", "The latest reading of every key of a pipeline, by key"), a.listSensors)
	register(h, get("/pipelines/{id}/sensors/{key}", "get-sensor", "Sensors", "A sensor's reading: for a period what a rule sees, else the latest"), a.getSensor)
	register(h, get("/pipelines/{id}/sensors/{key}/history", "sensor-history", "Sensors", "The writes of a sensor, newest first"), a.sensorHistory)
	batch := post("/sensors", "put-sensors", "Sensors", "Write up to 1000 readings, all of them or none")
	batch.role = RoleSensor
	op := batch.operation()
	op.SkipValidateBody = true // it is read by hand, so that an error names the reading
	op.RequestBody = jsonBody[[]BatchItem](h, "BatchItems")
	registerAs(h, op, a.putSensors)
}

func (a *API) listSensors(ctx context.Context, in *struct {
	ID string `path:"id" doc:"The pipeline's id."`
},
) (*output[List[Reading]], error) {
	id, err := a.known(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	readings, err := a.store.LatestReadings(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read sensors of %s: %w", id, err)
	}
	return answer(list(store.Page[*sensor.Reading]{Items: readings}, everything, readingView(id))), nil
}

func (a *API) getSensor(ctx context.Context, in *OfSensor) (*output[Reading], error) {
	id, q, err := a.sensorQuery(ctx, in)
	if err != nil {
		return nil, err
	}
	if q.Period.IsZero() {
		return a.latest(ctx, id, q.Key)
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
		return nil, noReading(id, q.Key, fmt.Sprintf(" for %s; there is one for %s", q.Period, seen.Other))
	}
	return nil, noReading(id, q.Key, "")
}

// latest is the reading that was written last, whatever its period.
func (a *API) latest(ctx context.Context, id pipeline.ID, key sensor.Key) (*output[Reading], error) {
	page, err := a.store.History(ctx, store.HistoryQuery{Pipeline: id, Key: key, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("read sensor %s of %s: %w", key, id, err)
	}
	if len(page.Items) == 0 {
		return nil, noReading(id, key, "")
	}
	return answer(readingView(id)(page.Items[0])), nil
}

func noReading(id pipeline.ID, key sensor.Key, note string) *Problem {
	return problem(http.StatusNotFound, unknownSensor, "pipeline %s has no reading of %s%s", id, key, note)
}

func (a *API) sensorHistory(ctx context.Context, in *historyInput) (*output[List[Reading]], error) {
	id, q, err := a.sensorQuery(ctx, &in.OfSensor)
	if err != nil {
		return nil, err
	}
	page, err := a.store.History(ctx, store.HistoryQuery{Pipeline: id, Key: q.Key, Period: q.Period, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, fmt.Errorf("read history of sensor %s of %s: %w", q.Key, id, err)
	}
	return answer(list(page, everything, readingView(id))), nil
}

// sensorQuery is the sensor that a path names, and the period that its suffix or the query does.
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
		p, problem := parsePeriod("query.date", in.Date)
		if problem != nil {
			return id, q, problem
		}
		q.Period = p
	}
	return id, q, nil
}

// known is the id of a pipeline that is in force, or was: its history stays.
func (a *API) known(ctx context.Context, sent string) (pipeline.ID, error) {
	id := pipeline.ID(sent)
	if a.catalog.Current().Get(id) != nil {
		return id, nil
	}
	if _, err := a.row(ctx, id); err != nil {
		return id, err
	}
	return id, nil
}

// everything is seen by whoever may see the list.
func everything[T any](T) bool { return true }
