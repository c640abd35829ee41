package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// streamPath is the path of the live event stream.
const streamPath = prefix + "/events/stream"

// The timing of a stream.
const (
	streamBatch  = 25                    // events read at once; a stream whose client does not read keeps them
	streamPause  = 50 * time.Millisecond // the least time between two reads, so that a busy store is not read for each event
	writeTimeout = 10 * time.Second      // how long a client may take to accept data
	streamUnread = 64 << 10              // bytes that the system may keep for a client that does not read
	retryAfter   = 2 * 1000              // milliseconds until a disconnected client reconnects
)

// streams counts the open streams. Each reads the store at its own pace, so that a slow client does
// not delay others.
type streams struct {
	mu          sync.Mutex
	open        int
	max         int
	openByToken map[string]int
	maxPerToken int
	closing     context.Context // of the API
}

// enter counts one more stream of a client, or returns a Problem at the limit. Clients without a
// name, on a server without tokens, have no limit of their own.
func (s *streams) enter(who principal) *Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.max || s.closing.Err() != nil {
		return problem(http.StatusServiceUnavailable, plainKind, "the server's limit of %d event streams is reached; try again later", s.max).with("Retry-After", "10")
	}
	if who.name != "" && s.openByToken[who.name] >= s.maxPerToken {
		return problem(http.StatusTooManyRequests, plainKind,
			"%q has %d event streams open, which is the limit per token; close some, or raise auth.streamsPerToken", who.name, s.maxPerToken).with("Retry-After", "10")
	}
	s.open++
	s.openByToken[who.name]++
	return nil
}

func (s *streams) leave(who principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.openByToken[who.name]--; s.openByToken[who.name] == 0 {
		delete(s.openByToken, who.name)
	}
}

// stream sends live events as server-sent events whose ids are their positions. With Last-Event-ID
// it resumes after that event, and ignores since. With since it starts in the past. Otherwise it
// starts with the next event.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	f, p := a.newFollower(r)
	if p == nil {
		p = a.streams.enter(f.who)
	}
	if p != nil {
		p.write(w, r)
		return
	}
	defer a.streams.leave(f.who)
	a.metrics.streams.Inc()
	defer a.metrics.streams.Dec()
	if err := f.setStart(r.Context()); err != nil {
		problemOf(err).write(w, r)
		return
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	f.out, f.control = w, http.NewResponseController(w)
	// The server's timeouts are for requests that end. If they cannot be lifted, the stream ends
	// with them.
	_ = f.control.SetReadDeadline(time.Time{})
	limitUnread(r.Context(), streamUnread)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	f.request = r
	if err := f.run(r.Context()); err != nil && r.Context().Err() == nil {
		callOf(r.Context()).err = err
	}
}

// follower is one stream.
type follower struct {
	api     *API
	who     principal
	request *http.Request
	query   store.EventQuery
	resumes bool           // it resumes an earlier stream
	beats   bool           // heartbeats are events, which scripts in a browser can see, rather than comments
	at      store.Position // everything up to here has been read
	sent    store.Position // the last position sent to the client
	out     http.ResponseWriter
	control *http.ResponseController
}

// newFollower returns the stream that a request asks for, or the Problem of an invalid query.
func (a *API) newFollower(r *http.Request) (*follower, *Problem) {
	f := &follower{api: a, who: whoOf(r.Context())}
	if p := f.who.may(RoleViewer, ""); p != nil {
		return nil, p
	}
	in := r.URL.Query()
	for name := range in {
		if !slices.Contains([]string{"pipeline", "type", "since", "lastEventId", "heartbeat"}, name) {
			return nil, badRequest("query parameter %.60q is unknown; use pipeline, type, since, lastEventId or heartbeat", name)
		}
	}
	switch beats := in.Get("heartbeat"); beats {
	case "", "false":
	case "true":
		f.beats = true
	default:
		return nil, badRequest("heartbeat %.60q is invalid; use true or false", beats)
	}
	var p *Problem
	if f.query, p = a.eventQuery(f.who, in.Get("pipeline"), in.Get("type"), in.Get("since")); p != nil {
		return nil, p
	}
	last := cmp.Or(r.Header.Get("Last-Event-ID"), in.Get("lastEventId"))
	if last == "" {
		return f, nil
	}
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil || n < 0 {
		return nil, badRequest("Last-Event-ID %.60q is not an id of this stream", last)
	}
	f.at, f.resumes = store.Position(n), true
	f.query.Since = time.Time{} // a relative since moves with every reconnect and would skip the events of an outage
	return f, nil
}

