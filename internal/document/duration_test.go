package document_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/document"
)

func TestDurationsHaveDaysAndWeeks(t *testing.T) {
	tests := map[string]time.Duration{
		"0": 0, "0s": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "+5m": 5 * time.Minute,
		"1d": 24 * time.Hour, "1d12h": 36 * time.Hour, "2w": 14 * 24 * time.Hour, "0.5d": 12 * time.Hour,
		"1w1d1h1m1s1ms1us1ns": 8*24*time.Hour + time.Hour + time.Minute + time.Second + time.Millisecond + time.Microsecond + 1,
		"1µs":                 time.Microsecond, "1μs": time.Microsecond, ".5s": 500 * time.Millisecond, "1.s": time.Second,
		"9223372036854775807ns": 1<<63 - 1, "15250w": 15250 * 7 * 24 * time.Hour,
	}
	for text, want := range tests {
		if got, err := document.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestInvalidDurationIsRejectedInWords(t *testing.T) {
	tests := map[string]string{
		"": "not a duration", "5": "not a duration", "s": "not a duration", "5x": "not a duration", ".s": "not a duration",
		"5 m": "not a duration", "1h ": "not a duration", "1D": "not a duration", "-5m": "is negative", "--5m": "is negative",
		"+-5m": "is negative", "1.2.3s": "not a duration", "5m3": "not a duration", "1e3s": "not a duration",
		"9223372036854775808ns": "too long", "99999999999999999999w": "too long", "15251w": "too long",
		"15250w15250w": "too long", strings.Repeat("9", 1000) + "s": "too long",
	}
	for text, want := range tests {
		if got, err := document.ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want an error about %q", text, got, err, want)
		}
	}
}

func TestAnAbsentNodeIsNotADuration(t *testing.T) {
	var d document.Duration
	if got := d.DecodeNode(document.Node{}); len(got) != 1 || !strings.HasSuffix(got[0].Message, "found nothing") {
		t.Errorf("got %v", got)
	}
}

func TestGoDurationsMeanTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([0-9]{1,6}(\.[0-9]{0,12})?(ns|us|µs|ms|s|m|h)){1,4}`).Draw(t, "text")
		want, refused := time.ParseDuration(text) // too long ones are
		if got, err := document.ParseDuration(text); (err != nil) != (refused != nil) || got != want {
			t.Fatalf("%s: got %v, %v; want %v, %v", text, got, err, want, refused)
		}
	})
}

func TestADurationReadsBackFromItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := document.Duration(rapid.Int64Range(0, 1<<63-1).Draw(t, "nanoseconds"))
		if got, err := document.ParseDuration(want.String()); err != nil || got != want.D() {
			t.Fatalf("%s: got %v, %v", want, got, err)
		}
	})
	for d, want := range map[time.Duration]string{0: "0s", time.Hour: "1h", 90 * time.Minute: "1h30m", 36 * time.Hour: "36h", 48 * time.Hour: "2d", 400 * 24 * time.Hour: "400d", 61 * time.Second: "1m1s", 10 * time.Minute: "10m", time.Hour + time.Second: "1h0m1s"} {
		if got := document.Duration(d).String(); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"", "0", "5m", "1d12h", "2w", "-1s", "1.5h", "µ", "999999999999w", ".", "1..s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := document.ParseDuration(text)
		if err == nil && got < 0 {
			t.Errorf("%q is %v", text, got)
		}
		if std, stdErr := time.ParseDuration(text); stdErr == nil && std >= 0 && !strings.HasPrefix(text, "-") && (err != nil || got != std) {
			t.Errorf("%q: got %v, %v; the standard library has %v", text, got, err, std)
		}
	})
}
