package period_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"2026-03-03", "20260303", "2026-03-03T07", "20260303T07", "2026-03-03T07:15", "20260303T0715",
		"2026-11-01T01-05:00", "2026-04-05T01:45+10:30", "1883-11-18T12:00-04:56:02", "2026-02-30", "",
		"2026-03", "2026-Q1", "2026Q4", "2026-W10", "2026W53", "9999-W52", "0001-01",
	} {
		f.Add(text)
	}
	zone := periodtest.Load(f, "America/New_York")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := period.Parse(text)
		if err != nil {
			return
		}
		if back, err := period.Parse(p.String()); err != nil || back != p {
			t.Fatalf("%q is %s, which is %s, %v", text, p, back, err)
		}
		for _, zone := range []*time.Location{time.UTC, zone} {
			start, end := p.Start(zone), p.End(zone)
			if end.Before(start) {
				t.Fatalf("%s ends at %s before it starts at %s", p, end, start)
			}
			if period.At(start, p.Size(), zone) != p {
				continue // no slice of this zone has that name
			}
			if next := p.Add(1, zone); !next.IsZero() && next.Start(zone).Before(end) {
				t.Fatalf("%s ends at %s, after %s starts", p, end, next)
			}
		}
	})
}

func BenchmarkAt(b *testing.B) {
	at := time.Date(2026, 7, 3, 10, 15, 0, 0, time.UTC)
	zone := periodtest.Load(b, "America/New_York")
	for _, size := range []period.Size{period.Day, period.Hour, period.Minute} {
		b.Run(size.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				period.At(at, size, zone)
			}
		})
	}
	b.Run("repeated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			period.At(time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC), period.Hour, zone)
		}
	})
}

func BenchmarkStart(b *testing.B) {
	zone, p := periodtest.Load(b, "America/New_York"), periodtest.Parse(b, "2026-07-03T10")
	b.ReportAllocs()
	for b.Loop() {
		p.Start(zone)
	}
}

func BenchmarkAdd(b *testing.B) {
	zone, p := periodtest.Load(b, "America/New_York"), periodtest.Parse(b, "2026-07-03T10")
	b.ReportAllocs()
	for b.Loop() {
		p.Add(-1, zone)
	}
}

func BenchmarkString(b *testing.B) {
	p := periodtest.Parse(b, "2026-11-01T01:30-05:00")
	b.ReportAllocs()
	for b.Loop() {
		_ = p.String()
	}
}
