package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAbsences is how often in a row a server that was there before may be unreachable before a stream is given up.
const maxAbsences = 30

// Follow calls f with each event as it is announced, until ctx ends or f returns an error, which it then returns. raw is
// the event as the server sent it. The query may hold pipeline, type and since; without since the first event is the
// next that happens. A connection that breaks is made again and goes on after the last event, so that none is lost; a
// server that stays away for some thirty tries, or was never there, is an *UnreachableError.
func (c *Client) Follow(ctx context.Context, query url.Values, f func(e Event, raw json.RawMessage) error) error {
	s := &stream{client: *c, query: query, wait: 2 * time.Second, f: f}
	s.client.http = &http.Client{Transport: c.http.Transport, CheckRedirect: stay} // a stream has no time limit
	for absences := 0; ; {
		began, err := s.follow(ctx)
		var gone *UnreachableError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case began:
			absences = 0
		case s.last == "" || absences == maxAbsences:
			return err
		}
		if err != nil && !errors.As(err, &gone) && !unavailable(err) {
			return err
		}
		absences++
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.wait):
		}
	}
}

// stream is one stream of events over all its connections.
type stream struct {
	client Client
	query  url.Values
	last   string        // the id of the last event that came as a whole
	coming string        // the id that was sent last
	wait   time.Duration // before a connection is made again
	f      func(Event, json.RawMessage) error
}

// follow makes one connection and reads it to its end, and says whether it was made.
func (s *stream) follow(ctx context.Context) (bool, error) {
	req, err := s.client.request(ctx, http.MethodGet, path("events", "stream"), s.query, nil)
	if err != nil {
		return false, err
	}
	if s.last != "" {
		req.Header.Set("Last-Event-ID", s.last)
	}
	resp, err := s.client.answer(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return true, s.client.unreachable(err)
		}
		if err := s.take(strings.TrimRight(line, "\r\n")); err != nil {
			return true, err
		}
	}
}

// take reads one line of a stream. The server sends each event's data in one.
func (s *stream) take(line string) error {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "":
		if line == "" {
			s.last = s.coming
		}
	case "id":
		s.coming = value
	case "retry":
		if ms, err := strconv.Atoi(value); err == nil && ms >= 0 {
			s.wait = time.Duration(ms) * time.Millisecond
		}
	case "data":
		raw := json.RawMessage(value)
		var e Event
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("read an event of the stream: %w", err)
		}
		return s.f(e, raw)
	}
	return nil
}
