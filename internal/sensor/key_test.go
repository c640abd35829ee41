package sensor_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/sensor"
)

func TestParseKeySplitsThePeriodOff(t *testing.T) {
	for text, want := range map[string]struct{ key, period string }{
		"orders":                                    {"orders", ""},
		"aA/zZ.0_9-":                                {"aA/zZ.0_9-", ""},
		"hourly-status#2026-03-03T07":               {"hourly-status", "2026-03-03T07"},
		"hourly-status#20260303T07":                 {"hourly-status", "2026-03-03T07"},
		"hourly-status#2026-03-03T07:15":            {"hourly-status", "2026-03-03T07:15"},
		"hourly-status#20260303T0715":               {"hourly-status", "2026-03-03T07:15"},
		"daily#2026-03-03":                          {"daily", "2026-03-03"},
		"daily#20260303":                            {"daily", "2026-03-03"},
		"run/silver#2026-03-03":                     {"run/silver", "2026-03-03"},
		strings.Repeat("k", 128):                    {strings.Repeat("k", 128), ""},
		"run/" + strings.Repeat("k", 128):           {"run/" + strings.Repeat("k", 128), ""},
		"hourly#2026-11-01T01-05:00":                {"hourly", "2026-11-01T01-05:00"},
		strings.Repeat("k", 128) + "#" + "20260303": {strings.Repeat("k", 128), "2026-03-03"},
	} {
		key, p, err := sensor.ParseKey(text)
		if err != nil || string(key) != want.key || p.String() != want.period {
			t.Errorf("%s: got %q, %q, %v", text, key, p, err)
		}
	}
}

func TestParseKeyRejectsInvalidNames(t *testing.T) {
	for text, says := range map[string]string{
		"":                                "sensor key is empty",
		"#2026-03-03":                     "sensor key is empty",
		"a b":                             "has ' ' in it",
		"größe":                           "has 'ö' in it",
		"a\x00":                           `has '\x00' in it`,
		"a:b":                             "has ':' in it",
		strings.Repeat("k", 129):          "has 129 characters; at most 128",
		"run/" + strings.Repeat("k", 129): "has 133 characters",
		"a#":                              `"" after # is not a period`,
		"a#b":                             `"b" after # is not a period`,
		"a#" + strings.Repeat("x", 99):    `"` + strings.Repeat("x", 64) + `"… after # is not a period`,
		"a#2026-02-30":                    `"2026-02-30" after # is not a period`,
		"a#2026-03-03#x":                  `"2026-03-03#x" after # is not a period`,
	} {
		key, p, err := sensor.ParseKey(text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %q, %q, %v; want an error that says %q", text, key, p, err, says)
		}
	}
}

func TestEngineKeysAreRejectedFromOutside(t *testing.T) {
	if _, _, err := sensor.ExternalKey("run/silver"); err == nil || !strings.Contains(err.Error(), "engine") {
		t.Errorf("run/silver: %v", err)
	}
	if _, _, err := sensor.ExternalKey("a b"); err == nil {
		t.Error("accepted a malformed key")
	}
	for _, text := range []string{"runs/silver", "run", "x/run/y#20260303"} {
		if _, _, err := sensor.ExternalKey(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"orders", "a#2026-03-03", "a#20260303T0715", "run/x", "a#b#c", "#", "ä", "a#2026-11-01T01-05:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, p, err := sensor.ParseKey(text)
		if err != nil {
			return
		}
		canonical := string(key)
		if !p.IsZero() {
			canonical += "#" + p.String()
		}
		again, q, err := sensor.ParseKey(canonical)
		if err != nil || again != key || q != p {
			t.Fatalf("%q is %q, which is %q, %v, %v", text, canonical, again, q, err)
		}
	})
}
