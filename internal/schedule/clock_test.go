package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

func clock(t testing.TB, text string) schedule.Clock {
	t.Helper()
	c, err := schedule.ParseClock(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClocksReadAndWriteTheirText(t *testing.T) {
	for text, want := range map[string]schedule.Clock{
		"00:00": {0, 0}, "23:59": {23, 59}, "07:05": {7, 5}, ":00": {-1, 0}, ":45": {-1, 45},
	} {
		if got := clock(t, text); got != want || got.String() != text || got.Hourly() != (text[0] == ':') {
			t.Errorf("%s is %+v, written %s", text, got, got)
		}
	}
}

func TestWrongClocksAreRefused(t *testing.T) {
	for _, text := range []string{"", ":", "24:00", "12:60", ":60", "7:00", "07:5", "0700", "07:00:00", "07:00 ", " 07:00", "-1:00", "+7:00", "٠٧:٠٠", "ab:cd", "::30", "07"} {
		if c, err := schedule.ParseClock(text); err == nil || !strings.Contains(err.Error(), "HH:MM") {
			t.Errorf("ParseClock(%q) = %v, %v", text, c, err)
		}
	}
}

func TestAfterIsTheFirstSuchInstant(t *testing.T) {
	for _, c := range []struct{ name, clock, zone, from, want string }{
		{"at the very instant", "08:00", "UTC", "2026-03-03T08:00:00Z", "2026-03-03T08:00:00Z"},
		{"a moment later it is tomorrow", "08:00", "UTC", "2026-03-03T08:00:00.000000001Z", "2026-03-04T08:00:00Z"},
		{"in the gap it is the end of the gap", "02:30", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"},
		{"after the gap it is tomorrow", "02:30", "America/New_York", "2026-03-08T07:00:01Z", "2026-03-09T06:30:00Z"},
		{"of two it is the first", "01:30", "America/New_York", "2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z"},
		{"the second of two is none", "01:30", "America/New_York", "2026-11-01T05:31:00Z", "2026-11-02T06:30:00Z"},
		{"nor is it from within the second hour", "01:30", "America/New_York", "2026-11-01T06:10:00Z", "2026-11-02T06:30:00Z"},
		{"a minute comes in both hours", ":30", "America/New_York", "2026-11-01T05:31:00Z", "2026-11-01T06:30:00Z"},
		{"a minute of an hour that is not there", ":30", "America/New_York", "2026-03-08T06:31:00Z", "2026-03-08T07:30:00Z"},
		{"a minute in half an hour", ":45", "Australia/Lord_Howe", "2026-04-04T14:46:00Z", "2026-04-04T15:15:00Z"},
		{"a minute that half an hour lacks", ":15", "Australia/Lord_Howe", "2026-10-03T15:00:00Z", "2026-10-03T16:15:00Z"},
		{"midnight that is not there", "00:00", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"},
	} {
		if got := clock(t, c.clock).After(at(t, c.from), periodtest.Load(t, c.zone)).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s from %s is %s, want %s", c.name, c.clock, c.from, got, c.want)
		}
	}
}

func TestAfterDaysDecidesAnewOnThatDay(t *testing.T) {
	zone := periodtest.Load(t, "America/New_York")
	for from, want := range map[string]string{
		"2026-03-07T00:00:00Z": "2026-03-08T07:00:00Z", // into the gap
		"2026-03-08T06:00:00Z": "2026-03-09T06:30:00Z", // out of the gap
	} {
		if got := clock(t, "02:30").AfterDays(at(t, from), 1, zone).Format(time.RFC3339); got != want {
			t.Errorf("a day after 02:30 from %s is %s, want %s", from, got, want)
		}
	}
}

func TestClockThatNoClockShowsNeverComes(t *testing.T) {
	for _, c := range []schedule.Clock{{Hour: 99, Minute: 0}, {Hour: 5, Minute: -1}, {Hour: -1, Minute: 64}} {
		if got := c.After(at(t, "9998-03-03T00:00:00Z"), time.UTC); !got.IsZero() {
			t.Errorf("%+v comes at %s", c, got)
		}
	}
}
