package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/client"
)

var slowReaders = flag.Int("readers", 40, "how many clients of TestSlowReadersOfEventsHurtNobody open the event stream and read nothing")

const (
	maxStreams   = 256
	streamGrowth = 256 << 10 // kB of memory above that of the idle server
)

// slowReader is a connection whose client reads nothing after the first line.
type slowReader struct {
	net.Conn
	lines *bufio.Reader
}

// slowly opens the event stream from its beginning, with as little room for data on the way as the
// system allows. It returns the status of the answer.
func (d *daemon) slowly() (*slowReader, string) {
	d.Helper()
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2048) })
	}}
	conn, err := small.DialContext(d.Context(), "tcp", strings.TrimPrefix(d.url, "http://"))
	d.check(err)
	d.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /api/v1/events/stream?lastEventId=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	d.check(err)
	r := &slowReader{conn, bufio.NewReaderSize(conn, 16)}
	status, err := r.lines.ReadString('\n')
	d.check(err)
	return r, strings.TrimSpace(status)
}

// rest reads what was on the way until the server's end of the connection, and returns the last event
// that arrived whole.
func (r *slowReader) rest() (last client.Event) {
	var next client.Event
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return last
		}
		line = strings.TrimRight(line, "\r\n")
		if id, found := strings.CutPrefix(line, "id: "); found {
			next.Position = id
		}
		if data, found := strings.CutPrefix(line, "data: "); found && json.Unmarshal([]byte(data), &next) != nil {
			return last
		}
		if line == "" && next.ID != "" {
			last = next
		}
	}
}

// TestSlowReadersOfEventsHurtNobody has many clients open the event stream and read nothing. The
// server disconnects them, and such a client resumes where it stopped. Meanwhile its memory is
// bounded, readings are stored, and another follower misses nothing.
func TestSlowReadersOfEventsHurtNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	g := newGround(t, builtBinary(t), "")
	t.Parallel()
	g.pipeline("orders", "")
	f := &flood{daemon: g.start()}
	reason := strings.Repeat("\U0001F4A4", 1000) // 4 kB of each event
	const events = 150
	for range events / 2 {
		f.pauseAndResume(reason)
	}
	idle := f.memory("VmRSS:")
	f.resetPeak()
	ctx, stop := context.WithCancel(t.Context())
	var followed atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- f.api.Follow(ctx, client.Following{}, func(client.Event) error { followed.Add(1); return nil })
	}()
	until(t, "the stream of the other follower", func() bool { return f.streams() == 1 })

	var slow []*slowReader
	refused := 0
	for range *slowReaders {
		switch r, status := f.slowly(); status {
		case "HTTP/1.1 200 OK":
			slow = append(slow, r)
		case "HTTP/1.1 503 Service Unavailable":
			refused++
		default:
			t.Fatalf("answered %s", status)
		}
	}
	if open := f.streams(); open > maxStreams || refused > max(0, *slowReaders-maxStreams+1) {
		t.Errorf("%d streams are open, and %d of %d were rejected", open, refused, *slowReaders)
	}
	before := len(f.events())
	for range 10 {
		f.pauseAndResume("short")
	}
	f.put("orders", "steady", map[string]any{"n": 1})
	written := len(f.events()) - before
	until(t, "the other follower to get all events", func() bool { return int(followed.Load()) >= written })
	until(t, "the end of the slow streams", func() bool { return f.streams() == 1 })
	if grown := f.memory("VmHWM:") - idle; grown > streamGrowth {
		t.Errorf("the memory grew from %d kB by %d kB", idle, grown)
	} else {
		t.Logf("%d slow readers, %d rejected: the memory grew from %d kB by %d kB", len(slow), refused, idle, grown)
	}
	f.resumes(slow[0].rest())
	stop()
	<-done
}

func (f *flood) pauseAndResume(reason string) {
	f.Helper()
	_, err := f.api.Pause(f.Context(), "orders", client.PauseRequest{Asked: client.Asked{Reason: reason}})
	f.check(err)
	_, err = f.api.Resume(f.Context(), "orders", client.Asked{Reason: reason})
	f.check(err)
}

// streams returns how many event streams the server has open.
func (f *flood) streams() (n int) {
	f.Helper()
	_, value, _ := strings.Cut(f.metric("interlock_http_event_streams"), " ")
	_, err := fmt.Sscanf(value, "%d", &n)
	f.check(err)
	return n
}

// resumes follows the events after one, as a client does whose connection was lost: it gets all that
// it has not read, and none twice.
func (f *flood) resumes(last client.Event) {
	f.Helper()
	var want, got []string
	for _, e := range f.events() {
		if e.ID == last.ID {
			break
		}
		want = append([]string{e.ID}, want...)
	}
	if last.ID == "" || len(want) == 0 {
		f.Fatalf("the slow reader got everything up to %q, so this test proves nothing", last.ID)
	}
	enough := errors.New("enough")
	err := f.api.Follow(f.Context(), client.Following{After: last.Position}, func(e client.Event) error {
		if got = append(got, e.ID); len(got) == len(want) {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !slices.Equal(got, want) {
		f.Errorf("after %s it got %v, want %v: %v", last.ID, got, want, err)
	}
}
