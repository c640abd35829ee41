package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEventsAreListedWithTheNewestLast(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile, "shelf.yaml": shelfFile}})
	s.must(0, "pause", "orders", "--reason", "first")
	s.must(0, "resume", "orders", "--reason", "second")
	text := s.must(0, "events", "--pipeline", "orders").stdout
	if first, second := strings.Index(text, "first"), strings.Index(text, "second"); first < 0 || second < first || strings.Contains(text, "shelf") {
		t.Errorf("got\n%s", text)
	}
	if got := s.must(0, "events", "--type", "PIPELINE_RESUMED").stdout; strings.Count(got, "\n") != 1 || !in(got, "PIPELINE_RESUMED", "orders", "resumed by ann: second") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "events", "--limit", "1").stdout; !in(got, "There are more events before these", "second") || strings.Contains(got, "first") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "events", "--since", "2126-03-03").stdout; !strings.Contains(got, "No events match") {
		t.Errorf("got\n%s", got)
	}
	for _, since := range []string{"1h", "2026-03-03", "2026-03-03T10:00:00Z"} {
		if got := s.must(0, "events", "--since", since).stdout; !strings.Contains(got, "first") {
			t.Errorf("--since %s: got\n%s", since, got)
		}
	}
	for _, args := range [][]string{{"--since", "yesterday"}, {"--type", "LUNCH"}, {"--pipeline", "No One"}} {
		if got := s.must(2, append([]string{"events"}, args...)...).stderr; !strings.Contains(got, args[1]) {
			t.Errorf("%s: got %s", args, got)
		}
	}
}

// watchedBuffer can be read while it is being written.
type watchedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *watchedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *watchedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// following is a running `events --follow`.
type following struct {
	stdout, stderr watchedBuffer
	code           chan int
}

func follow(address string, args ...string) *following {
	f := &following{code: make(chan int, 1)}
	go func() {
		f.code <- execute(append([]string{"events", "--follow", "--server", address}, args...), world{
			stdin: strings.NewReader(""), stdout: &f.stdout, stderr: &f.stderr, getenv: func(string) string { return "" },
			now: func() time.Time { return noon }, terminal: func(io.Writer) bool { return false },
		})
	}()
	return f
}

// until waits until text has been printed.
func (f *following) until(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(f.stdout.String(), text) {
		select {
		case <-tick.C:
		case code := <-f.code:
			t.Fatalf("ended with %d: %s%s", code, f.stdout.String(), f.stderr.String())
		case <-ctx.Done():
			t.Fatalf("never printed %q: %s%s", text, f.stdout.String(), f.stderr.String())
		}
	}
}

// interrupted sends Ctrl-C and returns the exit code. The signal goes to the test process itself,
// so the command must have printed something: only then does it catch the signal.
func (f *following) interrupted(t *testing.T) int {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-f.code:
		return code
	case <-time.After(patience):
		t.Fatal("it does not end on Ctrl-C")
		return 0
	}
}

func TestFollowShowsEventsAsTheyHappenAndEndsQuietly(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile, "shelf.yaml": shelfFile}})
	f := follow(s.address, "--since", "1h", "--pipeline", "orders")
	f.until(t, "CONFIG_ACCEPTED")
	s.must(0, "pause", "--all", "--reason", "while it is followed")
	f.until(t, "while it is followed")
	if code := f.interrupted(t); code != 0 || f.stderr.String() != "" || strings.Contains(f.stdout.String(), "shelf") {
		t.Errorf("exit code %d: %s%s", code, f.stdout.String(), f.stderr.String())
	}
}

func TestFollowedJSONIsOneEventALine(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	s.must(0, "pause", "orders", "--reason", "x")
	f := follow(s.address, "--since", "1h", "--format", "json")
	f.until(t, "PIPELINE_PAUSED")
	f.interrupted(t)
	listed, _ := items(t, s.must(0, "events", "--format", "json").stdout)
	var followed []any
	for line := range strings.Lines(f.stdout.String()) {
		followed = append([]any{parsed(t, line)}, followed...)
	}
	if diff := cmp.Diff(listed, followed); diff != "" {
		t.Errorf("(-listed +followed):\n%s", diff)
	}
}

func TestFollowGoesOnAfterALostConnection(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(n int) string {
			return fmt.Sprintf("id: %d\ndata: {\"id\": \"e%d\", \"detail-type\": \"JOB_FAILED\", \"time\": \"2026-03-03T10:00:00Z\", \"detail\": {\"pipelineId\": \"orders\", \"message\": \"number %d\"}}\n\n", n, n, n)
		}
		switch calls.Add(1) {
		case 1:
			fmt.Fprint(w, "retry: 1\n\n"+event(1)+"id: 2\ndata: {\"id\":")
		default:
			if got := r.Header.Get("Last-Event-ID"); got != "1" {
				t.Errorf("it resumes after %q", got)
			}
			fmt.Fprint(w, event(2))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	f := follow(server.URL)
	f.until(t, "number 2")
	code := f.interrupted(t)
	want := "2026-03-03 10:00:00Z  JOB_FAILED                orders\n    number 1\n" +
		"2026-03-03 10:00:00Z  JOB_FAILED                orders\n    number 2\n"
	if diff := cmp.Diff(want, f.stdout.String()); diff != "" || code != 0 {
		t.Errorf("exit code %d (-want +got):\n%s", code, diff)
	}
	if got := f.stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "retrying") {
		t.Errorf("stderr: %s", got)
	}
}
