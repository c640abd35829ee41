package wire_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// slack accepts messages, unless it is set to reject them.
type slack struct {
	*httptest.Server
	mu      sync.Mutex
	refuses bool
	limits  bool
	posted  []string // the thread of each message, or - for one that begins a thread
	tokens  map[string]bool
	back    []back
}

func newSlack(t *testing.T) *slack {
	s := &slack{tokens: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = r.ParseForm()
		s.tokens[r.Form.Get("token")+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] = true
		if s.refuses {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		if s.limits {
			w.Header().Set("Retry-After", "17")
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		if strings.HasSuffix(r.URL.Path, "chat.postMessage") {
			thread := r.Form.Get("thread_ts")
			if thread == "" {
				thread = "-"
			}
			s.posted = append(s.posted, thread)
		}
		fmt.Fprintf(w, `{"ok": true, "channel": "C0123456789", "ts": "%d.000100"}`, 1700000000+len(s.posted))
	}))
	t.Cleanup(s.Close)
	return s
}

const secret = "xoxb-from-the-secret"

// back is a message that was put back into the queue.
type back struct {
	QueueUrl, MessageBody string
	DelaySeconds          int
}

const queueURL = "https://sqs.eu-west-1.amazonaws.com/123456789012/test-interlock-alerts"

// dispatcher returns the function and its log.
func dispatcher(t *testing.T, s *slack, settings awslambda.Settings) (*awslambda.Dispatcher, *bytes.Buffer) {
	t.Helper()
	secrets := awstest.NewServer(t, awstest.Operations{
		"secretsmanager.GetSecretValue": func(w http.ResponseWriter, _ *http.Request) {
			awstest.Reply(w, map[string]string{"SecretString": secret})
		},
		"AmazonSQS.SendMessage": func(w http.ResponseWriter, r *http.Request) {
			s.back = append(s.back, awstest.Read[back](t, r))
			sum := md5.Sum([]byte(s.back[len(s.back)-1].MessageBody)) // the SDK verifies it
			awstest.Reply(w, map[string]string{"MessageId": "1", "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		},
	})
	settings.AlertQueue = queueURL
	env := map[string]string{"AWS_REGION": awstest.Region, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_ENDPOINT_URL": secrets.URL}
	environment, c := dynamotest.Streaming(t)
	settings.SlackAPI, settings.EgressAllow = s.URL+"/", []string{"127.0.0.1"}
	var out bytes.Buffer
	d := wire.Dispatcher(t.Context(), wire.Base{
		Settings: settings, AWS: awscall.Config(func(name string) string { return env[name] }),
		Store: dynamo.New(awslambdatest.WithRole(c, awslambda.AlertDispatcher), environment, dynamo.Options{}), Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	return d, &out
}

// alerts are failures of one run as the queue delivers them.
func alerts(t *testing.T, attempts ...int) (in events.SQSEvent) {
	t.Helper()
	for _, n := range attempts {
		at := time.Date(2026, 3, 3, 6, n, 0, 0, time.UTC)
		text, err := json.Marshal(event.New(event.JobFailed, event.About{Pipeline: "orders", Schedule: "cron", Attempt: n, At: at}, "it failed", event.Finished{}))
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Replace(string(text), `"date":""`, `"date":"2026-03-03"`, 1)
		in.Records = append(in.Records, events.SQSMessage{MessageId: fmt.Sprint(n), Body: body})
	}
	return in
}

func TestAlertsOfOneRunShareAThread(t *testing.T) {
	s := newSlack(t)
	d, out := dispatcher(t, s, awslambda.Settings{SlackChannel: "C0123456789", SlackSecret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:slack"})
	for range 2 { // a redelivery posts nothing new
		if got, err := d.Dispatch(t.Context(), alerts(t, 1, 2)); err != nil || len(got.BatchItemFailures) != 0 {
			t.Fatalf("%+v, %v: %s", got, err, out)
		}
	}
	if want := "[- 1700000001.000100]"; fmt.Sprint(s.posted) != want {
		t.Errorf("posted %v, want %v", s.posted, want)
	}
	if !s.tokens[secret] || len(s.tokens) != 1 {
		t.Errorf("tokens: %v", s.tokens)
	}
	if strings.Contains(out.String(), secret) {
		t.Error("the token is in the log")
	}
}

func TestAlertRejectedBySlackStaysInTheQueue(t *testing.T) {
	s := newSlack(t)
	s.refuses = true
	d, _ := dispatcher(t, s, awslambda.Settings{SlackChannel: "C0123456789", SlackToken: "xoxb-1"})
	got, err := d.Dispatch(t.Context(), alerts(t, 1))
	if err != nil || len(got.BatchItemFailures) != 1 || got.BatchItemFailures[0].ItemIdentifier != "1" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRateLimitedAlertIsPutBackAndSentLater(t *testing.T) {
	s := newSlack(t)
	s.limits = true
	d, _ := dispatcher(t, s, awslambda.Settings{SlackChannel: "C0123456789", SlackToken: "xoxb-1"})
	in := alerts(t, 1, 2)
	d.Now = func() time.Time { return time.Date(2026, 3, 3, 6, 5, 0, 0, time.UTC) }
	if got, err := d.Dispatch(t.Context(), in); err != nil || len(got.BatchItemFailures) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(s.back) != 2 || s.back[0] != (back{queueURL, in.Records[0].Body, 17}) || s.back[1] != (back{queueURL, in.Records[1].Body, 17}) {
		t.Errorf("put back %+v", s.back)
	}
	s.limits = false
	if got, err := d.Dispatch(t.Context(), in); err != nil || len(got.BatchItemFailures) != 0 || len(s.posted) != 2 || len(s.back) != 2 {
		t.Errorf("%+v, %v; posted %v", got, err, s.posted)
	}
}

func TestWithoutATokenAlertsAreLoggedWithOneWarning(t *testing.T) {
	d, out := dispatcher(t, newSlack(t), awslambda.Settings{SlackChannel: "C0123456789"})
	for n := 1; n <= 2; n++ {
		if got, err := d.Dispatch(t.Context(), alerts(t, n)); err != nil || len(got.BatchItemFailures) != 0 {
			t.Fatalf("%+v, %v: %s", got, err, out)
		}
	}
	if said, events := strings.Count(out.String(), "SLACK_BOT_TOKEN"), strings.Count(out.String(), "msg=alert"); said != 1 || events != 2 {
		t.Errorf("said %d times, %d alerts in\n%s", said, events, out)
	}
}
