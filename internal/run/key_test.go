package run_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

func mustPeriod(t interface{ Fatalf(string, ...any) }, s string) period.Period {
	p, err := period.Parse(s)
	if err != nil {
		t.Fatalf("parse period %q: %v", s, err)
	}
	return p
}

func TestKeyRoundTrips(t *testing.T) {
	for _, s := range []string{
		"orders/cron/2026-03-03",
		"a.b-c_9/stream/2026-03-03T10",
		"orders/manual/2026-03-03T10:15",
		"orders/cron/2026-11-01T01-05:00",
		"orders/cron/2026-11-01T01:30-05:00",
		"orders/cron/2026-04-05T02+10:30",
	} {
		k, err := run.ParseKey(s)
		if err != nil {
			t.Errorf("ParseKey(%q): %v", s, err)
			continue
		}
		if k.String() != s {
			t.Errorf("ParseKey(%q).String() = %q", s, k)
		}
		id := k.Attempt(12)
		if got, n, err := run.ParseAttemptID(string(id)); err != nil || got != k || n != 12 {
			t.Errorf("ParseAttemptID(%q) = %v, %d, %v", id, got, n, err)
		}
	}
}

func TestMalformedKeyIsRejected(t *testing.T) {
	for name, s := range map[string]string{
		"empty":            "",
		"two parts":        "orders/cron",
		"four parts":       "orders/cron/2026-03-03/1",
		"bad pipeline":     "Orders/cron/2026-03-03",
		"no pipeline":      "/cron/2026-03-03",
		"unknown schedule": "orders/hourly/2026-03-03",
		"no period":        "orders/cron/",
		"bad period":       "orders/cron/2026-02-30",
	} {
		if k, err := run.ParseKey(s); err == nil {
			t.Errorf("%s: ParseKey(%q) = %v, want an error", name, s, k)
		}
	}
}

func TestMalformedAttemptIDIsRejected(t *testing.T) {
	for _, s := range []string{
		"", "1", "orders/cron/2026-03-03", "orders/cron/2026-03-03/", "orders/cron/2026-03-03/0",
		"orders/cron/2026-03-03/-1", "orders/cron/2026-03-03/+1", "orders/cron/2026-03-03/01",
		"orders/cron/2026-03-03/99999999999999999999", "cron/2026-03-03/1",
	} {
		if k, n, err := run.ParseAttemptID(s); err == nil {
			t.Errorf("ParseAttemptID(%q) = %v, %d, want an error", s, k, n)
		}
	}
}

func TestDifferentAttemptsHaveDifferentIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) run.Key {
			return run.Key{
				Pipeline: pipeline.ID(rapid.StringMatching(`[a-z0-9]([a-z0-9._-]{0,5}[a-z0-9])?`).Draw(t, "pipeline")),
				Schedule: rapid.SampledFrom([]pipeline.ScheduleID{pipeline.ByCron, pipeline.ByStream, pipeline.ByHand}).Draw(t, "schedule"),
				Period: mustPeriod(t, rapid.SampledFrom([]string{
					"2026-03-03", "2026-03-03T10", "2026-11-01T01", "2026-11-01T01-05:00",
				}).Draw(t, "period")),
			}
		})
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		m, n := rapid.IntRange(1, 12).Draw(t, "m"), rapid.IntRange(1, 12).Draw(t, "n")
		if same := a == b && m == n; (a.Attempt(m) == b.Attempt(n)) != same {
			t.Fatalf("%s and %s: same is %v", a.Attempt(m), b.Attempt(n), same)
		}
		k, got, err := run.ParseAttemptID(string(a.Attempt(m)))
		if err != nil || k != a || got != m {
			t.Fatalf("ParseAttemptID(%s) = %v, %d, %v", a.Attempt(m), k, got, err)
		}
	})
}

func FuzzParseAttemptID(f *testing.F) {
	f.Add("orders/cron/2026-03-03/1")
	f.Add("orders/stream/2026-11-01T01-05:00/7")
	f.Add("orders/cron//1")
	f.Add("///")
	f.Fuzz(func(t *testing.T, s string) {
		k, n, err := run.ParseAttemptID(s)
		if err != nil {
			return
		}
		again, m, err := run.ParseAttemptID(string(k.Attempt(n)))
		if err != nil || again != k || m != n {
			t.Errorf("%q is %v attempt %d, read back as %v attempt %d, %v", s, k, n, again, m, err)
		}
	})
}

func TestSourceOfAReadingNamesTheAttemptThatWroteIt(t *testing.T) {
	id := run.AttemptID("orders/cron/2026-03-03/2")
	for source, want := range map[string]bool{
		id.Source():                              true,
		"dbt (attempt orders/cron/2026-03-03/2)": true,
		"attempt orders/cron/2026-03-03/21":      false,
		"dbt (attempt orders/cron/2026-03-03/1)": false,
		"attempt orders/cron/2026-03-03/2 (etl)": false, // a token named etl sent the rest
		"":                                       false,
	} {
		if got := id.Wrote(source); got != want {
			t.Errorf("%q: %t", source, got)
		}
	}
}
