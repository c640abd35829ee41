package slack

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/sink"
)

const (
	claimFor = 45 * time.Second // longer than a call may take
	callFor  = 20 * time.Second // timeout of a call
	settle   = 10 * time.Second // in which a request that timed out may still arrive
)

// wait returns an error while another process is posting the root, and nil otherwise.
func (s *Sink) wait(c conversation) error {
	if c.Claim == nil || !s.now().Before(c.Claim.Until) {
		return nil
	}
	return &sink.Busy{After: c.Claim.Until.Sub(s.now()), Reason: fmt.Sprintf("slack: another process is opening the thread %s", c.thread.Key)}
}

// open posts the root of a new thread, after making sure that no other process does or did.
func (s *Sink) open(ctx context.Context, c conversation, a sink.Alert) error {
	if err := s.wait(c); err != nil {
		return err
	}
	left := c.Claim // of a process that got an unknown way
	c, err := s.claim(ctx, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	if left != nil {
		found, event, err := s.find(ctx, c, *left)
		switch {
		case err != nil:
			return s.leave(ctx, c, 0, err) // the next try has to search as well
		case found != (place{}):
			return s.adopt(ctx, c, a, found, event)
		}
	}
	c.First = newCard(a)
	next := c.with(a)
	at, err := s.send(ctx, place{channel: s.channel}, next.root(), metadata(c.thread.Key, a.Event.ID))
	if err != nil {
		return s.release(ctx, c, err)
	}
	return s.keep(ctx, c, a, at)
}

// claim acquires the right to post the root. Only one of several processes gets it.
func (s *Sink) claim(ctx context.Context, c conversation) (conversation, error) {
	now := s.now()
	next := &claim{From: now, Until: now.Add(claimFor)}
	if c.Claim != nil {
		next.From = c.Claim.From
	}
	c.Claim = next
	c, err := s.save(ctx, c)
	if errors.Is(err, sink.ErrTaken) {
		return c, &sink.Busy{After: time.Second, Reason: fmt.Sprintf("slack: another process is opening the thread %s", c.thread.Key)}
	}
	return c, err
}

// release ends a claim after an error. Most errors mean that nothing was posted; after the others,
// and without an answer, the message may still arrive, so the next try searches for it first, a
// little later.
func (s *Sink) release(ctx context.Context, c conversation, cause error) error {
	if code := said(cause); slices.Contains(unsure, code) || code == "" && unknown(judge("open a thread", cause)) {
		return s.leave(ctx, c, settle, cause)
	}
	c.Claim = nil
	return s.settled(ctx, c, cause)
}

// leave shortens a claim whose outcome is unknown, so that it expires after the given time.
func (s *Sink) leave(ctx context.Context, c conversation, after time.Duration, cause error) error {
	c.Claim = &claim{From: c.Claim.From, Until: s.now().Add(after)}
	return s.settled(ctx, c, cause)
}

// settled saves the result of a failed try to open a thread, even if ctx is cancelled. If that
// fails, the claim expires by itself.
func (s *Sink) settled(ctx context.Context, c conversation, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callFor)
	defer cancel()
	_, err := s.save(ctx, c)
	return errors.Join(judge("open a thread", cause), err)
}

// unknown reports whether a failed call may have had an effect.
func unknown(verdict error) bool {
	return !errors.As(verdict, new(*sink.Misconfigured)) && !errors.As(verdict, new(*sink.Busy)) && !errors.As(verdict, new(*sink.Refused))
}

// keep stores the root that was posted. If another process has taken over meanwhile and posted
// another, it deletes ours.
func (s *Sink) keep(ctx context.Context, c conversation, a sink.Alert, at place) error {
	s.remember(ctx, at.channel)
	lost := false
	err := s.amend(ctx, c, func(read conversation) (conversation, error) {
		if lost = read.Root != "" && read.Root != at.ts; lost {
			return read, nil
		}
		read.Root, read.Channel, read.Claim, read.First = at.ts, at.channel, nil, c.First
		return read.with(a), nil
	})
	if err != nil || !lost {
		return err
	}
	if _, _, err := s.client.DeleteMessageContext(ctx, at.channel, at.ts); err != nil && !slices.Contains(gone, said(err)) {
		return judge("delete a second thread", err)
	}
	return s.Send(ctx, a)
}

// find searches for a root that was posted but not stored. If the bot may not read the channel, the
// thread may begin twice: that is logged.
func (s *Sink) find(ctx context.Context, c conversation, left claim) (place, string, error) {
	channel := s.knownChannel(ctx)
	if channel == "" {
		s.warn(c, "the channel's id is not known yet; name the channel by its id")
		return place{}, "", nil
	}
	ts, event, err := s.search(ctx, channel, c.thread.Key, left)
	switch {
	case err == nil && ts == "":
		return place{}, "", nil
	case err == nil:
		return place{channel, ts}, event, nil
	case said(err) != "" && !slices.Contains(slowDown, said(err)):
		s.warn(c, "the bot may not read the channel ("+said(err)+"); give it the scope channels:history, or groups:history for a private channel")
		return place{}, "", nil
	default:
		return place{}, "", err
	}
}

func (s *Sink) warn(c conversation, why string) {
	s.logger.Warn("a Slack thread may be opened twice: an earlier attempt to open it left no trace", "sink", s.name, "thread", c.thread.Key, "why", why)
}

// adopt continues with a root that was found.
func (s *Sink) adopt(ctx context.Context, c conversation, a sink.Alert, at place, event string) error {
	c.Root, c.Channel, c.Claim, c.First = at.ts, at.channel, nil, newCard(a)
	if event == a.Event.ID {
		c = c.with(a)
	}
	c, err := s.save(ctx, c)
	if err != nil || event == a.Event.ID {
		return err
	}
	return s.reply(ctx, c, a)
}

// reopenIfGone begins another thread if the root was deleted or locked. The state of the matter
// stays: the event that settles it reads "Recovered" in the new thread, too.
func (s *Sink) reopenIfGone(ctx context.Context, c conversation, a sink.Alert, err error) error {
	if !slices.Contains(gone, said(err)) {
		return judge("write into a thread", err)
	}
	c.Root, c.Claim = "", nil
	return s.open(ctx, c, a)
}

// channelID is the form of a channel's id, as opposed to its name.
var channelID = regexp.MustCompile(`^[CDG][A-Z0-9]{7,}$`)

// knownChannel returns the channel's id, which reading the channel needs; "" if it is unknown.
func (s *Sink) knownChannel(ctx context.Context) string {
	if channelID.MatchString(s.channel) {
		return s.channel
	}
	t, err := s.threads.Thread(ctx, s.channelKey())
	if err != nil {
		return "" // the search is then skipped, and that is logged
	}
	return string(t.Data)
}

// remember stores the id of a channel that is configured by name. Losing it costs a search at
// worst.
func (s *Sink) remember(ctx context.Context, id string) {
	if channelID.MatchString(s.channel) {
		return
	}
	if t, err := s.threads.Thread(ctx, s.channelKey()); err == nil && string(t.Data) != id {
		t.Data = []byte(id)
		_, _ = s.threads.SaveThread(ctx, t, s.now())
	}
}

func (s *Sink) channelKey() string { return s.name + "/channel/" + s.channel }
