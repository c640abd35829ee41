package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

var errEnough = errors.New("enough")

func TestFollowDeliversEventsAsTheyHappen(t *testing.T) {
	s, server := serve(t)
	c := connect(t, server)
	tell := func(n int) {
		b := store.Batch{ID: fmt.Sprint(n)}
		b.Emit(event.New(event.PipelinePaused, event.About{Pipeline: "orders", Which: fmt.Sprint(n), At: tuesday}, fmt.Sprint(n), event.Pause{}))
		if err := s.Commit(ctx, b, tuesday); err != nil {
			t.Error(err)
		}
	}
	tell(1)
	var got []string
	var first client.Event
	q := client.Following{Since: "2026-03-03", Type: "PIPELINE_PAUSED"}
	err := c.Follow(ctx, q, func(e client.Event) error {
		if got = append(got, e.Detail.Message); len(got) == 1 {
			first = e
		}
		if len(got) == 3 {
			return errEnough
		}
		tell(len(got) + 1)
		return nil
	})
	if !errors.Is(err, errEnough) || cmp.Diff([]string{"1", "2", "3"}, got) != "" {
		t.Errorf("got %v, %v", got, err)
	}
	err = c.Follow(ctx, client.Following{After: first.Position}, func(e client.Event) error { return errors.New(e.Detail.Message) })
	if err == nil || err.Error() != "2" {
		t.Errorf("after the first event: %v", err)
	}
}

func TestFollowReturnsPermanentErrors(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	if err := c.Follow(ctx, client.Following{Type: "NONSENSE"}, nil); problemOf(t, err).Status != 400 {
		t.Errorf("got %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Follow(stopped, client.Following{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	gone := answers(t, 200, "", "")
	gone.Close()
	for _, server := range []*httptest.Server{gone, answers(t, 200, "text/html", "<html>")} {
		var u *client.UnreachableError
		if err := connect(t, server).Follow(ctx, client.Following{}, nil); !errors.As(err, &u) {
			t.Errorf("got %v", err)
		}
	}
}

// streams is a server whose connections send the given responses, one after the other. It records
// the position after which each starts.
func streams(t *testing.T, after *[]string, answers ...func(http.ResponseWriter, *http.Request)) *httptest.Server {
	t.Helper()
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*after = append(*after, r.Header.Get("Last-Event-ID"))
		answers[calls.Add(1)-1](w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// says returns a connection that sends text and ends.
func says(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, text)
	}
}

func refuses(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"status": %d, "detail": "no"}`, status)
	}
}

func TestFollowResumesAfterALostConnection(t *testing.T) {
	var after []string
	server := streams(t, &after,
		says("retry: 1\nid: 4\n\n: alive\n\nid: 5\ndata: {\"id\":\"a\"}\n\nid: 6\nda"), // breaks in the middle of the second event
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "starting", http.StatusBadGateway) },
		refuses(http.StatusServiceUnavailable),
		says("id: 6\ndata: {\"id\":\ndata: \"b\"}\n\n"),
	)
	var got, lost []string
	q := client.Following{Lost: func(err error) { lost = append(lost, err.Error()) }}
	err := connect(t, server).Follow(ctx, q, func(e client.Event) error {
		if got = append(got, e.ID+e.Position); len(got) == 2 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || cmp.Diff([]string{"a5", "b6"}, got) != "" || cmp.Diff([]string{"", "5", "5", "5"}, after) != "" {
		t.Errorf("got %v, %v, resumed after %q", got, err, after)
	}
	if len(lost) != 3 || !strings.Contains(lost[0], "unexpected EOF") || !strings.Contains(lost[1], "502") || lost[2] != "no" {
		t.Errorf("lost: %q", lost)
	}
}

func TestFollowEndsWhenAccessIsRevoked(t *testing.T) {
	var after []string
	server := streams(t, &after, says("retry: 1\nid: 4\n\n"), refuses(http.StatusUnauthorized))
	err := connect(t, server).Follow(ctx, client.Following{}, nil)
	if problemOf(t, err).Status != http.StatusUnauthorized {
		t.Errorf("got %v", err)
	}
}

func TestFollowReconnectsAfterSilence(t *testing.T) {
	var after []string
	server := streams(t, &after,
		func(w http.ResponseWriter, r *http.Request) {
			says("retry: 1\nid: 4\n\n")(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done() // like a connection that a firewall dropped
		},
		says("id: 5\ndata: {\"id\":\"a\"}\n\n"),
	)
	var lost error
	c := connect(t, server, client.WithPatience(50*time.Millisecond))
	err := c.Follow(ctx, client.Following{Lost: func(err error) { lost = err }}, func(client.Event) error { return errEnough })
	if !errors.Is(err, errEnough) || lost == nil || !strings.Contains(lost.Error(), "keep-alives") || cmp.Diff([]string{"", "4"}, after) != "" {
		t.Errorf("got %v, lost %v, resumed after %q", err, lost, after)
	}
}

func TestFollowFailsOnAnEventThatIsNotJSON(t *testing.T) {
	var after []string
	server := streams(t, &after, says("id: 5\ndata: nonsense\n\n"))
	var u *client.UnreachableError
	if err := connect(t, server).Follow(ctx, client.Following{}, nil); !errors.As(err, &u) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestFollowSendsSinceOnlyOnTheFirstConnection(t *testing.T) {
	var asked []string
	note := func(next func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.RawQuery)
			next(w, r)
		}
	}
	var after []string
	server := streams(t, &after, note(says("retry: 1\nid: 4\n\n")), note(says("id: 5\ndata: {\"id\":\"a\"}\n\n")))
	err := connect(t, server).Follow(ctx, client.Following{Type: "SLA_BREACH", Since: "10s"}, func(client.Event) error { return errEnough })
	if !errors.Is(err, errEnough) || cmp.Diff([]string{"since=10s&type=SLA_BREACH", "type=SLA_BREACH"}, asked) != "" || cmp.Diff([]string{"", "4"}, after) != "" {
		t.Errorf("got %v, asked for %q after %q", err, asked, after)
	}
}
