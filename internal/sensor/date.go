package sensor

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/period"
)

// PeriodOf returns the period that a write is for: "date" (with "hour", "minute") in its fields, or
// else the key's suffix, or else undated. A date may also be a week, "2026-W10", a month,
// "2026-03", or a quarter, "2026-Q1"; none of them allows an hour. A malformed date, hour
// or minute is an error: the write must be rejected.
//
// An hour without a date is rejected unless the key names the period: it would otherwise count as
// an undated fact.
func PeriodOf(f Fields, suffix period.Period) (period.Period, error) {
	written, dated := f["date"]
	if !dated {
		if hour, has := f["hour"]; has && suffix.IsZero() {
			return period.Period{}, fmt.Errorf("hour %s has no date; send date too, or rename the field", literal(hour))
		}
		return suffix, nil
	}
	day, err := dayOf(written)
	if err != nil {
		return period.Period{}, err
	}
	hourField, hasHour := f["hour"]
	minuteField, hasMinute := f["minute"]
	if !hasHour {
		if hasMinute {
			return period.Period{}, fmt.Errorf("minute %s has no hour; send hour too, or leave minute out", literal(minuteField))
		}
		return day, nil
	}
	if day.Size() > period.Day {
		return period.Period{}, fmt.Errorf("date %s is a whole %s, so hour %s has no day; send a date like 2026-03-03, or leave hour out",
			literal(written), day.Size(), literal(hourField))
	}
	hour, err := clockField("hour", hourField, 23)
	if err != nil {
		return period.Period{}, err
	}
	size, minute := period.Hour, 0
	if hasMinute {
		size = period.Minute
		if minute, err = clockField("minute", minuteField, 59); err != nil {
			return period.Period{}, err
		}
	}
	year, month, dayOfMonth := day.Date()
	return period.New(size, year, month, dayOfMonth, hour, minute)
}

func dayOf(v any) (period.Period, error) {
	text, ok := digits(v)
	if !ok {
		return period.Period{}, fmt.Errorf("date is %s; write it like 2026-03-03 or 20260303", kindOf(v))
	}
	day, err := period.Parse(text)
	if err != nil {
		return period.Period{}, fmt.Errorf("date %s is not a calendar date; write it like 2026-03-03 or 20260303, a week like 2026-W10, a month like 2026-03, a quarter like 2026-Q1", literal(v))
	}
	if day.Size() < period.Day {
		return period.Period{}, fmt.Errorf("date %s is more than a date; write the day alone, like 2026-03-03, and the rest in hour and minute", literal(v))
	}
	return day, nil
}

// clockField parses 7, "7" or "07", up to most.
func clockField(name string, v any, most int) (int, error) {
	if text, ok := digits(v); ok && len(text) <= 2 {
		if n, err := strconv.ParseUint(text, 10, 8); err == nil && int(n) <= most { // unlike Atoi, it rejects a sign
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("%s is %s; it must be 0 to %d, like 7, \"7\" or \"07\"", name, literal(v), most)
}

// digits returns the text of a field that may be a string or an integer.
func digits(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), true
		}
	}
	return "", false
}

// literal formats a field's value the way its producer wrote it.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return shown(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return kindOf(v)
}

// Literal formats a value as JSON.
func Literal(v any) string {
	if f, is := v.(float64); is && beyondInt64(f) {
		return string(AppendFloat(nil, f))
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
