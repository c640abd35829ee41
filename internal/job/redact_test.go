package job_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/job"
)

func TestSecretsAreHiddenInEveryForm(t *testing.T) {
	const secret = `s3"cret/ü&x`
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := job.NewRedactor(secret)
	tests := map[string]string{
		"a " + secret + " b":                              "a *** b",
		string(quoted):                                    `"***"`,
		fmt.Sprintf("%q", secret):                         `"***"`,
		"?t=" + url.QueryEscape(secret) + "&u":            "?t=***&u",
		"/" + url.PathEscape(secret) + "/":                "/***/",
		base64.StdEncoding.EncodeToString([]byte(secret)): "***",
		secret + secret:                                   "******",
		"nothing":                                         "nothing",
		"":                                                "",
	}
	for text, want := range tests {
		if got := strings.TrimRight(r.Text(text), "="); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestEachLineOfASecretIsHidden(t *testing.T) {
	r := job.NewRedactor("-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n")
	if got := r.Text("loaded MIIEvQIBADANBg from disk"); got != "loaded *** from disk" {
		t.Errorf("got %s", got)
	}
}

func TestSecretsThatOverlapAreHiddenTogether(t *testing.T) {
	r := job.NewRedactor("abcdef", "defghi")
	if got := r.Text("1abcdefghi2"); got != "1***2" {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsTooShortToBeSecretIsLeftAlone(t *testing.T) {
	r := job.NewRedactor("", "1", "abc", " \n ")
	if got := r.Text("exit code 1: abc"); got != "exit code 1: abc" {
		t.Errorf("got %s", got)
	}
}

func TestARedactorShowsNothingOfItself(t *testing.T) {
	a := job.Attempt{ID: "p/cron/2026-03-03/1", Secrets: job.NewRedactor("s3cret"), Callback: job.Callback{Token: "t0ken"}}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %s %v %+v %#v %s %v", a, a, a, a.Secrets, a.Secrets, a.Secrets, text, a.LogValue())
	if strings.Contains(shown, "s3cret") || strings.Contains(shown, "t0ken") {
		t.Errorf("got %s", shown)
	}
}

func TestNoSecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abé\n ")), 0, 12, -1)
		secrets := rapid.SliceOfN(letters, 0, 4).Draw(t, "secrets")
		text := strings.Join(rapid.SliceOf(rapid.OneOf(letters, rapid.SampledFrom(append(secrets, "-")))).Draw(t, "parts"), "")
		r := job.NewRedactor(secrets...)
		begin := rapid.IntRange(0, len(text)).Draw(t, "begin")
		end := rapid.IntRange(begin, len(text)).Draw(t, "end")
		whole, part := r.Text(text), r.Part(text, begin, end)
		for _, secret := range secrets {
			if len(strings.TrimSpace(secret)) < 4 {
				continue
			}
			if strings.Contains(whole, secret) || strings.Contains(part, secret) {
				t.Fatalf("%q shows in %q or %q", secret, whole, part)
			}
		}
		if r.Part(text, 0, len(text)) != whole || len(part) > end-begin+6 {
			t.Fatalf("%q from %d to %d: %q of %q", text, begin, end, part, whole)
		}
	})
}

func TestAPartOfATextShowsNoPartOfASecret(t *testing.T) {
	const text = "one s3cret-value two s3cret-value three"
	r := job.NewRedactor("s3cret-value")
	for begin := range text {
		for end := begin; end <= len(text); end++ {
			part := r.Part(text, begin, end)
			if rest := strings.NewReplacer("***", "").Replace(part); strings.ContainsAny(rest, "3c-v") {
				t.Fatalf("from %d to %d: %q", begin, end, part)
			}
		}
	}
}
