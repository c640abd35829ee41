// Package log is the sink that writes events to the controller's own log. It needs no
// configuration, so that an alert is never lost only because no other sink is set up.
package log

import (
	"context"
	"log/slog"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

// Sink writes to a logger.
type Sink struct{ logger *slog.Logger }

var _ sink.Sink = (*Sink)(nil)

// New returns a sink that writes to logger.
func New(logger *slog.Logger) *Sink { return &Sink{logger: logger} }

func (*Sink) Name() string { return "log" }

// Send writes one line. It never fails.
func (s *Sink) Send(ctx context.Context, a sink.Alert) error {
	e := a.Event
	d := e.Detail
	attributes := []slog.Attr{
		slog.String("type", string(e.Type)),
		slog.String("pipeline", string(d.Pipeline)),
		slog.String("schedule", string(d.Schedule)),
		slog.String("date", d.Date.String()),
		slog.Int("attempt", d.Attempt),
		slog.String("message", d.Message),
		slog.String("remedy", e.Remedy()),
		slog.String("event", e.ID),
	}
	if a.Count > 1 {
		attributes = append(attributes, slog.Int("count", a.Count), slog.Time("since", a.Since))
	}
	s.logger.LogAttrs(ctx, levels[d.Severity], "alert", attributes...)
	return nil
}

// levels are the levels of severities; any other is logged at level info, which is the zero value.
var levels = map[event.Severity]slog.Level{event.Critical: slog.LevelError, event.Warning: slog.LevelWarn, event.Info: slog.LevelInfo}
