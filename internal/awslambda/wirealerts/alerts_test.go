package wirealerts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awsconfig"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/awslambda/wirealerts"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

func TestMain(m *testing.M) { os.Exit(dynamotest.Main(m)) }

// slack takes messages, unless it is told to refuse.
type slack struct {
	*httptest.Server
	mu      sync.Mutex
	refuses bool
	posted  []string // the thread of each message, or - for one that begins a thread
	tokens  map[string]bool
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

// dispatcher is the function, with its log.
func dispatcher(t *testing.T, s *slack, settings awslambda.Settings) (*awslambda.Dispatcher, *bytes.Buffer) {
	t.Helper()
	secrets := awstest.NewServer(t, awstest.Operations{"secretsmanager.GetSecretValue": func(w http.ResponseWriter, _ *http.Request) {
		awstest.Reply(w, map[string]string{"SecretString": secret})
	}})
	env := map[string]string{"AWS_REGION": awstest.Region, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_ENDPOINT_URL": secrets.URL}
	environment, c := dynamotest.Streaming(t)
	settings.SlackAPI, settings.EgressAllow = s.URL+"/", []string{"127.0.0.1"}
	var out bytes.Buffer
	d := wirealerts.Dispatcher(t.Context(), wire.Base{
		Settings: settings, AWS: awsconfig.New(func(name string) string { return env[name] }),
		Store: dynamo.New(c, environment, dynamo.Options{}), Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	return d, &out
}

// alerts are failures of one run, as the queue delivers them.
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
	for range 2 { // what comes again was told before
		if got, err := d.Dispatch(t.Context(), alerts(t, 1, 2)); err != nil || len(got.BatchItemFailures) != 0 {
			t.Fatalf("%+v, %v", got, err)
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

func TestWhatSlackDoesNotTakeStaysInTheQueue(t *testing.T) {
	s := newSlack(t)
	s.refuses = true
	d, _ := dispatcher(t, s, awslambda.Settings{SlackChannel: "C0123456789", SlackToken: "xoxb-1"})
	got, err := d.Dispatch(t.Context(), alerts(t, 1))
	if err != nil || len(got.BatchItemFailures) != 1 || got.BatchItemFailures[0].ItemIdentifier != "1" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWithoutATokenAlertsAreLoggedAndThatIsSaidOnce(t *testing.T) {
	d, out := dispatcher(t, newSlack(t), awslambda.Settings{SlackChannel: "C0123456789"})
	for n := 1; n <= 2; n++ {
		if got, err := d.Dispatch(t.Context(), alerts(t, n)); err != nil || len(got.BatchItemFailures) != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if said, told := strings.Count(out.String(), "SLACK_BOT_TOKEN"), strings.Count(out.String(), "msg=alert"); said != 1 || told != 2 {
		t.Errorf("said %d times, %d alerts in\n%s", said, told, out)
	}
}
