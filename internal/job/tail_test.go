package job_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/job"
)

func TestTheTailIsTheEndOfWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tail := job.NewOutputTail(job.Redactor{})
		var all []byte
		for i, n := range rapid.SliceOf(rapid.IntRange(0, 2*job.MaxOutput)).Draw(t, "sizes") {
			part := bytes.Repeat([]byte{byte('a' + i%26)}, n)
			tail.Add(part)
			all = append(all, part...)
		}
		if want := all[max(0, len(all)-job.MaxOutput):]; !bytes.Equal(tail.Shown(), want) {
			t.Fatalf("of %d bytes, %d are shown", len(all), len(tail.Shown()))
		}
	})
}

// TestNoPartOfASecretIsLeftWhereTheTailBegins moves a secret across the beginning of the kept text.
func TestNoPartOfASecretIsLeftWhereTheTailBegins(t *testing.T) {
	const secret = "Zq9Xv8Jw7Kp6"
	secrets := job.NewRedactor(secret)
	for after := job.MaxOutput - 2*len(secret); after <= job.MaxOutput+2*len(secret); after++ {
		tail := job.NewOutputTail(secrets)
		tail.Add([]byte(strings.Repeat("-", 3*job.MaxOutput) + secret[:5]))
		tail.Add([]byte(secret[5:] + strings.Repeat("-", after)))
		shown := string(tail.Shown())
		if strings.ContainsAny(shown, secret) || len(shown) > job.MaxOutput || len(shown) < job.MaxOutput-3*len(secret) {
			t.Fatalf("%d bytes after it: %d are shown, beginning %q", after, len(shown), shown[:20])
		}
	}
}

func TestATailOfSecretsAloneShowsNone(t *testing.T) {
	const secret = "Zq9Xv8Jw7Kp6"
	tail := job.NewOutputTail(job.NewRedactor(secret))
	tail.Add([]byte(strings.Repeat(secret+" ", job.MaxOutput)))
	if shown := string(tail.Shown()); strings.ContainsAny(shown, secret) || shown == "" {
		t.Errorf("shown: %q", shown[:min(len(shown), 40)])
	}
}

func TestOnlyTheFirstAdditionAsksForAFlush(t *testing.T) {
	tail := job.NewOutputTail(job.Redactor{})
	first, second := tail.Add([]byte("a")), tail.Add([]byte("b"))
	tail.Shown()
	if third := tail.Add([]byte("c")); !first || second || !third {
		t.Errorf("got %v, %v, %v", first, second, third)
	}
}
