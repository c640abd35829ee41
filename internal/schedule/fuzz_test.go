package schedule_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

func FuzzParseCron(f *testing.F) {
	for _, expr := range []string{
		"0 5 * * *", "*/15 8-17 * * 1-5", "@daily", "@hourly", "@every 1h", "TZ=UTC 0 5 * * *", "0 0 29 2 *", "0 0 30 2 *",
		"0 0 ? JAN,feb 6-7", "0 0 1,15,L * *", "0 0 * * FRI#3,1#1", "0 0 LW * 5L", "0 0 L 2 5#5", ", * * * *", "*-5 * * * *", "0 0 5 * * *", "",
	} {
		f.Add(expr, int64(1772960400))
	}
	zone := periodtest.Load(f, "America/New_York")
	f.Fuzz(func(t *testing.T, expr string, sec int64) {
		cron, err := schedule.ParseCron(expr)
		if err != nil {
			return
		}
		at := time.Unix(sec, 0)
		next, prev := cron.Next(at, zone), cron.Prev(at, zone)
		if !next.IsZero() && !next.After(at) || !prev.IsZero() && !prev.Before(at) {
			t.Fatalf("%q: %s is not between %s and %s", expr, at, prev, next)
		}
		s := schedule.New(schedule.Spec{Cron: cron, Size: cron.Size(), Zone: zone})
		for slot := range s.Slots(at) {
			if !s.FireFor(slot.Period).Equal(slot.FireAt) {
				t.Fatalf("%q: %s opens at %s, not at %s", expr, slot.Period, s.FireFor(slot.Period), slot.FireAt)
			}
			break
		}
	})
}

func FuzzParseClock(f *testing.F) {
	for _, text := range []string{"00:00", "23:59", ":30", "7:00", "24:00", "", ":"} {
		f.Add(text)
	}
	zone, from := periodtest.Load(f, "Australia/Lord_Howe"), time.Date(2026, 4, 4, 14, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := schedule.ParseClock(text)
		if err != nil {
			return
		}
		if c.String() != text {
			t.Fatalf("%q is written %q", text, c)
		}
		if got := c.After(from, zone); got.Before(from) || got.Sub(from) > 25*time.Hour {
			t.Fatalf("%s comes at %s", c, got)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	zone, from := periodtest.Load(b, "America/New_York"), time.Date(2026, 7, 3, 10, 15, 0, 0, time.UTC)
	for _, expr := range []string{"0 5 * * *", "*/15 * * * *", "0 0 29 2 *"} {
		cron := parseCron(b, expr)
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cron.Next(from, zone)
			}
		})
	}
}

func BenchmarkFireFor(b *testing.B) {
	s := schedule.New(schedule.Spec{Cron: parseCron(b, "5 * * * *"), Size: period.Hour, Offset: -1, Zone: periodtest.Load(b, "America/New_York")})
	p := s.PeriodAt(time.Date(2026, 7, 3, 10, 15, 0, 0, time.UTC))
	b.ReportAllocs()
	for b.Loop() {
		s.FireFor(p)
	}
}
