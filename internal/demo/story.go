package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// The project's pipelines.
const (
	quakeSilver pipeline.ID = "earthquake-silver"
	quakeGold   pipeline.ID = "earthquake-gold"
	quakeAlerts pipeline.ID = "earthquake-alerts"
	coinSilver  pipeline.ID = "crypto-silver"
	coinGold    pipeline.ID = "crypto-gold"
	rates       pipeline.ID = "exchange-rates"
)

// The actors of the story.
const (
	quakeSource = "earthquake source"
	coinSource  = "crypto source"
	checker     = "quality check"
	operator    = "operator"
)

// The sensors that the sources write.
const (
	minuteStatus sensor.Key = "minute-status"
	quality      sensor.Key = "quality"
	strongest    sensor.Key = "strongest"
)

// story is one run of the demo.
type story struct {
	Options
	say *narrator
	api *client.Client
	log follower

	quakes, coins *source
	first         period.Period // the first minute with data
	pausedAt      time.Time     // of exchange-rates

	seen   int // chapters
	counts map[event.Type]int
	over   bool // the story has ended
}

// history is how many minutes before the present the data begins, so that no minute of the story is
// in the future.
const history = 5

func newStory(o Options) *story {
	first := period.At(o.Now(), period.Minute, time.UTC).Add(-history, time.UTC)
	return &story{
		Options: o, first: first, counts: map[event.Type]int{},
		say: &narrator{out: o.Out, colours: o.Colours}, log: follower{store: o.Store},
		quakes: earthquakes(lake(o.Project), first), coins: crypto(lake(o.Project), first),
	}
}

// tell plays all chapters in order.
func (s *story) tell(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	for i, c := range chapters {
		s.say.heading(fmt.Sprintf("%d. %s", i+1, c.title))
		if err := s.chapter(ctx, c); err != nil {
			return fmt.Errorf("chapter %d, %q: %w", i+1, c.title, err)
		}
		s.seen++
		if err := s.wait(ctx, breath); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) chapter(ctx context.Context, c chapter) error {
	p := s.minute(c.about)
	if err := s.prose(ctx, strings.ReplaceAll(c.prose, "%s", s.short(p))); err != nil {
		return err
	}
	for _, step := range c.steps(s, p) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// breath is the time to read before the next event.
const breath = 3 * time.Second

// prose prints the narrator's text, and waits while it is read.
func (s *story) prose(ctx context.Context, text string) error {
	s.say.prose(text)
	return s.wait(ctx, breath)
}

// minute returns the n-th minute with data.
func (s *story) minute(n int) period.Period { return s.first.Add(n, time.UTC) }

// wait waits for the sources and the reader. Speed shortens it; the controller's clock is
// unaffected.
func (s *story) wait(ctx context.Context, d time.Duration) error {
	return s.until(ctx, s.Now().Add(time.Duration(float64(d)/s.Speed)))
}

// until waits for an instant.
func (s *story) until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(at.Sub(s.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// event records an event, and prints it unless it is skipped.
func (s *story) event(ctx context.Context, e event.Event) {
	s.counts[e.Type]++
	if !s.skip(e) {
		s.say.event(e, s.printed(ctx, e))
	}
}

// skip reports whether an event is not printed: the audit record, files at the beginning, open
// gates after the first, and, once the story is over, all successes except completions.
func (s *story) skip(e event.Event) bool {
	switch {
	case e.Type == event.Audit:
		return true
	case e.Type == event.ConfigAccepted:
		return !s.over
	case e.Type == event.ValidationPassed && s.counts[e.Type] > 1:
		return true
	}
	return s.over && e.Detail.Severity == event.Info && e.Type != event.JobCompleted
}

// printed returns the last line of output of a completed job, or "" if it cannot be read. The
// message of a failure with an exit code already contains it.
func (s *story) printed(ctx context.Context, e event.Event) string {
	if e.Type != event.JobCompleted {
		return ""
	}
	d := e.Detail
	of := run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}
	logs, err := s.Store.JobLogs(ctx, []run.Key{of})
	if err != nil {
		return ""
	}
	for _, entry := range slices.Backward(logs[of]) {
		if entry.Attempt == d.Attempt && entry.Output != "" {
			lines := strings.Split(strings.TrimSpace(entry.Output), "\n")
			return lines[len(lines)-1]
		}
	}
	return ""
}

// push writes a sensor and prints that.
func (s *story) push(ctx context.Context, who string, r reading) error {
	s.say.action(s.Now(), who, "pushes "+r.words(s.Now()))
	return r.write(ctx, s.api, who)
}

// status returns a source's reading about a minute.
func status(id pipeline.ID, p period.Period, count int, complete bool) reading {
	return reading{id, minuteStatus, p, sensor.Fields{"count": count, "complete": complete}}
}

// deliver lands a whole minute of both sources, checked and complete.
func (s *story) deliver(ctx context.Context, p period.Period) error {
	if err := errors.Join(s.quakes.appendRecords(p, s.quakes.records(p)...), s.coins.appendRecords(p, s.coins.records(p)...)); err != nil {
		return err
	}
	for _, r := range []reading{
		{quakeSilver, quality, p, sensor.Fields{"rejected": 2}},
		status(quakeSilver, p, perMinute, true),
		status(coinSilver, p, perMinute, true),
	} {
		if err := r.write(ctx, s.api, "sources"); err != nil {
			return err
		}
	}
	return nil
}

// stride is how long the sources wait between two minutes while they catch up with the present.
const stride = 5 * time.Second

// live lets the sources continue and narrates the events: first for the minutes that have passed
// since the data began, then for each minute when it ends.
func (s *story) live(ctx context.Context) error {
	s.epilogue()
	s.over = true
	for n := played; ; n++ {
		at := s.Now().Add(time.Duration(float64(stride) / s.Speed))
		if end := s.minute(n).End(time.UTC); end.After(at) {
			at = end
		}
		if err := s.tellUntil(ctx, at); err != nil {
			return err
		}
		if err := s.deliver(ctx, s.minute(n)); err != nil {
			return err
		}
	}
}

// tellUntil narrates events until an instant.
func (s *story) tellUntil(ctx context.Context, at time.Time) error {
	within, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	for {
		e, err := s.log.next(within)
		switch {
		case err != nil && ctx.Err() == nil && within.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		s.event(ctx, e)
	}
}
