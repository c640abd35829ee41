package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// emit emits n events of a pipeline, numbered from the last.
func (w *world) emit(id pipeline.ID, n int) {
	w.Helper()
	for range n {
		w.emitted++
		which := fmt.Sprintf("number %d", w.emitted)
		b := store.Batch{ID: which}
		b.Emit(event.New(event.PipelinePaused, event.About{Pipeline: id, Which: which, At: w.Now()}, which, event.Pause{}))
		w.Check(w.Store.Commit(ctx, b, w.Now()))
	}
}

func TestEventsAreListedNewestFirst(t *testing.T) {
	w := newWorld(t)
	w.Pass(time.Hour)
	w.emit("orders", 3)
	w.emit("silver-orders", 1)
	messages := func(query string) []string {
		t.Helper()
		var got []string
		for _, item := range w.get("/api/v1/events" + query).items() {
			got = append(got, item["detail"].(map[string]any)["message"].(string))
		}
		return got
	}
	for query, want := range map[string][]string{
		"?type=PIPELINE_PAUSED":                       {"number 4", "number 3", "number 2", "number 1"},
		"?type=pipeline_paused":                       {"number 4", "number 3", "number 2", "number 1"},
		"?types=pipeline_paused,Job_Completed":        {"number 4", "number 3", "number 2", "number 1"},
		"?type=PIPELINE_PAUSED&pipeline=orders":       {"number 3", "number 2", "number 1"},
		"?type=PIPELINE_PAUSED&limit=2":               {"number 4", "number 3"},
		"?type=PIPELINE_PAUSED&since=30m":             {"number 4", "number 3", "number 2", "number 1"},
		"?since=2026-03-03T10:10:00Z&pipeline=orders": {"number 3", "number 2", "number 1"},
		"?type=PIPELINE_PAUSED&since=2026-03-04":      nil,
		"?type=JOB_COMPLETED":                         nil,
	} {
		if diff := cmp.Diff(want, messages(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	page := w.get("/api/v1/events?type=PIPELINE_PAUSED&limit=3").object(200)
	if diff := cmp.Diff([]string{"number 1"}, messages("?type=PIPELINE_PAUSED&limit=3&cursor="+page["nextCursor"].(string))); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	for _, query := range []string{"?type=NONSENSE", "?since=soon", "?limit=501", "?limit=-1", "?pipeline=NO", "?cursor=x"} {
		w.get("/api/v1/events" + query).problem(400)
	}
}

// stream is an open event stream.
type stream struct {
	*world
	cancel context.CancelFunc
	lines  *bufio.Reader
	last   string // the last id received
}

func (w *world) follow(query string, headers ...string) *stream {
	w.Helper()
	c, cancel := context.WithCancel(ctx)
	w.Cleanup(cancel)
	r, err := http.NewRequestWithContext(c, "GET", w.server.URL+"/api/v1/events/stream"+query, nil)
	w.Check(err)
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := w.server.Client().Do(r)
	w.Check(err)
	w.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		w.Fatalf("got %d %v", answer.StatusCode, answer.Header)
	}
	s := &stream{world: w, cancel: cancel, lines: bufio.NewReader(answer.Body)}
	s.line("retry: 2000\n")
	s.block() // the rest of the first message
	return s
}

func (s *stream) line(want string) {
	s.Helper()
	if got, err := s.lines.ReadString('\n'); err != nil || got != want {
		s.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// block reads up to the next empty line and returns its data and comments.
func (s *stream) block() (data, comment string) {
	s.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.Fatalf("the stream ended: %v", err)
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "":
			if line == "\n" {
				return data, comment
			}
			comment = value
		case "id":
			s.last = value
		case "data":
			data = value
		}
	}
}

// next returns the message of the next event.
func (s *stream) next() string {
	s.Helper()
	for {
		data, _ := s.block()
		if data == "" {
			continue
		}
		var e event.Event
		s.Check(json.Unmarshal([]byte(data), &e))
		return e.Detail.Message
	}
}

func (s *stream) expect(want ...string) {
	s.Helper()
	for _, w := range want {
		if got := s.next(); got != w {
			s.Fatalf("got %q, want %q", got, w)
		}
	}
}

func TestStreamStartsWithTheNextEvent(t *testing.T) {
	w := newWorld(t)
	w.emit("orders", 3)
	s := w.follow("")
	w.emit("orders", 2)
	s.expect("number 4", "number 5")
	w.emit("silver-orders", 1)
	s.expect("number 6")
}

func TestStreamResumesAfterTheLastEventID(t *testing.T) {
	w := newWorld(t)
	s := w.follow("")
	w.emit("orders", 2)
	s.expect("number 1")
	last := s.last
	s.cancel()
	w.emit("orders", 500) // more than are read at once
	s = w.follow("", "Last-Event-ID: "+last)
	for n := 2; n <= 502; n++ {
		s.expect(fmt.Sprintf("number %d", n))
	}
	w.follow("?lastEventId=" + last).expect("number 2")
	w.get("/api/v1/events/stream", "Last-Event-ID: x").problem(400, "Last-Event-ID")
	if got := w.request("HEAD", "/api/v1/events/stream", ""); got.status != 200 || got.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %d %v", got.status, got.header)
	}
}

func TestStreamCanStartInThePast(t *testing.T) {
	w := newWorld(t)
	w.emit("orders", 3)
	w.Pass(time.Hour)
	w.emit("orders", 3)
	w.follow("?type=PIPELINE_PAUSED&since=2026-03-03T10:00:00Z").expect("number 4", "number 5", "number 6")
	w.follow("?type=PIPELINE_PAUSED&since=2020-01-01").expect("number 1")
}

func TestResumedStreamIgnoresSince(t *testing.T) {
	w := newWorld(t)
	const query = "?type=PIPELINE_PAUSED&since=10s"
	s := w.follow(query)
	w.emit("orders", 1)
	s.expect("number 1")
	s.cancel()
	w.emit("orders", 2)
	w.Pass(time.Hour)
	w.emit("orders", 1)
	w.follow(query, "Last-Event-ID: "+s.last).expect("number 2", "number 3", "number 4")
	w.follow(query).expect("number 4")
}

func TestPositionBeyondTheEndStartsWithTheNextEvent(t *testing.T) {
	w := newWorld(t)
	s := w.follow("", "Last-Event-ID: 999999999")
	w.emit("orders", 1)
	s.expect("number 1")
}

func TestStreamIsFiltered(t *testing.T) {
	w := newWorld(t, withTokens, func(d *api.Deps) { d.Settings.Heartbeat = 20 * time.Millisecond })
	w.token = viewerToken
	s := w.follow("?pipeline=silver-orders&type=PIPELINE_PAUSED")
	w.token = limitedToken
	limited := w.follow("")
	w.emit("orders", 5)
	w.emit("silver-orders", 1)
	s.expect("number 6")
	limited.expect("number 6")
	before := s.last
	w.emit("orders", 1)
	for s.last == before {
		if data, _ := s.block(); data != "" {
			t.Fatalf("got %s", data)
		}
	} // a heartbeat also carries the position
	for _, query := range []string{"?type=NONSENSE", "?pipeline=NO", "?since=soon", "?colour=red"} {
		w.get("/api/v1/events/stream" + query).problem(400)
	}
	w.get("/api/v1/events/stream?pipeline=orders").problem(403)
}

func TestIdleStreamSendsHeartbeats(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) { d.Settings.Heartbeat = 5 * time.Millisecond })
	s := w.follow("")
	for range 3 {
		if data, comment := s.block(); data != "" || comment != "alive" {
			t.Errorf("got %q, %q", data, comment)
		}
	}
}

