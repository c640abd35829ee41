package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sla"
)

// warnAboutStatuses warns of rules that yesterday's reading would still pass: a status compared by
// value, without an age rule on the same sensor. A dated reading is safe, but whether readings are
// dated is known only at run time. The start condition's own sensor is left out: an undated reading
// counts there only for the period it was written in.
func (b *builder) warnAboutStatuses() {
	v := b.file.Validation
	if v == nil {
		return
	}
	type sensorName struct{ from, key string }
	aged := map[sensorName]bool{}
	for _, leaf := range rule.Leaves(v.Rules) {
		if leaf.Check == rule.AgeLT {
			aged[sensorName{leaf.From, leaf.Key}] = true
		}
	}
	for _, p := range b.def.Probes {
		aged[sensorName{"", p.Key}] = true // its readings are dated, and expire
	}
	if s := b.def.Start; s != nil {
		aged[sensorName{s.Rule.From, s.Rule.Key}] = true
	}
	for path, leaf := range rule.Leaves(v.Rules) {
		name := sensorName{leaf.From, leaf.Key}
		if !comparesStatus(leaf) || aged[name] || leaf.Over != nil { // an undated reading counts for no single period
			continue
		}
		aged[name] = true // one warning per sensor
		b.warnf("validation.rules"+path, "an undated reading of %q never goes stale; date the readings, or add a rule {key: %s, check: age_lt, field: updatedAt, value: …} beside it",
			leaf.Key, leaf.Key)
	}
}

// warnAboutUnasked warns of a start condition that nothing ever answers: without cron no gate needs
// it, and a probe without an interval runs only when a gate does.
func (b *builder) warnAboutUnasked() {
	start := b.def.Start
	if start == nil || b.def.Opens == ByCron || start.Rule.From != "" {
		return
	}
	for _, p := range b.def.Probes {
		if p.Key == start.Rule.Key && p.Interval == 0 {
			b.warnf("schedule.trigger.key", "the probe %q runs only when a gate needs it, and no gate does before the run opens; set its interval", p.Key)
		}
	}
}

// sample is the time from which deadlines are tried out: a Monday, far from any clock change.
var sample = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// sampled returns a few of the schedule's periods, to try deadlines on.
func (b *builder) sampled() []period.Period {
	const most = 7
	on := b.def.Schedule
	if include := b.file.Schedule.Include; include != nil {
		days := dates(include.Dates)
		return days[:min(len(days), most)]
	}
	if on.Cron() == nil {
		return []period.Period{on.PeriodAt(sample)}
	}
	var periods []period.Period
	for fire := on.Cron().Next(sample, on.Zone()); !fire.IsZero() && len(periods) < most; fire = on.Cron().Next(fire, on.Zone()) {
		periods = append(periods, on.PeriodAt(fire))
	}
	return periods
}

// overnight is how long before its fire a time of day still counts as that of the next day.
const overnight = 18 * time.Hour

// warnAboutDeadlines warns of deadlines that are past when the run opens.
func (b *builder) warnAboutDeadlines() {
	on := b.def.Schedule
	for _, p := range b.sampled() {
		opens := on.OpensFrom(p)
		at := fmt.Sprintf("%s %s", opens.In(on.Zone()).Format("15:04"), on.Zone())
		breach, rolls := b.def.SLA.For(p, on.FireFor(p), on).Breach, b.def.SLA.DayOffset == 0 && on.Cron() != nil && p.Size() == period.Day
		if start := b.def.Start; start != nil && start.Deadline != nil && !sla.Close(*start.Deadline, p, on).After(opens) {
			b.warnf("schedule.trigger.deadline", "%q is when the run opens (%s), so its start condition can never be met in time; choose a later time", start.Deadline, at)
			return
		}
		switch {
		case breach.IsZero():
		case !breach.After(opens):
			later := "choose a later time"
			if p.Size() == period.Day && b.def.SLA.DayOffset == 0 {
				later += ", or set sla.dayOffset: 1"
			}
			b.warnf("sla.deadline", "%q is not after the run opens (%s), so no run can meet it; %s", b.def.SLA.Deadline, at, later)
			return
		case rolls && breach.Sub(opens) > overnight:
			b.warnf("sla.deadline", "%q is before the run opens (%s), so the deadline is on the next day, %s later", b.def.SLA.Deadline, at, document.Duration(breach.Sub(opens)))
			return
		}
	}
}

// warnAboutPastDates warns of include dates that have all passed: nothing would say that the
// pipeline never runs again.
func (b *builder) warnAboutPastDates() {
	on := b.def.Schedule
	include := b.file.Schedule.Include
	if include == nil || b.shelf.now.IsZero() || on.NeverRuns() {
		return
	}
	var last period.Period
	for _, day := range dates(include.Dates) {
		if on.Excluded(day) != "" {
			continue
		}
		if day.End(on.Zone()).After(b.shelf.now) {
			return
		}
		if day.Compare(last) > 0 {
			last = day
		}
	}
	if !last.IsZero() {
		b.warnf("schedule.include.dates", "have all passed, the last one that is not excluded on %s, so no run opens any more; add the next dates, or remove the file", last)
	}
}

// warnAboutReports warns of deadlines that only a report from outside can meet.
func (b *builder) warnAboutReports() {
	s := b.file.SLA
	if s == nil || b.doc.Has("job") {
		return
	}
	if s.Deadline != nil {
		b.warnAboutReport("sla.deadline")
	}
	if s.MaxDuration != nil {
		b.warnAboutReport("sla.maxDuration")
	}
}

func (b *builder) warnAboutReport(path string) {
	wrong := slices.ContainsFunc(b.findings, func(f document.Finding) bool { return f.Path == path && f.Severity != document.Warning })
	if !wrong {
		b.warnf(path, "is breached even if the data comes in time, unless the run's result is reported: the pipeline has no job that completes it; "+
			"report with `interlock job complete RUN success`, or add a job")
	}
}

// warnAboutLateData warns of a validation.lateData that has no effect.
func (b *builder) warnAboutLateData() {
	switch d := b.def; {
	case d.LateData == "" || d.Gate == nil:
	case d.Start == nil && len(d.Facts.Refs()) == 0:
		b.warnf("validation.lateData", "has no effect, because no rule and no start condition reads a sensor; add one, or remove it")
	case d.LateData == LateRerun && d.Job != nil && d.Job.MaxDriftReruns == 0:
		b.warnClashf("validation.lateData", "job.maxDriftReruns", "is rerun, but job.maxDriftReruns is 0, so late data reruns nothing; raise it, or write lateData: report")
	}
}

// comparesStatus reports whether r compares the content of a reading, rather than an amount or an
// age.
func comparesStatus(r rule.Rule) bool {
	if r.Level == rule.Advisory {
		return false
	}
	switch r.Check {
	case rule.Equals, rule.In, rule.Matches:
		return true
	default:
		return false
	}
}
