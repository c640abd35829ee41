package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// chapter is one part of the demo.
type chapter struct {
	title string
	prose string // %s is its minute
	steps func(s *story, p period.Period) []step
	about int // index of its minute
}

// chapters are the demo in order. Each ends when the events that it waits for have happened.
var chapters = []chapter{
	{"A gate waits, then opens", `
		The earthquakes of %s have landed in bronze, and their source reports it. That opens a run of
		earthquake-silver. The job does not start yet: the gate also needs the result of a quality
		check, and there is none.`, (*story).waitingGate, 0},
	{"A cascade: gold follows silver", `
		earthquake-gold has no schedule and no sensor. It runs after earthquake-silver, for the same
		minute.`, (*story).cascade, 0},
	{"A job fails and is retried", `
		The crypto source reports that %s is complete, but it is still writing the bronze file when the
		job reads it. The job exits with code 75, a transient failure. Such failures use the retry
		budget maxRetries: here two retries, with a backoff of about two seconds.`, (*story).retry, 1},
	{"A late record, and one bounded rerun", `
		Another record of %s arrives, the strongest earthquake so far. The results of silver and gold
		are out of date, so both run again.`, (*story).lateRecord, 0},
	{"A deadline: the warning, then the breach", `
		The crypto source starts to write %s and stalls after six records. The first reading sets the deadline of
		crypto-silver: 12 seconds later, with a warning after nine. There is no run and no job yet, but
		Interlock watches the deadline anyway.`, (*story).deadline, 2},
	{"An excluded period", `
		The crypto source replays the data of New Year's Day. The calendar of crypto-silver excludes
		that day: nothing starts, Interlock reports it once, and no later write changes that.`, (*story).excluded, 0},
	{"A dry run", `
		earthquake-alerts is new and still on trial, so its file says dryRun: true. When a strong
		earthquake meets its start condition, Interlock evaluates the pipeline as usual but starts no job.`, (*story).dryRun, 0},
	{"A missed schedule", `
		exchange-rates is scheduled every minute and must start within five seconds. It has been paused
		since the demo began. When the pause ends, Interlock reports the runs that were missed. A schedule
		that skips runs silently leaves gaps that are found too late.`, (*story).missed, 0},
}

// played is how many minutes of data the chapters use.
const played = 3

// step is one thing that happens in a chapter.
type step func(ctx context.Context) error

func (s *story) lands(from *source, p period.Period, records ...record) step {
	return func(context.Context) error { return from.appendRecords(p, records...) }
}

func (s *story) pushes(who string, r reading) step {
	return func(ctx context.Context) error { return s.push(ctx, who, r) }
}

func (s *story) awaits(wanted ...want) step {
	return func(ctx context.Context) error { return s.await(ctx, wanted...) }
}

func (s *story) says(text string) step {
	return func(ctx context.Context) error { return s.prose(ctx, text) }
}

func (s *story) waitingGate(p period.Period) []step {
	return []step{
		s.lands(s.quakes, p, s.quakes.records(p)...),
		s.pushes(quakeSource, status(quakeSilver, p, perMinute, true)),
		s.awaits(want{event.TriggerStarted, quakeSilver, p, 1}),
		func(ctx context.Context) error { return s.showGate(ctx, p) },
		s.says("A rule without a reading does not pass, so nothing starts. Once the check reports, the gate opens."),
		s.pushes(checker, reading{quakeSilver, quality, p, sensor.Fields{"rejected": 2}}),
		s.awaits(want{event.ValidationPassed, quakeSilver, p, 1}, want{event.JobTriggered, quakeSilver, p, 1}),
	}
}

// showGate prints the API's answer about the gate of earthquake-silver.
func (s *story) showGate(ctx context.Context, p period.Period) error {
	g, err := s.api.Gate(ctx, string(quakeSilver), p.String())
	if err != nil {
		return err
	}
	state := "closed"
	if g.Open {
		state = "open"
	}
	s.say.line("\n  The gate of %s %s is %s:", quakeSilver, s.short(p), state)
	for _, r := range g.Rules {
		s.say.line("    %s %-14s %s", s.say.mark(r.EffectiveOutcome), r.Key, r.Reason)
	}
	return nil
}

func (s *story) cascade(p period.Period) []step {
	return []step{
		s.awaits(completed(quakeSilver, p, 1), completed(quakeGold, p, 1)),
		func(context.Context) error { return s.showFiles(p) },
	}
}

// showFiles prints the files of a minute of earthquakes.
func (s *story) showFiles(p period.Period) error {
	s.say.line("\n  The project now contains, for that minute,")
	for _, layer := range []string{bronze, silver, gold} {
		path := s.quakes.lake.path(layer, s.quakes.name, p)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("read the jobs' output: %w", err)
		}
		s.say.line("    %s", filepath.Join(layer, s.quakes.name, filepath.Base(path)))
	}
	return nil
}