// setStart sets the start position. A position beyond the end belongs to another store; the stream
// then starts with the next event.
func (f *follower) setStart(ctx context.Context) error {
	start, err := f.api.store.LastPosition(ctx)
	if err == nil && !f.query.Since.IsZero() {
		start, err = f.api.store.PositionAt(ctx, f.query.Since)
	}
	if err != nil {
		return err
	}
	if !f.resumes || f.at > start {
		f.at = start
	}
	f.sent = f.at
	return nil
}

// run sends events until the client or the server ends the stream. The first line tells the client
// that the stream is open, and its position.
func (f *follower) run(ctx context.Context) error {
	first := fmt.Appendf(nil, "retry: %d\nid: %d\n", retryAfter, f.at)
	if f.beats {
		first = append(first, f.heartbeat()...)
	}
	if err := f.send(append(first, '\n')); err != nil {
		return err
	}
	beat := time.NewTicker(f.api.settings.Heartbeat)
	defer beat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		changed := f.api.store.EventsChanged()
		more, err := f.catchUp(ctx)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		pause.Reset(streamPause)
		select {
		case <-ctx.Done():
			return nil
		case <-f.api.closing.Done():
			return nil
		case <-beat.C:
			if !f.stillAllowed() {
				return nil
			}
			if err := f.sendHeartbeat(); err != nil {
				return err
			}
		case <-changed:
			select {
			case <-ctx.Done():
				return nil
			case <-pause.C:
			}
		}
	}
}

// catchUp sends the events after the last position, and reports whether there may be more.
func (f *follower) catchUp(ctx context.Context) (bool, error) {
	events, err := f.api.store.EventsAfter(ctx, f.at, streamBatch)
	if err != nil {
		return false, fmt.Errorf("read events after %d: %w", f.at, err)
	}
	if len(events) == 0 {
		return false, nil
	}
	silenced, err := f.silenced(ctx, events)
	if err != nil {
		return false, err
	}
	var out []byte
	for _, e := range events {
		f.at = e.Position
		if !f.wants(e.Event) {
			continue
		}
		data, err := json.Marshal(Event{e.Event, silenced(e.Event)})
		if err != nil {
			return false, fmt.Errorf("write event %s: %w", e.Event.ID, err)
		}
		out = fmt.Appendf(out, "id: %d\ndata: %s\n\n", e.Position, data)
		f.sent = e.Position
	}
	if len(out) > 0 {
		err = f.send(out)
	}
	return len(events) == streamBatch, err
}

// silenced returns a function that names the silence which suppressed the alert about an event.
func (f *follower) silenced(ctx context.Context, events []store.StoredEvent) (func(event.Event) string, error) {
	if f.api.alerts == nil {
		return func(event.Event) string { return "" }, nil
	}
	return f.api.alerts.SilencedAmong(ctx, events)
}

// stillAllowed authenticates the request again. A stream may last for weeks; it ends with its
// session or token.
func (f *follower) stillAllowed() bool {
	who, p := f.api.authenticate(f.request, callOf(f.request.Context()))
	if p != nil || who.may(RoleViewer, f.query.Pipeline) != nil {
		return false
	}
	f.who = who
	return true
}

// wants reports whether the stream has e. Audit events duplicate others, so a stream sends them
// only if the query asks for them.
func (f *follower) wants(e event.Event) bool {
	q := f.query
	return f.who.seesEvent(e) && (e.Type != event.Audit || q.Type == event.Audit) && (q.Pipeline == "" || e.Detail.Pipeline == q.Pipeline) && (q.Type == "" || e.Type == q.Type) && !e.Time.Before(q.Since)
}

// sendHeartbeat sends a heartbeat with the current position, so that a client that wants few events
// can resume from there without all others being read again.
func (f *follower) sendHeartbeat() error {
	out := []byte(": alive\n")
	if f.beats {
		out = f.heartbeat()
	}
	if f.at != f.sent {
		out = fmt.Appendf(out, "id: %d\n", f.at)
		f.sent = f.at
	}
	return f.send(append(out, '\n'))
}

// heartbeat returns a heartbeat that a script in a browser can see, with its interval.
func (f *follower) heartbeat() []byte {
	return fmt.Appendf(nil, "event: heartbeat\ndata: {\"at\":%q,\"intervalSeconds\":%g}\n",
		period.Exact(f.api.now()), f.api.settings.Heartbeat.Seconds())
}

// send writes to the client with a deadline. A client that is too slow is disconnected; it can
// reconnect and resume.
func (f *follower) send(out []byte) error {
	// Without a connection, as in a test's recorder, there is no deadline either.
	_ = f.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := f.out.Write(out); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	if err := f.control.Flush(); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return nil
}
