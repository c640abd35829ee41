package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// chapter is one part of the demo.
type chapter struct {
	title string
	prose string // %s is its minute
	tell  func(s *story, ctx context.Context, p period.Period) error
	about int // index of its minute
}

// chapters are the demo in order. Each ends when the events that it waits for have happened.
var chapters = []chapter{
	{"A gate waits, then opens", `
		The earthquakes of %s have landed in bronze, and their source says so: that opens a run of
		earthquake-silver. A run is not a start, though. Its gate also asks how many records a check
		has rejected, and of that nobody has said anything yet.`, (*story).waitingGate, 0},
	{"A cascade: gold follows silver", `
		earthquake-gold has neither a schedule nor a sensor of its own: it comes after earthquake-silver,
		minute for minute, and is woken when that completes.`, (*story).cascade, 0},
	{"A job fails and is tried again", `
		The crypto source announces %s, but has not closed its bronze file when the job wants to read
		it. The job ends with exit code 75, "the world was not ready". Such failures have a budget of
		their own, here two retries, and a backoff of about two seconds.`, (*story).retry, 1},
	{"A late record, and one bounded rerun", `
		One more record turns up for %s, the strongest of all. What silver and gold have said of that
		minute no longer holds, so each of them runs again.`, (*story).lateRecord, 0},
	{"A deadline: the warning, then the breach", `
		crypto begins with %s and stalls after six records. The deadline of crypto-silver runs from that
		first word: 12 seconds, with a warning after nine. There is no run yet, and no job to watch;
		silence is watched all the same.`, (*story).deadline, 2},
	{"An excluded period", `
		Somebody replays the data of New Year's Day. The calendar of crypto-silver excludes that day:
		nothing starts, that is told once, and nothing revives it later.`, (*story).excluded, 0},
	{"A dry run", `
		earthquake-alerts is new, and nobody trusts it yet, so its file says dryRun: true. A strong quake
		meets its start condition. It decides everything as it would in earnest, and starts nothing.`, (*story).dryRun, 0},
	{"A missed schedule", `
		exchange-rates is to run every minute, and within five seconds of it. But it has been paused
		since the story began. When the pause ends, what was missed meanwhile is told: a schedule that
		skips quietly is how gaps come about.`, (*story).missed, 0},
}

// played is how many minutes of data the chapters use.
const played = 3

func (s *story) waitingGate(ctx context.Context, p period.Period) error {
	if err := s.quakes.land(p, s.quakes.records(p)...); err != nil {
		return err
	}
	if err := s.push(ctx, quakeSource, status(quakeSilver, p, perMinute, true)); err != nil {
		return err
	}
	if err := s.await(ctx, want{event.TriggerStarted, quakeSilver, p, 1}); err != nil {
		return err
	}
	if err := s.showGate(ctx, p); err != nil {
		return err
	}
	if err := s.prose(ctx, "No reading is not a yes, so nothing starts. When the check reports, the gate opens at once."); err != nil {
		return err
	}
	if err := s.push(ctx, checker, reading{quakeSilver, quality, p, sensor.Fields{"rejected": 2}}); err != nil {
		return err
	}
	return s.await(ctx, want{event.ValidationPassed, quakeSilver, p, 1}, want{event.JobTriggered, quakeSilver, p, 1})
}

// showGate prints the API's answer about the gate of earthquake-silver.
func (s *story) showGate(ctx context.Context, p period.Period) error {
	g, err := s.api.gate(ctx, quakeSilver, p)
	if err != nil {
		return err
	}
	state := "closed"
	if g.Open {
		state = "open"
	}
	s.say.line("\n  The gate of %s %s is %s:", quakeSilver, s.short(p), state)
	for _, r := range g.Rules {
		s.say.line("    %s %-14s %s", s.say.mark(r.Outcome), r.Key, r.Reason)
	}
	return nil
}

