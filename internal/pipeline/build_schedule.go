package pipeline

import (
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/schedule"
)

// minInterval is the minimum in the tag of schedule.evaluation.interval, for the older
// watch.interval.
const minInterval = time.Second

func (b *builder) buildSchedule() {
	s := &b.file.Schedule
	b.def.MaxActive, b.def.CatchUp = s.MaxActive, CatchUp(s.CatchUp)
	b.def.Opens = opening(s)
	spec := schedule.Spec{Zone: time.UTC, Offset: s.Offset}
	if s.Cron != nil {
		spec.Cron = s.Cron.cron
	}
	if s.Timezone != nil {
		spec.Zone = s.Timezone.zone
	}
	b.upstreams(s.After)
	spec.Size = b.periodSize(s)
	spec.Time = b.earliestStart(s)
	spec.Include = b.includeDates(s)
	spec.Opens = b.def.Opens == ByCron
	spec.Exclude = b.exclusions(s)
	b.def.Schedule = schedule.New(spec)
	b.checkRuns(s)
	b.evaluation(s)
	b.startCondition(s)
}

// upstreams sets the upstreams, and reports the items of the list that are wrong.
func (b *builder) upstreams(u *upstreams) {
	if u == nil {
		return
	}
	b.def.After, b.def.AtLeast = u.ids, u.atLeast
	b.addUnder("schedule.after", u.wrong)
	if document.HasErrors(u.wrong) {
		b.broken = append(b.broken, "schedule.after")
	}
}

// checkRuns reports a schedule whose periods the calendar excludes completely.
func (b *builder) checkRuns(s *ScheduleSection) {
	if !b.def.Schedule.NeverRuns() {
		return
	}
	f := document.Finding{
		Path: "schedule.exclude", Message: "every period of the schedule is excluded, so no run can ever open; exclude less, or pause the pipeline",
	}
	if s.Exclude == nil {
		f.Path = "exclusions"
	}
	for _, also := range []string{"schedule.cron", "schedule.include"} {
		if b.doc.Has(also) {
			f.Also = append(f.Also, also)
		}
	}
	b.add(f)
}

// opening returns what opens the runs of a pipeline with this schedule.
func opening(s *ScheduleSection) ScheduleID {
	switch {
	case s.Cron != nil, s.Include != nil && s.Trigger == nil:
		return ByCron // upstreams are then only awaited: without cron they would open the run
	case s.Trigger != nil, s.After != nil && len(s.After.ids) > 0:
		return ByStream
	default:
		return ByHand
	}
}

// periodSize returns the explicit size, or else what cron or the deadlines imply.
func (b *builder) periodSize(s *ScheduleSection) period.Size {
	explicit, err := period.ParseSize(s.Period)
	if err != nil {
		return b.impliedSize(s)
	}
	if s.Cron != nil && !s.Cron.cron.Fits(explicit) {
		b.clashf("schedule.period", "schedule.cron",
			"one %s would contain several fires of %q; use period: %s", explicit, s.Cron.cron, s.Cron.cron.Size())
	}
	return explicit
}

func (b *builder) impliedSize(s *ScheduleSection) period.Size {
	if s.Cron != nil {
		return s.Cron.cron.Size()
	}
	if s.Trigger != nil && s.Trigger.Deadline != nil && s.Trigger.Deadline.Hourly() {
		return period.Hour
	}
	if sla := b.file.SLA; sla != nil && sla.Deadline != nil && sla.Deadline.Hourly() {
		return period.Hour
	}
	return period.Day
}

// earliestStart returns schedule.time, or the older form schedule.after: "HH:MM".
func (b *builder) earliestStart(s *ScheduleSection) *schedule.Clock {
	older := s.After != nil && s.After.time != nil
	switch {
	case s.Time != nil && s.Time.Hourly():
		b.errorf("schedule.time", "%q is a minute of every hour; write a time of day, HH:MM", s.Time)
		return nil
	case s.Time != nil && older:
		b.clashf("schedule.time", "schedule.after", "the earliest start is set twice; keep schedule.time")
		return nil
	case s.Time != nil:
		return &s.Time.Clock
	case older:
		return &s.After.time.Clock
	default:
		return nil
	}
}

func (b *builder) includeDates(s *ScheduleSection) []period.Period {
	if s.Include == nil {
		return nil
	}
	if s.Cron != nil {
		b.clashf("schedule.include", "schedule.cron", "include dates cannot be combined with cron; keep one of them")
	}
	if s.Offset != 0 && s.Cron == nil && s.Trigger == nil {
		b.warnf("schedule.offset", "has no effect: a listed day opens on that day and for that day; remove it")
	}
	return dates(s.Include.Dates)
}

func dates(list []date) []period.Period {
	days := make([]period.Period, 0, len(list))
	for _, d := range list {
		days = append(days, d.Period)
	}
	return days
}

func (b *builder) evaluation(s *ScheduleSection) {
	b.def.Window, b.def.Interval = s.Evaluation.Window.D(), s.Evaluation.Interval.D()
	intervalPath := "schedule.evaluation.interval"
	if older := b.file.Watch.Interval; older != nil {
		if b.doc.Has(intervalPath) {
			b.clashf("watch.interval", intervalPath, "the interval is set twice; keep schedule.evaluation.interval")
		}
		b.def.Interval, intervalPath = older.Duration, "watch.interval"
		if b.def.Interval < minInterval {
			b.errorf(intervalPath, "is %s; must be at least %s", document.Duration(b.def.Interval), document.Duration(minInterval))
		}
	}
	if b.def.Window < b.def.Interval {
		b.clashf("schedule.evaluation.window", intervalPath, "the window of %s is shorter than the interval of %s; make it at least as long",
			document.Duration(b.def.Window), document.Duration(b.def.Interval))
	}
}

func (b *builder) startCondition(s *ScheduleSection) {
	if s.Trigger == nil {
		return
	}
	start := &Start{Rule: s.Trigger.rule()}
	if s.Trigger.Deadline != nil {
		start.Deadline = &s.Trigger.Deadline.Clock
		b.checkClockFitsPeriod("schedule.trigger.deadline", s.Trigger.Deadline)
	}
	b.def.Start = start
}

// checkClockFitsPeriod rejects a deadline that has no meaning for the pipeline's periods.
func (b *builder) checkClockFitsPeriod(path string, clock *clockText) {
	size := b.def.Schedule.Size()
	switch {
	case size == period.Minute:
		b.clashf(path, b.sizePath(), "is not allowed for minute periods; use sla.maxDuration")
	case size >= period.Day && clock.Hourly():
		b.clashf(path, b.sizePath(), "%q is only for hourly periods, and the period is %s; write HH:MM, or period: hour", clock, size)
	}
}

// sizePath returns the path that determined the period's size.
func (b *builder) sizePath() string {
	if b.doc.Has("schedule.period") {
		return "schedule.period"
	}
	return "schedule.cron"
}
