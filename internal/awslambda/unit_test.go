package awslambda_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/log"
	"github.com/interlock-go/interlock/internal/store/memory"
)

func TestMissingVariablesAreNamedTogether(t *testing.T) {
	set := map[string]string{"ENVIRONMENT": "prod", "TRIGGER_MAX_ATTEMPTS": "many"}
	_, err := awslambda.Read(awslambda.StreamRouter, func(name string) string { return set[name] })
	if err == nil {
		t.Fatal("nothing is missing")
	}
	for _, want := range []string{"stream-router", "STATE_MACHINE_ARN is not set", "EVENT_BUS_NAME is not set", `TRIGGER_MAX_ATTEMPTS is "many"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := awslambda.Read(awslambda.SLAMonitor, func(name string) string { return set[name] }); err == nil || strings.Contains(err.Error(), "STATE_MACHINE_ARN") {
		t.Errorf("the sla-monitor, which executes nothing: %v", err)
	}
	if s, err := awslambda.Read(awslambda.EventSink, func(name string) string { return map[string]string{"ENVIRONMENT": "prod"}[name] }); err != nil || s.EventsKept.Hours() != 90*24 {
		t.Errorf("%+v, %v", s, err)
	}
}

// message is an event as the queue delivers it.
func message(id string, e event.Event) events.SQSMessage {
	return events.SQSMessage{MessageId: id, Body: fmt.Sprintf(
		`{"id": "bus", "source": "interlock", "detail-type": %q, "time": "2026-03-03T06:00:00Z", "resources": [%q],
		"detail": {"pipelineId": "orders", "scheduleId": "cron", "date": "2026-03-03", "message": "it failed", "timestamp": "2026-03-03T06:00:00Z", "severity": %q}}`,
		e.Type, event.Resource(e.ID), e.Detail.Severity)}
}

func TestAlertsWithoutASinkGoToTheLog(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	data := memory.New()
	d := awslambda.Dispatcher{Logger: logger, Now: func() time.Time { return dawn }, Notifier: notify.New(notify.Options{Store: data, Sinks: []sink.Sink{log.New(logger)}})}
	failed := event.New(event.JobFailed, event.About{Pipeline: "orders", At: dawn}, "it failed", event.Finished{})
	fine := event.New(event.JobCompleted, event.About{Pipeline: "orders", At: dawn}, "done", event.Finished{})
	got, err := d.Dispatch(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		message("1", failed), {MessageId: "2", Body: "no event"}, message("3", fine),
	}})
	if err != nil || len(got.BatchItemFailures) != 1 || got.BatchItemFailures[0].ItemIdentifier != "2" {
		t.Errorf("kept %+v, %v; want the second message alone", got, err)
	}
	if n := strings.Count(out.String(), "msg=alert"); n != 1 || !strings.Contains(out.String(), failed.ID) {
		t.Errorf("%d alerts in\n%s", n, &out)
	}
}

// waiting is a queue that records the messages put back.
type waiting struct{ back []string }

func (q *waiting) Later(_ context.Context, body string, after time.Duration) error {
	q.back = append(q.back, fmt.Sprintf("%s %s", after, body))
	return nil
}

// limited is a sink that is rate-limited from the second alert on.
type limited struct{ asked int }

func (*limited) Name() string { return "limited" }

func (l *limited) Send(context.Context, sink.Alert) error {
	if l.asked++; l.asked > 1 {
		return &sink.Busy{After: 17 * time.Second, Reason: "too many requests"}
	}
	return nil
}

func TestAlertForARateLimitedSinkIsPutBackWithoutFailure(t *testing.T) {
	for name, c := range map[string]struct {
		now         time.Time
		asked, back int
		failures    int
	}{
		"young": {time.Date(2026, 3, 3, 6, 1, 0, 0, time.UTC), 2, 3, 0},
		"a day": {time.Date(2026, 3, 4, 6, 1, 0, 0, time.UTC), 2, 0, 3},
	} {
		s, q := &limited{}, &waiting{}
		logger := slog.New(slog.DiscardHandler)
		d := awslambda.Dispatcher{
			Logger: logger, Queue: q, Now: func() time.Time { return c.now },
			Notifier: notify.New(notify.Options{Store: memory.New(), Sinks: []sink.Sink{s}}),
		}
		var in events.SQSEvent
		for n := range 4 {
			e := event.New(event.JobFailed, event.About{Pipeline: "orders", Attempt: n, At: dawn}, "it failed", event.Finished{})
			in.Records = append(in.Records, message(fmt.Sprint(n), e))
		}
		got, err := d.Dispatch(t.Context(), in)
		if err != nil || len(got.BatchItemFailures) != c.failures || len(q.back) != c.back || s.asked != c.asked {
			t.Errorf("%s: %d failures, %d put back, asked %d times, %v", name, len(got.BatchItemFailures), len(q.back), s.asked, err)
		}
		if c.back > 0 && q.back[0] != "17s "+in.Records[1].Body {
			t.Errorf("%s: put back %s", name, q.back[0])
		}
	}
}