func (s *story) cascade(ctx context.Context, p period.Period) error {
	if err := s.await(ctx, completed(quakeSilver, p, 1), completed(quakeGold, p, 1)); err != nil {
		return err
	}
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

func (s *story) retry(ctx context.Context, p period.Period) error {
	if err := s.coins.land(p, s.coins.records(p)...); err != nil {
		return err
	}
	busy := s.coins.lake.busy(s.coins.name, p)
	if err := write(busy, nil); err != nil {
		return err
	}
	if err := s.push(ctx, coinSource, status(coinSilver, p, perMinute, true)); err != nil {
		return err
	}
	if err := s.await(ctx, want{event.JobFailed, coinSilver, p, 1}); err != nil {
		return err
	}
	s.say.deed(s.Now(), coinSource, "closes its file")
	if err := os.Remove(busy); err != nil {
		return fmt.Errorf("remove %s: %w", busy, err)
	}
	return s.await(ctx, want{event.RetryScheduled, coinSilver, p, 1}, completed(coinSilver, p, 2), completed(coinGold, p, 1))
}

func (s *story) lateRecord(ctx context.Context, p period.Period) error {
	if err := s.landLate(ctx, p, 1); err != nil {
		return err
	}
	if err := s.await(ctx, want{event.LateDataArrival, quakeSilver, p, 1}, completed(quakeSilver, p, 2), completed(quakeGold, p, 2)); err != nil {
		return err
	}
	if err := s.prose(ctx, `
		Then another one comes. The file allows one rerun for late data (job.maxDriftReruns), so this
		one is told and nothing starts: a person decides.`); err != nil {
		return err
	}
	if err := s.landLate(ctx, p, 2); err != nil {
		return err
	}
	return s.await(ctx, want{event.LateDataArrival, quakeSilver, p, 2})
}

// landLate writes the n-th late record of a minute.
func (s *story) landLate(ctx context.Context, p period.Period, n int) error {
	one := s.quakes.lateRecord(p, n)
	if err := s.quakes.land(p, one); err != nil {
		return err
	}
	s.say.deed(s.Now(), quakeSource, fmt.Sprintf("finds one of magnitude %g near %s", *one.Value, one.Name))
	return s.push(ctx, quakeSource, status(quakeSilver, p, perMinute+n, true))
}

func (s *story) deadline(ctx context.Context, p period.Period) error {
	records, six := s.coins.records(p), 6
	if err := s.coins.land(p, records[:six]...); err != nil {
		return err
	}
	if err := s.push(ctx, coinSource, status(coinSilver, p, six, false)); err != nil {
		return err
	}
	if err := s.await(ctx, want{event.RelativeSLAWarning, coinSilver, p, 0}, want{event.RelativeSLABreach, coinSilver, p, 0}); err != nil {
		return err
	}
	if err := s.prose(ctx, "Then the rest arrives. The work is done after all; the deadline stays breached."); err != nil {
		return err
	}
	if err := s.coins.land(p, records[six:]...); err != nil {
		return err
	}
	if err := s.push(ctx, coinSource, status(coinSilver, p, perMinute, true)); err != nil {
		return err
	}
	return s.await(ctx, completed(coinSilver, p, 1), completed(coinGold, p, 1))
}

func (s *story) excluded(ctx context.Context, _ period.Period) error {
	newYear, err := period.New(period.Minute, 2026, time.January, 1, 0, 0)
	if err != nil {
		return err
	}
	if err := s.push(ctx, coinSource, status(coinSilver, newYear, perMinute, true)); err != nil {
		return err
	}
	return s.await(ctx, want{event.PipelineExcluded, coinSilver, newYear, 0})
}

func (s *story) dryRun(ctx context.Context, p period.Period) error {
	if err := s.push(ctx, quakeSource, reading{quakeAlerts, strongest, p, sensor.Fields{"magnitude": 6.1}}); err != nil {
		return err
	}
	return s.await(ctx, want{event.DryRunWouldTrigger, quakeAlerts, p, 0}, want{event.DryRunSLAProjection, quakeAlerts, p, 0}, want{event.DryRunCompleted, quakeAlerts, p, 0})
}

func (s *story) missed(ctx context.Context, _ period.Period) error {
	when := tooLate(s.Now(), s.pausedAt.Truncate(time.Minute).Add(time.Minute))
	if wait := when.Sub(s.Now()); wait > time.Second {
		s.say.deed(s.Now(), operator, fmt.Sprintf("is not done yet and needs another %s", wait.Round(time.Second)))
	}
	if err := s.until(ctx, when); err != nil {
		return err
	}
	s.say.deed(s.Now(), operator, "resumes exchange-rates")
	if err := s.api.resume(ctx, rates, operator, "the work is done"); err != nil {
		return err
	}
	return s.await(ctx, want{event.PipelineResumed, rates, period.Period{}, 0}, want{event.ScheduleMissed, rates, period.Period{}, 0})
}

// slack is how long after a fire of exchange-rates its window is certainly over: the file says five seconds.
const slack = 6 * time.Second

// tooLate returns the first instant from now on at which the windows of this fire and of any other since are over.
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
