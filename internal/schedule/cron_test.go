package schedule_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func TestAnExpressionIsShownAsItIsWritten(t *testing.T) {
	for written, want := range map[string]string{"0 8 * * MON-FRI": "0 8 * * MON-FRI", " 0\t8  * * * ": "0 8 * * *", "@daily": "@daily"} {
		c, err := schedule.ParseCron(written)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.New(schedule.Spec{Cron: c, Size: c.Size()}).Cron().String(); got != want {
			t.Errorf("%q is shown as %q", written, got)
		}
	}
	if c := schedule.New(schedule.Spec{Size: period.Day}).Cron(); c != nil {
		t.Errorf("a schedule without cron has %q", c)
	}
}

func TestFiresOfKnownDays(t *testing.T) {
	for _, c := range []struct {
		name, expr, zone, after string
		want                    []string
	}{
		{"a time in the gap is taken at its end", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		{"two times in the gap are one fire", "15,45 2 * * *", "America/New_York", "2026-03-08T00:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:15:00Z"}},
		{"a time that comes twice is taken once", "30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
		{"hours named one by one follow the wall clock", "0 0-3 * * *", "America/New_York", "2026-11-01T03:59:00Z", []string{"2026-11-01T04:00:00Z", "2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z", "2026-11-01T08:00:00Z"}},
		{"every hour follows elapsed time in autumn", "0 * * * *", "America/New_York", "2026-11-01T04:30:00Z", []string{"2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z", "2026-11-01T07:00:00Z"}},
		{"every hour follows elapsed time in spring", "@hourly", "America/New_York", "2026-03-08T05:30:00Z", []string{"2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"}},
		{"a star with a step skips the hour that is not there", "0 */2 * * *", "America/New_York", "2026-03-08T05:00:00Z", []string{"2026-03-08T08:00:00Z"}},
		{"midnight does not exist", "@daily", "America/Santiago", "2026-09-05T12:00:00Z", []string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"}},
		{"half an hour is repeated", "45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", []string{"2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z", "2026-04-04T16:15:00Z"}},
		{"half an hour is lost", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"a day is lost", "0 5 * * *", "Pacific/Apia", "2011-12-29T16:00:00Z", []string{"2011-12-30T10:00:00Z", "2011-12-30T15:00:00Z"}},
		{"a quarter-hour offset", "0 * * * *", "Asia/Kathmandu", "2026-03-03T00:00:00Z", []string{"2026-03-03T00:15:00Z", "2026-03-03T01:15:00Z"}},
		{"Ramadan", "30 2 * * *", "Africa/Casablanca", "2026-02-14T12:00:00Z", []string{"2026-02-15T01:30:00Z", "2026-02-16T02:30:00Z"}},
		{"negative summer time", "30 1 * * *", "Europe/Dublin", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"either day field is enough when both are restricted", "0 0 13 * FRI", "UTC", "2026-03-06T00:00:00Z", []string{"2026-03-13T00:00:00Z", "2026-03-20T00:00:00Z", "2026-03-27T00:00:00Z", "2026-04-03T00:00:00Z", "2026-04-10T00:00:00Z", "2026-04-13T00:00:00Z"}},
		{"a question mark restricts nothing", "0 0 ? * MON", "UTC", "2026-03-03T00:00:00Z", []string{"2026-03-09T00:00:00Z", "2026-03-16T00:00:00Z"}},
		{"seven is Sunday", "0 0 * * 7", "UTC", "2026-03-03T00:00:00Z", []string{"2026-03-08T00:00:00Z", "2026-03-15T00:00:00Z"}},
		{"seven ends a range", "0 0 * * 6-7", "UTC", "2026-03-03T00:00:00Z", []string{"2026-03-07T00:00:00Z", "2026-03-08T00:00:00Z", "2026-03-14T00:00:00Z"}},
		{"seven ends a range with steps", "0 0 * * 1-7/3", "UTC", "2026-03-03T00:00:00Z", []string{"2026-03-05T00:00:00Z", "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"}},
		{"a leap day waits eight years", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{"once a year", "@yearly", "UTC", "2026-01-01T00:00:00Z", []string{"2027-01-01T00:00:00Z"}},
		{"the end of months that have one", "0 0 31 * *", "UTC", "2026-03-31T00:00:00Z", []string{"2026-05-31T00:00:00Z", "2026-07-31T00:00:00Z"}},
		{"the last day of every month", "0 6 L * *", "UTC", "2028-01-31T06:00:00Z", []string{"2028-02-29T06:00:00Z", "2028-03-31T06:00:00Z", "2028-04-30T06:00:00Z"}},
		{"the last day in a list", "0 0 1,15,L * *", "UTC", "2027-02-15T00:00:00Z", []string{"2027-02-28T00:00:00Z", "2027-03-01T00:00:00Z", "2027-03-15T00:00:00Z", "2027-03-31T00:00:00Z"}},
		{"the last day of February", "0 0 L 2 *", "UTC", "2026-03-01T00:00:00Z", []string{"2027-02-28T00:00:00Z", "2028-02-29T00:00:00Z"}},
		{"the last day, on which the clock skips the time", "30 2 L * *", "Europe/Berlin", "2019-02-28T12:00:00Z", []string{"2019-03-31T01:00:00Z", "2019-04-30T00:30:00Z"}},
		{"the last day, whose midnight does not exist", "0 0 l 3 *", "Asia/Amman", "2016-12-31T00:00:00Z", []string{"2017-03-30T22:00:00Z", "2018-03-30T21:00:00Z"}},
		{"the third Friday", "0 22 * * 5#3", "UTC", "2026-03-01T00:00:00Z", []string{"2026-03-20T22:00:00Z", "2026-04-17T22:00:00Z", "2026-05-15T22:00:00Z"}},
		{"the second Sunday, on which the clock skips the time", "30 2 * 3 SUN#2", "America/New_York", "2026-01-01T00:00:00Z", []string{"2026-03-08T07:00:00Z", "2027-03-14T07:00:00Z"}},
		{"the first Sunday, on which the time comes twice", "30 1 * * 7#1", "America/New_York", "2026-10-30T00:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-12-06T06:30:00Z"}},
		{"first and third Mondays", "0 0 * * MON#1,mon#3", "UTC", "2026-06-01T00:00:00Z", []string{"2026-06-15T00:00:00Z", "2026-07-06T00:00:00Z", "2026-07-20T00:00:00Z"}},
		{"a fifth Friday that most months lack", "0 0 * * 5#5", "UTC", "2026-01-31T00:00:00Z", []string{"2026-05-29T00:00:00Z", "2026-07-31T00:00:00Z", "2026-10-30T00:00:00Z"}},
		{"a fifth Friday of February waits 28 years", "0 0 * 2 5#5", "UTC", "2008-03-01T00:00:00Z", []string{"2036-02-29T00:00:00Z"}},
		{"one Friday and all Mondays", "0 0 * * 5#1,1", "UTC", "2026-03-01T00:00:00Z", []string{"2026-03-02T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-09T00:00:00Z"}},
		{"the last day or the third Friday", "0 0 L * 5#3", "UTC", "2026-03-01T00:00:00Z", []string{"2026-03-20T00:00:00Z", "2026-03-31T00:00:00Z", "2026-04-17T00:00:00Z", "2026-04-30T00:00:00Z"}},
		{"the last day or any Monday", "0 0 L * MON", "UTC", "2026-03-24T00:00:00Z", []string{"2026-03-30T00:00:00Z", "2026-03-31T00:00:00Z", "2026-04-06T00:00:00Z"}},
		{"a 13th or the third Friday", "0 0 13 * FRI#3", "UTC", "2026-03-01T00:00:00Z", []string{"2026-03-13T00:00:00Z", "2026-03-20T00:00:00Z", "2026-04-13T00:00:00Z"}},
		{"a star beside the last day restricts nothing", "0 0 *,L * 5#3", "UTC", "2026-03-01T00:00:00Z", []string{"2026-03-20T00:00:00Z", "2026-04-17T00:00:00Z"}},
		{"every hour of the last day follows elapsed time", "0 */12 L * *", "Europe/Berlin", "2019-03-30T00:00:00Z", []string{"2019-03-30T23:00:00Z", "2019-03-31T10:00:00Z", "2019-04-29T22:00:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cron, zone := parseCron(t, c.expr), periodtest.Load(t, c.zone)
			var got []string
			fire := at(t, c.after)
			for range c.want {
				fire = cron.Next(fire, zone)
				got = append(got, fire.Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", c.expr, c.zone, diff)
			}
			for i := len(c.want) - 2; i >= 0; i-- {
				fire = cron.Prev(fire, zone)
				if fire.Format(time.RFC3339) != c.want[i] {
					t.Errorf("before %s came %s, want %s", c.want[i+1], fire, c.want[i])
				}
			}
		})
	}
}

func TestWrongExpressionsAreRefusedWithWhatWouldBeRight(t *testing.T) {
	for expr, want := range map[string]string{
		"":                                      "five fields",
		"   ":                                   "five fields",
		"0 5 * *":                               "it must have five fields, not 4: minute, hour",
		"0 0 5 * * *":                           "it must have five fields, not 6: minute, hour",
		"@every 1h":                             "*/15 * * * *",
		"@every":                                "*/15 * * * *",
		"@reboot":                               "@daily",
		"@daily now":                            "@daily",
		"@":                                     "@daily",
		"TZ=UTC 0 5 * * *":                      "schedule.timezone",
		"CRON_TZ=Asia/Tokyo 0 5 * * *":          "schedule.timezone",
		"TZ=":                                   "schedule.timezone",
		"61 * * * *":                            `minute "61" is not understood: use 0-59`,
		"* 24 * * *":                            `hour "24" is not understood: use 0-23`,
		"* * 0 * *":                             `day of month "0" is not understood: use 1-31`,
		"* * * 13 *":                            `month "13" is not understood: use 1-12 or JAN-DEC`,
		"* * * * 8":                             "0 and 7 are Sunday",
		"* * * * 5-8":                           "0 and 7 are Sunday",
		"* * * * FRI-SUN":                       "0 and 7 are Sunday",
		", * * * *":                             "minute",
		"1,,2 * * * *":                          "minute",
		"*-5 * * * *":                           "minute",
		"+5 * * * *":                            "minute",
		"-5 * * * *":                            "minute",
		"*/0 * * * *":                           "minute",
		"*/ * * * *":                            "minute",
		"*/-1 * * * *":                          "minute",
		"1/2/3 * * * *":                         "minute",
		"1-2-3 * * * *":                         "minute",
		"5-3 * * * *":                           "minute",
		"? * * * *":                             "minute",
		"* ? * * *":                             "hour",
		"** * * * *":                            "minute",
		"@daily * * * *":                        "@daily",
		"* TZ=UTC * * *":                        "hour",
		"* * @every * *":                        "day of month",
		"99999999999999999999 * * * *":          "minute",
		"*/9999999999999999999 * * * *":         "minute",
		"0 0 30 2 *":                            "never fires",
		"0 0 31 2,4,6,9,11 *":                   "never fires",
		"0 0 30 2 */1":                          "never fires",
		"0 0 LW * *":                            "the last working day of a month is not supported: use L for its last day",
		"0 0 1,LW * *":                          `day of month "LW"`,
		"0 0 15W * *":                           "the working day nearest to a date (W) is not supported: use the date without W",
		"0 0 W * *":                             `day of month "W" is not understood: use 1-31 or L`,
		"0 0 L-3 * *":                           "L stands alone",
		"0 0 L/2 * *":                           "L stands alone",
		"0 0 1-L * *":                           "L stands alone",
		"0 0 5L * *":                            "L stands alone",
		"0 0 LL * *":                            "L stands alone",
		"0 0 L, * *":                            `day of month "L," is not understood`,
		"0 0 32,L * *":                          `day of month "32,L" is not understood`,
		"0 0 5#3 * *":                           "# counts weekdays, in the fifth field (day of week)",
		"0 0 * * 5L":                            "the last Friday of a month is not supported: use 5#4 for the fourth",
		"0 0 * * FRIL":                          "use FRI#4 for the fourth",
		"0 0 * * MON,L":                         "L is the last day of a month: write it in the third field (day of month)",
		"0 0 * * 9L":                            `day of week "9L" is not understood`,
		"0 0 * * 5#0":                           "a month has up to five Fridays: use 5#1 to 5#5",
		"0 0 * * FRI#6":                         "use FRI#1 to FRI#5",
		"0 0 * * 5#":                            "use 5#1 to 5#5",
		"0 0 * * 5#03":                          "use 5#1 to 5#5",
		"0 0 * * 5#+3":                          "use 5#1 to 5#5",
		"0 0 * * 5#1-3":                         "use 5#1 to 5#5",
		"0 0 * * 1-5#2":                         "# follows one day, as in 5#3 or FRI#3: list several as MON#1,TUE#1",
		"0 0 * * *#2":                           "# follows one day",
		"0 0 * * #2":                            "# follows one day",
		"0 0 * * 8#1":                           "# follows one day",
		"0 0 * * 5#3/2":                         "use 5#1 to 5#5",
		"0 0 * * 5#3,9":                         `day of week "5#3,9" is not understood`,
		"0 L * * *":                             `hour "L" is not understood: use 0-23`,
		"0 0 * L *":                             `month "L" is not understood`,
		"0 0 * 5#3 *":                           `month "5#3" is not understood`,
		"\x00 * * * *":                          "minute",
		"١ * * * *":                             "minute",
		strings.Repeat("9", 1<<16) + " * * * *": "minute",
	} {
		cron, err := schedule.ParseCron(expr)
		if err == nil {
			t.Errorf("ParseCron(%.40q) = %+v, want an error", expr, cron)
			continue
		}
		if !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("ParseCron(%.40q): %.500q does not say %q", expr, err, want)
		}
	}
}

func TestExpressionsThatFireRarelyAreAccepted(t *testing.T) {
	for _, expr := range []string{"0 0 29 2 *", "0 0 30 2 1", "0 0 31 12 ?", " 0  5 * * * ", "0 5 * jan-MAR Mon,fri", "*/61 * * * *"} {
		if _, err := schedule.ParseCron(expr); err != nil {
			t.Error(err)
		}
	}
}

func TestSizeNeverHoldsTwoFires(t *testing.T) {
	for expr, want := range map[string]period.Size{
		"@daily": period.Day, "30 5 * * 1-5": period.Day, "0 */24 * * *": period.Day, "0 5,5 * * *": period.Day,
		"@hourly": period.Hour, "5 8-17 * * *": period.Hour, "5 1,2 1 1 *": period.Hour,
		"*/15 * * * *": period.Minute, "0,30 5 * * *": period.Minute, "* * * * *": period.Minute,
	} {
		if got := parseCron(t, expr).Size(); got != want {
			t.Errorf("%s has size %s, want %s", expr, got, want)
		}
	}
}

func TestNothingFiresOutsideFourDigitYears(t *testing.T) {
	for _, expr := range []string{"0 5 * * *", "* * * * *", "0 0 29 2 *", "0 */24 29 2 *"} {
		cron := parseCron(t, expr)
		for _, zone := range []*time.Location{nil, time.UTC, periodtest.Load(t, "America/New_York"), periodtest.Load(t, "Asia/Kathmandu")} {
			for _, sec := range []int64{math.MaxInt64, 1 << 40} {
				if got := cron.Next(time.Unix(sec, 0), zone); !got.IsZero() {
					t.Errorf("%s fires at %s", expr, got)
				}
				if got := cron.Prev(time.Unix(sec, 0), zone); got.Year() < 9990 {
					t.Errorf("the last fire of %s is %s", expr, got)
				}
			}
			for _, sec := range []int64{math.MinInt64, -1 << 40} {
				if got := cron.Prev(time.Unix(sec, 0), zone); !got.IsZero() {
					t.Errorf("%s fired at %s", expr, got)
				}
				if got := cron.Next(time.Unix(sec, 0), zone); got.Year() > 10 {
					t.Errorf("the first fire of %s is %s", expr, got)
				}
			}
		}
	}
}
