package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Following says which events to follow.
type Following struct {
	Pipeline string
	Type     string
	Since    string      // start in the past: RFC 3339, a period, or how long ago; by default start with the next event
	After    string      // start after the event with this Position, whatever Since says
	Lost     func(error) // called for each lost connection, if not nil
}

// The timing of reconnects.
const (
	firstRetry = 2 * time.Second // unless the server says otherwise
	lastRetry  = 30 * time.Second
	maxLine    = 4 << 20
)

// Follow calls each with every event as it is recorded, until ctx ends or each returns an error,
// which Follow returns. If the connection is lost, or silent for too long, Follow reconnects and
// resumes after the last event: it skips none and repeats none. Only the first connection must
// succeed at once.
func (c *Client) Follow(ctx context.Context, q Following, each func(Event) error) error {
	s := &stream{client: c, query: q, each: each, last: q.After, retry: firstRetry}
	for failures := 0; ; failures++ {
		if s.read(ctx); s.opened {
			failures = 0
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.refused != nil:
			return s.refused
		case !s.ever || !passing(s.lost):
			return s.lost
		}
		if q.Lost != nil {
			q.Lost(s.lost)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(backoff(s.retry, lastRetry, failures+1)):
		}
	}
}

// passing reports whether a failure is temporary: a server that restarts, or has too many streams.
func passing(err error) bool {
	return !final(err) && !errors.Is(err, bufio.ErrTooLong)
}

// stream is a stream of events over consecutive connections.
type stream struct {
	client *Client
	query  Following
	each   func(Event) error
	last   string        // the position of the last event
	retry  time.Duration // how long the server asks clients to wait
	ever   bool          // a connection has succeeded before
	opened bool          // the latest connection succeeded

	refused error // what each returned
	lost    error // why the latest connection ended
}

// read follows events over one connection until it ends, and records why it ended.
func (s *stream) read(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(s.client.idle, func() { cancel(errSilent) })
	defer silence.Stop()
	resp, err := s.connect(ctx)
	if s.opened = err == nil; !s.opened {
		s.lost = err
		return
	}
	defer resp.Body.Close()
	s.ever = true
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	var m message
	for lines.Scan() {
		silence.Reset(s.client.idle)
		if !m.add(lines.Text()) {
			continue
		}
		if s.refused = s.take(m); s.refused != nil {
			return
		}
		m = message{}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		s.lost = s.client.unusable(http.StatusOK, "sent a line of more than %d bytes: %w", maxLine, err)
		return
	}
	s.lost = s.client.unreachable(s.ended(ctx, lines.Err()))
}

var errSilent = errors.New("the event stream stopped sending keep-alives")

func (s *stream) ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return errSilent
	case err == nil:
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *stream) connect(ctx context.Context) (*http.Response, error) {
	endless := *s.client.http
	endless.Timeout = 0
	r := get(path("events", "stream"), query("pipeline", s.query.Pipeline, "type", s.query.Type))
	r.header = http.Header{"Accept": {"text/event-stream"}}
	switch {
	case s.last != "":
		r.header.Set("Last-Event-ID", s.last)
	case s.query.Since != "":
		r.query.Set("since", s.query.Since) // only for the first connection: a relative since moves with every reconnect
	}
	resp, err := s.client.send(ctx, &endless, r)
	if err != nil {
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		resp.Body.Close()
		return nil, s.client.unusable(resp.StatusCode, "answered with something other than an event stream")
	}
	return resp, nil
}

// message is one message of server-sent events.
type message struct{ id, name, data, retry string }

// add adds a line, and reports whether the message is complete.
func (m *message) add(line string) bool {
	if line == "" {
		return true
	}
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		m.id = value
	case "event":
		m.name = value
	case "retry":
		m.retry = value
	case "data":
		if m.data != "" {
			m.data += "\n"
		}
		m.data += value
	}
	return false // including comments, which are heartbeats
}

// take records the position of the stream and passes on the message's event, if it has one.
func (s *stream) take(m message) error {
	if ms, err := strconv.ParseInt(m.retry, 10, 32); err == nil && ms > 0 {
		s.retry = time.Duration(ms) * time.Millisecond
	}
	if m.data != "" && m.name == "" { // named messages are not events
		e := Event{}
		if err := json.Unmarshal([]byte(m.data), &e); err != nil {
			return s.client.unusable(http.StatusOK, "sent an event that is not JSON")
		}
		e.Position = m.id
		if err := s.each(e); err != nil {
			return err
		}
	}
	if m.id != "" {
		s.last = m.id
	}
	return nil
}
