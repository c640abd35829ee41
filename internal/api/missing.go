package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// missing returns the Problem for a name that does not exist. It ends with the known name that was
// most likely meant, or else with where to find them.
func missing(k kind, what, name string, known []string, find string) *Problem {
	if near := document.DidYouMean(name, known); near != "" {
		find = near
	}
	return problem(http.StatusNotFound, k, "%s%s", what, find)
}

// noPipeline returns the Problem for a pipeline that does not exist. It suggests only pipelines that
// the client may see.
func (a *API) noPipeline(ctx context.Context, id pipeline.ID) *Problem {
	var known []string
	who := whoOf(ctx)
	for _, e := range a.catalog.Current().All() {
		if who.sees(e.ID) {
			known = append(known, string(e.ID))
		}
	}
	return missing(unknownPipeline, fmt.Sprintf("there is no pipeline %.140q", id), string(id), known, fmt.Sprintf("; GET %s/pipelines lists them", prefix))
}

// noRun returns the Problem for a run that does not exist: because its pipeline does not, or because
// the period has a run of another schedule or none.
func (a *API) noRun(ctx context.Context, key run.Key) error {
	if _, err := a.known(ctx, string(key.Pipeline)); err != nil {
		return err
	}
	others, err := a.store.Runs(ctx, store.RunQuery{Pipeline: key.Pipeline, Period: key.Period, Limit: 1})
	if err != nil {
		return fmt.Errorf("read runs of %s: %w", key.Pipeline, err)
	}
	find := fmt.Sprintf("; GET %s/pipelines/%s/explain?date=%s says why", prefix, key.Pipeline, key.Period)
	if len(others.Items) > 0 {
		find = fmt.Sprintf("; did you mean %s?", others.Items[0].Key)
	}
	return problem(http.StatusNotFound, unknownRun, "there is no run %s%s", key, find)
}

// orNoRun returns the Problem of noRun if an operation failed because the run does not exist, and err
// otherwise: what is missing may be an attempt.
func (a *API) orNoRun(ctx context.Context, key run.Key, err error) error {
	refusal, is := errors.AsType[*router.Refusal](err)
	if (!is || refusal.Kind != router.NotFound) && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if _, readErr := a.store.Run(ctx, key); !errors.Is(readErr, store.ErrNotFound) {
		return err
	}
	return a.noRun(ctx, key)
}

// noReading returns the Problem for a sensor without a reading; note says of which period.
func (a *API) noReading(ctx context.Context, id pipeline.ID, key sensor.Key, note string) *Problem {
	if note == "" {
		note = a.nearKey(ctx, id, key)
	}
	return problem(http.StatusNotFound, unknownSensor, "pipeline %s has no reading of %s%s", id, key, note)
}

// nearKey ends an error about a sensor without a reading with the key that was probably meant; "" if
// something uses the key, or if none is close.
func (a *API) nearKey(ctx context.Context, id pipeline.ID, key sensor.Key) string {
	if a.catalog.Uses(id, key) {
		return ""
	}
	return document.DidYouMean(string(key), a.keysOf(ctx, id))
}

// keysOf lists the sensors of a pipeline: those that something reads, and those that were written.
func (a *API) keysOf(ctx context.Context, id pipeline.ID) []string {
	keys := a.catalog.Keys(id)
	page, err := a.store.LatestReadings(ctx, store.LatestQuery{Pipeline: id, Limit: maxSuggested})
	if err != nil {
		return keys // they are only for a suggestion
	}
	for _, r := range page.Items {
		if !r.Deleted {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

// maxSuggested is how many written sensors are searched for the one that was meant.
const maxSuggested = 500

// noSink returns the Problem for a sink that the server does not have and that rejected no alert; nil
// if there is one with that name, or if the name is empty.
func (a *API) noSink(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	var known []string
	for _, s := range a.alerts.Sinks() {
		known = append(known, s.Name())
	}
	letters, err := a.store.Dead(ctx, "")
	if err != nil {
		return fmt.Errorf("read dead letters: %w", err)
	}
	for _, d := range letters { // also of sinks that were removed
		if !slices.Contains(known, d.Sink) {
			known = append(known, d.Sink)
		}
	}
	if slices.Contains(known, name) {
		return nil
	}
	return missing(plainKind, fmt.Sprintf("there is no sink %.60q", name), name, known, fmt.Sprintf("; GET %s/alerts/routes lists them", prefix))
}

// noSource returns the Problem for a source that does not exist.
func noSource(c *catalog.Catalog, id string) *Problem {
	var known []string
	for _, d := range c.Sources().All() {
		known = append(known, string(d.ID))
	}
	return missing(plainKind, fmt.Sprintf("there is no source %.140q", id), id, known, fmt.Sprintf("; GET %s/sources lists them", prefix))
}

// unread returns a warning about a reading that nothing of its pipeline uses; nil if something does.
func (a *API) unread(id pipeline.ID, key sensor.Key) *string {
	if a.catalog.Uses(id, key) {
		return nil
	}
	return new(fmt.Sprintf("no rule, probe, source or upstream of %s reads %q%s", id, key, document.DidYouMean(string(key), a.catalog.Keys(id))))
}