func TestHeartbeatsAreEventsOnRequest(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) { d.Settings.Heartbeat = 5 * time.Millisecond })
	resp, err := http.Get(w.server.URL + "/api/v1/events/stream?heartbeat=true")
	w.Check(err)
	defer resp.Body.Close()
	lines, beats := bufio.NewScanner(resp.Body), 0
	for beats < 3 && lines.Scan() {
		if lines.Text() != "event: heartbeat" {
			continue
		}
		lines.Scan()
		if beats++; lines.Text() != `data: {"at":"2026-03-03T09:10:00Z","intervalSeconds":0.005}` {
			t.Errorf("got %q", lines.Text())
		}
	}
	if beats != 3 {
		t.Errorf("%d heartbeats before the stream ended: %v", beats, lines.Err())
	}
	w.get("/api/v1/events/stream?heartbeat=maybe").problem(400, "heartbeat")
}

func TestStreamsAreBoundedAndEndWithTheServer(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) { d.Settings.MaxStreams = 1 })
	s := w.follow("")
	if got := w.get("/api/v1/events/stream"); got.problem(503) == nil || got.header.Get("Retry-After") == "" {
		t.Errorf("got %v", got.header)
	}
	stop, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	w.Check(w.server.Config.Shutdown(stop))
	if _, err := io.ReadAll(s.lines); err != nil && stop.Err() != nil {
		t.Errorf("the stream continued: %v", err)
	}
}

func TestOneTokenCannotTakeAllStreams(t *testing.T) {
	w := newWorld(t, withTokens, func(d *api.Deps) { d.Settings.StreamsPerToken = 1 })
	w.token = viewerToken
	s := w.follow("")
	got := w.get("/api/v1/events/stream")
	got.problem(429, "wall", "auth.streamsPerToken")
	if got.header.Get("Retry-After") == "" {
		t.Errorf("got %v", got.header)
	}
	w.token = ""
	w.get("/api/v1/events/stream", carry(w.login(viewerToken))).problem(429) // a session counts as its token
	w.token = operatorToken
	w.follow("")
	w.token = viewerToken
	s.cancel()
	for w.request("HEAD", "/api/v1/events/stream", "").status == 429 { // until the server has noticed the disconnect
	}
}

func TestSlowClientDoesNotDelayOthers(t *testing.T) {
	w := newWorld(t)
	slow, err := net.Dial("tcp", strings.TrimPrefix(w.server.URL, "http://"))
	w.Check(err)
	defer slow.Close()
	fmt.Fprintf(slow, "GET /api/v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n") // it never reads
	s := w.follow("")
	for n := 1; n <= 1000; n++ {
		w.emit("orders", 1)
		if n%100 == 0 {
			w.put(ordersSensors+"x", "{}").object(200)
		}
	}
	for n := 1; n <= 1000; n++ {
		s.expect(fmt.Sprintf("number %d", n))
	}
}