func (s *story) retry(p period.Period) []step {
	busy := s.coins.lake.busy(s.coins.name, p)
	return []step{
		s.lands(s.coins, p, s.coins.records(p)...),
		func(context.Context) error { return write(busy, nil) },
		s.pushes(coinSource, status(coinSilver, p, perMinute, true)),
		s.awaits(want{event.JobFailed, coinSilver, p, 1}),
		func(context.Context) error {
			s.say.action(s.Now(), coinSource, "closes its file")
			return os.Remove(busy)
		},
		s.awaits(want{event.RetryScheduled, coinSilver, p, 1}, completed(coinSilver, p, 2), completed(coinGold, p, 1)),
	}
}

func (s *story) lateRecord(p period.Period) []step {
	return []step{
		s.landsLate(p, 1),
		s.awaits(want{event.LateDataArrival, quakeSilver, p, 1}, completed(quakeSilver, p, 2), completed(quakeGold, p, 2)),
		s.says(`
			Then another one arrives. The pipeline allows one rerun for late data (job.maxDriftReruns), so
			Interlock reports this one and starts nothing: a person decides.`),
		s.landsLate(p, 2),
		s.awaits(want{event.LateDataArrival, quakeSilver, p, 2}),
	}
}

// landsLate writes the n-th late record of a minute.
func (s *story) landsLate(p period.Period, n int) step {
	return func(ctx context.Context) error {
		one := s.quakes.lateRecord(p, n)
		if err := s.quakes.appendRecords(p, one); err != nil {
			return err
		}
		s.say.action(s.Now(), quakeSource, fmt.Sprintf("records an earthquake of magnitude %g near %s", *one.Value, one.Name))
		return s.push(ctx, quakeSource, status(quakeSilver, p, perMinute+n, true))
	}
}

func (s *story) deadline(p period.Period) []step {
	records, six := s.coins.records(p), 6
	return []step{
		s.lands(s.coins, p, records[:six]...),
		s.pushes(coinSource, status(coinSilver, p, six, false)),
		s.awaits(want{event.RelativeSLAWarning, coinSilver, p, 0}, want{event.RelativeSLABreach, coinSilver, p, 0}),
		s.says("Then the rest arrives and the job completes. The deadline stays breached."),
		s.lands(s.coins, p, records[six:]...),
		s.pushes(coinSource, status(coinSilver, p, perMinute, true)),
		s.awaits(completed(coinSilver, p, 1), completed(coinGold, p, 1)),
	}
}

func (s *story) excluded(period.Period) []step {
	newYear := period.At(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), period.Minute, time.UTC)
	return []step{
		s.pushes(coinSource, status(coinSilver, newYear, perMinute, true)),
		s.awaits(want{event.PipelineExcluded, coinSilver, newYear, 0}),
	}
}

func (s *story) dryRun(p period.Period) []step {
	return []step{
		s.pushes(quakeSource, reading{quakeAlerts, strongest, p, sensor.Fields{"magnitude": 6.1}}),
		s.awaits(want{event.DryRunWouldTrigger, quakeAlerts, p, 0}, want{event.DryRunSLAProjection, quakeAlerts, p, 0}, want{event.DryRunCompleted, quakeAlerts, p, 0}),
	}
}

func (s *story) missed(period.Period) []step {
	return []step{
		s.resume,
		s.awaits(want{event.PipelineResumed, rates, period.Period{}, 0}, want{event.ScheduleMissed, rates, period.Period{}, 0}),
	}
}

// resume ends the pause of exchange-rates once what it has missed can no longer be made up for.
func (s *story) resume(ctx context.Context) error {
	when := tooLate(s.Now(), s.pausedAt.Truncate(time.Minute).Add(time.Minute))
	if wait := when.Sub(s.Now()); wait > time.Second {
		s.say.action(s.Now(), operator, fmt.Sprintf("needs another %s to finish the maintenance", wait.Round(time.Second)))
	}
	if err := s.until(ctx, when); err != nil {
		return err
	}
	s.say.action(s.Now(), operator, "resumes exchange-rates")
	_, err := s.api.Resume(ctx, string(rates), client.Asked{RequestedBy: operator, Reason: "the work is done"})
	return err
}

// slack is how long after a fire of exchange-rates its window is certainly over: the file says five
// seconds.
const slack = 6 * time.Second

// tooLate returns the first instant from now on at which the windows of this fire and of any other
// since are over.
func tooLate(now, fire time.Time) time.Time {
	when := fire.Add(slack)
	if now.After(when) {
		when = now
	}
	if over := when.Truncate(time.Minute).Add(slack); over.After(when) {
		return over
	}
	return when
}
