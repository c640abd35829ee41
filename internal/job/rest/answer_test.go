package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
)

func TestATargetsWishToWaitIsHonouredWithinBounds(t *testing.T) {
	now := time.Date(2026, 3, 3, 7, 0, 0, 0, time.UTC)
	for wish, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0": 0, "-5": 0, "soon": 0, "1.5": 0, "99999999999": 24 * time.Hour, "9223372036854775807": 24 * time.Hour,
		"Tue, 03 Mar 2026 07:01:00 GMT": time.Minute, "Tue, 03 Mar 2026 06:00:00 GMT": 0, "Wed, 03 Mar 2027 07:00:00 GMT": 24 * time.Hour,
	} {
		if got := (Answer{header: http.Header{"Retry-After": {wish}}}).retryAfter(now); got != want {
			t.Errorf("%q: got %s, want %s", wish, got, want)
		}
	}
}

func TestAMessageIsOneShortLine(t *testing.T) {
	tests := map[string]struct {
		answer Answer
		want   string
	}{
		"a page":        {Answer{Code: 502, Body: " <html>\nx"}, "answered 502 Bad Gateway"},
		"several lines": {Answer{Code: 500, Body: "\n disk full \nmore"}, "answered 500 Internal Server Error: disk full"},
		"long":          {Answer{Code: 500, Body: strings.Repeat("ä", 1000)}, "answered 500 Internal Server Error: " + strings.Repeat("ä", 150)},
		"not a text":    {Answer{Code: 400, Body: "\xff\xfe"}, "answered 400 Bad Request"},
		"own code":      {Answer{Code: 599}, "answered 599"},
	}
	for name, tt := range tests {
		if got := tt.answer.Result(job.Redactor{}).Message; got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestAnAnswerThatWasCutShowsNoPartOfASecret(t *testing.T) {
	const secret = "Zq9Xv8Jw7Kp6"
	for cut := range len(secret) {
		a := Answer{Code: 200, Body: "so far " + secret[:cut], partial: true}
		if got := a.Result(job.NewRedactor(secret)).Output; strings.ContainsAny(got, "Zq9") {
			t.Errorf("cut after %d: %q", cut, got)
		}
	}
}
