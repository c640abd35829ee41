//go:build unix

package command

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/job"
)

func TestTheTailIsTheEndOfWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tail := newTail(job.Redactor{})
		var all []byte
		for i, n := range rapid.SliceOf(rapid.IntRange(0, 2*maxOutput)).Draw(t, "sizes") {
			part := bytes.Repeat([]byte{byte('a' + i%26)}, n)
			tail.add(part)
			all = append(all, part...)
		}
		if want := all[max(0, len(all)-maxOutput):]; !bytes.Equal(tail.shown(), want) {
			t.Fatalf("of %d bytes, %d are shown", len(all), len(tail.shown()))
		}
	})
}

// TestNoPartOfASecretIsLeftWhereTheTailBegins moves a secret across the beginning of the kept text.
func TestNoPartOfASecretIsLeftWhereTheTailBegins(t *testing.T) {
	const secret = "Zq9Xv8Jw7Kp6"
	secrets := job.NewRedactor(secret)
	for after := maxOutput - 2*len(secret); after <= maxOutput+2*len(secret); after++ {
		tail := newTail(secrets)
		tail.add([]byte(strings.Repeat("-", 3*maxOutput) + secret[:5]))
		tail.add([]byte(secret[5:] + strings.Repeat("-", after)))
		shown := string(tail.shown())
		if strings.ContainsAny(shown, secret) || len(shown) > maxOutput || len(shown) < maxOutput-3*len(secret) {
			t.Fatalf("%d bytes after it: %d are shown, beginning %q", after, len(shown), shown[:20])
		}
	}
}

func TestATailOfSecretsAloneShowsNone(t *testing.T) {
	const secret = "Zq9Xv8Jw7Kp6"
	tail := newTail(job.NewRedactor(secret))
	tail.add([]byte(strings.Repeat(secret+" ", maxOutput)))
	if shown := string(tail.shown()); strings.ContainsAny(shown, secret) || shown == "" {
		t.Errorf("shown: %q", shown[:min(len(shown), 40)])
	}
}

func TestOnlyTheFirstAdditionAsksForAFlush(t *testing.T) {
	tail := newTail(job.Redactor{})
	first, second := tail.add([]byte("a")), tail.add([]byte("b"))
	tail.shown()
	if third := tail.add([]byte("c")); !first || second || !third {
		t.Errorf("got %v, %v, %v", first, second, third)
	}
}
