package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

// reading is a sensor write of a source.
type reading struct {
	pipeline pipeline.ID
	key      sensor.Key
	period   period.Period
	fields   sensor.Fields
}

// words returns the reading as the narrator shows it.
func (r reading) words(now time.Time) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		fields = append(fields, fmt.Sprintf("%s=%v", name, r.fields[name]))
	}
	return fmt.Sprintf("%s of %s for %s: %s", r.key, r.pipeline, short(r.period, now), strings.Join(fields, " "))
}

// write writes the reading over the controller's HTTP API, like any source.
func (r reading) write(ctx context.Context, api *client.Client, who string) error {
	fields := maps.Clone(r.fields)
	fields["date"] = r.period.Outer(period.Day).String()
	fields["hour"], fields["minute"] = r.period.Clock()
	_, err := api.PutSensor(ctx, string(r.pipeline), string(r.key), fields, client.WithSource(who))
	return err
}
