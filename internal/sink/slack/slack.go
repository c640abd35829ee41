// Package slack is the sink that writes to a Slack channel. Alerts of one run share a thread, whose
// root message shows the state of the matter: open, recovered, closed. Two dispatchers never open
// two threads: a dispatcher claims the thread before it posts the root (open.go), and after a crash
// the next one searches the channel for the root.
//
// Data from pipelines is shown as text and never as markup (text.go).
package slack

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	api "github.com/slack-go/slack"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

// Config is the channel and the bot that writes to it.
type Config struct {
	Name    string
	Channel string // its id, or its name with #
	Token   string // of the bot
	APIURL  string
	Client  *http.Client // guarded against private addresses
	Threads sink.Threads
	Logger  *slog.Logger
	Now     func() time.Time
}

// Sink writes to one channel.
type Sink struct {
	name, channel string
	client        *api.Client
	threads       sink.Threads
	logger        *slog.Logger
	now           func() time.Time
}

var _ sink.Follower = (*Sink)(nil)

// New returns a sink that writes to c.Channel.
func New(c Config) *Sink {
	return &Sink{
		name: c.Name, channel: c.Channel, threads: c.Threads, logger: c.Logger, now: c.Now,
		client: api.New(c.Token, api.OptionAPIURL(c.APIURL), api.OptionHTTPClient(c.Client)),
	}
}

func (s *Sink) Name() string { return s.name }

// Send writes an alert: as the root of a thread if it is the first one of its run, as a reply
// otherwise, and as a separate message if it is about no run.
func (s *Sink) Send(ctx context.Context, a sink.Alert) error {
	if !sink.AboutRun(a.Event) {
		c := newCard(a)
		_, err := s.send(ctx, place{channel: s.channel}, c.message("", colour("", c.Severity)))
		return judge("post a message", err)
	}
	c, err := s.load(ctx, s.key(a.Event))
	switch {
	case err != nil:
		return err
	case c.Sent.Repeats(a):
		return nil // sent already, but the answer was lost
	case c.Root == "":
		return s.open(ctx, c, a)
	default:
		return s.reply(ctx, c, a)
	}
}

// Follow writes how a matter ended into its thread, if it has one.
func (s *Sink) Follow(ctx context.Context, a sink.Alert) error {
	if !sink.AboutRun(a.Event) {
		return nil
	}
	c, err := s.load(ctx, s.key(a.Event))
	if err != nil || c.Sent.Has(a.Event.ID) {
		return err
	}
	if c.Root == "" {
		return s.wait(c)
	}
	if c.with(a).State == c.State {
		return nil
	}
	return s.reply(ctx, c, a)
}

// key returns the key under which the thread of an event's run is stored.
func (s *Sink) key(e event.Event) string { return s.name + "/" + sink.Matter(e) }

// reply rewrites the root if the state has changed, and then posts below it: in this order, because
// a repeated rewrite does no harm and a repeated reply would. A worse state is also shown in the
// channel.
func (s *Sink) reply(ctx context.Context, c conversation, a sink.Alert) error {
	if err := s.refresh(ctx, c, c.with(a)); err != nil {
		return s.reopenIfGone(ctx, c, a, err)
	}
	now := newCard(a)
	m := now.message(turn(c, a), colour(c.with(a).State, now.Severity))
	m.broadcast = c.State == sink.Opened && a.Event.Detail.Severity == event.Critical && c.Worst != event.Critical
	if _, err := s.send(ctx, c.at(), m); err != nil {
		return s.reopenIfGone(ctx, c, a, err)
	}
	return s.amend(ctx, c, func(read conversation) (conversation, error) {
		next := read.with(a)
		if read.thread.Version == c.thread.Version {
			return next, nil
		}
		return next, judge("rewrite the thread's first message", s.refresh(ctx, read, next))
	})
}

// turn returns the new state of the matter, for the reply that changed it.
func turn(c conversation, a sink.Alert) string {
	if next := c.with(a); next.State != c.State {
		return standing(next.State, a.Event.Type, a.Event.Time)
	}
	return ""
}

// refresh rewrites the root if its content has changed.
func (s *Sink) refresh(ctx context.Context, before, after conversation) error {
	if before.State == after.State && before.Worst == after.Worst {
		return nil
	}
	return s.rewrite(ctx, after.at(), after.root(), metadata(after.thread.Key, ""))
}
