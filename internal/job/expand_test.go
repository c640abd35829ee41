package job_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
)

// config has a text of every kind that configs have.
type config struct {
	Text    string            `yaml:"text"`
	Region  string            `yaml:"region" pattern:"^(.*\\$\\{.*|[a-z]+-[0-9])$" hint:"write a region"`
	List    []document.Text   `yaml:"list"`
	Headers job.Headers       `yaml:"headers"`
	Body    any               `yaml:"body"`
	Time    document.Duration `yaml:"time" default:"1m"`
}

func (c *config) Check() []document.Finding { return c.Headers.Check("headers") }

// attempt is the attempt of a period that tests use.
func attempt(t *testing.T, name string) job.Attempt {
	t.Helper()
	p, err := period.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	key := run.Key{Pipeline: "orders", Schedule: "cron", Period: p}
	return job.Attempt{ID: key.Attempt(2), Pipeline: key.Pipeline, Schedule: key.Schedule, Period: p, Number: 2}
}

func expand(t *testing.T, yaml string, s *job.Secrets) (config, error) {
	t.Helper()
	d, problems := document.Parse("f", []byte(yaml))
	if d == nil {
		t.Fatal(problems)
	}
	var c config
	_, err := job.Expand(attempt(t, "2026-03-03T07"), d.Root(), &c, s)
	return c, err
}

func refusalOf(t *testing.T, err error) *job.Refusal {
	t.Helper()
	var refusal *job.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("want a refusal, got %v", err)
	}
	return refusal
}

func allow(t *testing.T, env map[string]string) *job.Secrets {
	t.Helper()
	var names []string
	for name := range env {
		names = append(names, name)
	}
	s, err := job.NewSecrets(names, nil, func(name string) (string, bool) { value, set := env[name]; return value, set })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVariablesAreFilledInEveryText(t *testing.T) {
	got, err := expand(t, `
text: ${DATE} ${HOUR} ${PERIOD} ${PIPELINE} ${SCHEDULE} ${ATTEMPT} ${RUN_ID} \${DATE} $DATE } \n
list: ["${DATE}${HOUR}", 3, true]
headers: {X-Run: "${RUN_ID}"}
body: {day: "${DATE}", n: 1, deep: [{at: "T${HOUR}"}]}
`, nil)
	want := config{
		Text:    `2026-03-03 07 2026-03-03T07 orders cron 2 orders/cron/2026-03-03T07/2 ${DATE} $DATE } \n`,
		List:    []document.Text{"2026-03-0307", "3", "true"},
		Headers: job.Headers{"X-Run": "orders/cron/2026-03-03T07/2"},
		Body:    map[string]any{"day": "2026-03-03", "n": int64(1), "deep": []any{map[string]any{"at": "T07"}}},
		Time:    document.Duration(60e9),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDateAndHourFollowThePeriod(t *testing.T) {
	for name, want := range map[string]string{
		"2026-03-03": "2026-03-03/", "2026-03-03T00": "2026-03-03/00", "2026-03-03T09:15": "2026-03-03/09", "2026-11-01T01-05:00": "2026-11-01/01",
	} {
		a := attempt(t, name)
		if got := a.Date() + "/" + a.Hour(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestAValueIsNotExpandedAgain(t *testing.T) {
	got, err := expand(t, "text: ${env:A}\n", allow(t, map[string]string{"A": "${DATE} ${env:B}"}))
	if err != nil || got.Text != "${DATE} ${env:B}" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestSecretsThatWereUsedAreHiddenFromThenOn(t *testing.T) {
	d, _ := document.Parse("f", []byte("headers: {Authorization: 'Bearer ${env:A}'}\n"))
	a := attempt(t, "2026-03-03")
	a.Callback.Token = "callback-token"
	a, err := job.Expand(a, d.Root(), new(config), allow(t, map[string]string{"A": "s3cret", "B": "unused"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Secrets.Text("s3cret callback-token unused 2026-03-03"); got != "*** *** unused 2026-03-03" {
		t.Errorf("got %s", got)
	}
}

func TestNoRefusalShowsASecret(t *testing.T) {
	secret := strings.Repeat("Zq9\"Xv8", 20) + "\nJw7Kp6"
	secrets := allow(t, map[string]string{"A": secret, "REGION": "x-1"})
	for _, yaml := range []string{
		"region: ${env:A}\n",
		"headers: {X-A: '${env:A}'}\n",
		"headers: {X-A: '${env:A}', X-B: '${env:GONE}'}\n",
		"region: ${env:A}\nheaders: {'bad name': x}\n",
	} {
		_, err := expand(t, yaml, secrets)
		refusal := refusalOf(t, err)
		if refusal.Category != run.Permanent {
			t.Errorf("%s: got category %q", yaml, refusal.Category)
		}
		for i := 0; i+4 <= len(secret); i++ {
			if strings.Contains(refusal.Reason, secret[i:i+4]) {
				t.Fatalf("%s: shows %q in %s", yaml, secret[i:i+4], refusal.Reason)
			}
		}
	}
	_, err := expand(t, "region: ${env:REGION}\nheaders: {'bad name': x}\n", secrets)
	if got := refusalOf(t, err).Reason; !strings.Contains(got, `"bad name" is not a header name`) {
		t.Errorf("what no secret is in is told as it is, got %s", got)
	}
}

func TestAFilledConfigIsCheckedAgain(t *testing.T) {
	_, err := expand(t, "region: ${DATE}\n", nil)
	if got := refusalOf(t, err); got.Category != run.Permanent || !strings.Contains(got.Reason, "job.config.region: ") || !strings.Contains(got.Reason, "2026-03-03") {
		t.Errorf("got %v", got)
	}
	_, err = expand(t, "text: a ${DATE\n", nil)
	if got := refusalOf(t, err); got.Category != run.Permanent || !strings.Contains(got.Reason, "not closed") {
		t.Errorf("got %v", got)
	}
}
