package pipeline

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sla"
)

func (b *builder) buildSLA() {
	s := b.file.SLA
	if s == nil {
		return
	}
	spec := sla.Spec{Zone: b.def.Schedule.Zone(), DayOffset: s.DayOffset, Critical: s.Critical}
	if s.Timezone != nil {
		spec.Zone = s.Timezone.zone
	}
	if s.ExpectedDuration != nil {
		spec.Expected = time.Duration(*s.ExpectedDuration)
	}
	if s.MaxDuration != nil {
		spec.Max = time.Duration(*s.MaxDuration)
	}
	if s.Deadline != nil {
		spec.Deadline = &s.Deadline.Clock
	}
	b.checkSLA(s, spec)
	b.def.SLA = spec
}

func (b *builder) checkSLA(s *SLASection, spec sla.Spec) {
	if s.Deadline != nil {
		b.checkClockFitsPeriod("sla.deadline", s.Deadline)
	}
	if s.Deadline == nil && s.MaxDuration == nil {
		b.warnf("sla", "has neither a deadline nor a maxDuration, so it has no effect; set one")
	}
	if s.MaxDuration != nil && b.def.Start == nil {
		b.clashf("sla.maxDuration", "schedule.trigger", "counts from the first reading of the start condition; add schedule.trigger")
	}
	if spec.Max > 0 && spec.Expected >= spec.Max {
		b.warnClashf("sla.expectedDuration", "sla.maxDuration", "is not shorter than maxDuration, so the warning is sent at 75 %% of it")
	}
	if s.DayOffset > 0 && b.def.Schedule.Size() < period.Day {
		b.clashf("sla.dayOffset", b.sizePath(), "applies only to deadlines of days, weeks, months and quarters, and the period is %s; remove it", b.def.Schedule.Size())
	}
}
