package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

// conversation is the stored state of the thread of one run.
//
//	nothing ──claim──> claimed ──root posted──> open thread: replies, root rewritten when the state changes
//	                     │  ^
//	                     v  │ the claim expired: search for the root, then post
//	                 (crash, no answer)
type conversation struct {
	Channel string `json:"channel,omitempty"` // its id
	Root    string `json:"root,omitempty"`    // the root message's timestamp, which is its id
	Claim   *claim `json:"claim,omitempty"`   // a process is about to post the root

	First    card           `json:"first"` // content of the root
	State    sink.State     `json:"state,omitempty"`
	Worst    event.Severity `json:"worst,omitempty"` // while it is open
	Turned   event.Type     `json:"turned,omitempty"`
	TurnedAt time.Time      `json:"turnedAt,omitzero"`
	Sent     sink.Sent      `json:"told,omitempty"`

	thread sink.Thread
}

// claim keeps other processes from posting the root until it expires. From is when the first try
// began whose outcome is unknown.
type claim struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// with returns the conversation after an alert. A late alert does not reopen a matter that has been
// settled since.
func (c conversation) with(a sink.Alert) conversation {
	e := a.Event
	if a.Settled && (c.State == sink.Recovered || c.State == sink.Closed) {
		c.Sent = c.Sent.With(e.ID)
		return c
	}
	next, worst := c.State.After(e), c.Worst
	if next != sink.Opened || c.State != sink.Opened || worse(e.Detail.Severity, worst) {
		worst = e.Detail.Severity
	}
	if next != c.State || next == sink.Opened && worst != c.Worst {
		c.State, c.Worst, c.Turned, c.TurnedAt = next, worst, e.Type, e.Time
	}
	c.Sent = c.Sent.With(e.ID)
	return c
}

func worse(a, b event.Severity) bool {
	return a != b && (a == event.Critical || b == event.Info || b == "")
}

// root returns the message at the head of the thread.
func (c conversation) root() message {
	return c.First.message(standing(c.State, c.Turned, c.TurnedAt), colour(c.State, cmp.Or(c.Worst, c.First.Severity)))
}

// at returns the place of the root.
func (c conversation) at() place { return place{c.Channel, c.Root} }

// load reads the conversation stored under key.
func (s *Sink) load(ctx context.Context, key string) (conversation, error) {
	var c conversation
	t, err := sink.LoadThread(ctx, s.threads, key, &c)
	if err != nil {
		return conversation{}, fmt.Errorf("slack: %w", err)
	}
	c.thread = t
	return c, nil
}

// save replaces the version of c that was read. It returns sink.ErrTaken if another process has
// changed it since.
func (s *Sink) save(ctx context.Context, c conversation) (conversation, error) {
	saved, err := sink.SaveThread(ctx, s.threads, c.thread, c, s.now())
	if err != nil {
		return c, fmt.Errorf("slack: %w", err)
	}
	c.thread = saved
	return c, nil
}

// maxRaces is how often a conversation is read again after a conflict.
const maxRaces = 5

// amend saves a change of c. After a conflict it applies the change to the new version.
func (s *Sink) amend(ctx context.Context, c conversation, change func(conversation) (conversation, error)) error {
	for range maxRaces {
		next, err := change(c)
		if err != nil {
			return err
		}
		if _, err = s.save(ctx, next); !errors.Is(err, sink.ErrTaken) {
			return err
		}
		if c, err = s.load(ctx, c.thread.Key); err != nil {
			return err
		}
	}
	return fmt.Errorf("slack: thread %s keeps being changed by other processes", c.thread.Key)
}
