package wire

import (
	"context"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/log"
	"github.com/interlock-go/interlock/internal/sink/slack"
)

// answerWithin is the timeout of a Slack request.
const answerWithin = 10 * time.Second

// sinkName is the name under which Slack threads are stored.
const sinkName = "slack"

// Dispatcher sends alerts to Slack. Without a token or a channel it writes them to its log, and
// warns once.
func Dispatcher(ctx context.Context, b Base) *awslambda.Dispatcher {
	sinks := []sink.Sink{log.New(b.Logger)}
	if s := slackSink(ctx, b); s != nil {
		sinks = append(sinks, s)
	} else {
		b.Logger.Warn("alerts go only to this log: set SLACK_CHANNEL_ID, and SLACK_SECRET_ARN or SLACK_BOT_TOKEN")
	}
	return &awslambda.Dispatcher{
		Notifier: notify.New(notify.Options{Store: b.Store, Sinks: sinks}), Queue: awscall.NewQueue(b.AWS, b.AlertQueue), Now: time.Now, Logger: b.Logger, Meter: b.Meter,
	}
}

// slackSink returns the Slack channel, or nil without a channel or a token.
func slackSink(ctx context.Context, b Base) sink.Sink {
	token := b.SlackToken
	if b.SlackSecret != "" {
		var err error
		token, err = awscall.Token(ctx, b.AWS, b.SlackSecret)
		b.Must(err)
	}
	if token == "" || b.SlackChannel == "" {
		return nil
	}
	guard, err := egress.New(b.EgressAllow)
	b.Must(err)
	return slack.New(slack.Config{
		Name: sinkName, Channel: b.SlackChannel, Token: token, APIURL: strings.TrimSuffix(b.SlackAPI, "/") + "/",
		Client: guard.Client(answerWithin), Threads: notify.NewThreads(b.Store), Logger: b.Logger, Now: time.Now,
	})
}
