package slack_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
	"github.com/interlock-go/interlock/internal/sink/slack"
)

// untilTaken sends until it succeeds, as dispatchers do, and advances the clock when the sink asks
// for a pause.
func (w *world) untilTaken(s *slack.Sink, a sink.Alert) {
	w.t.Helper()
	for range 20 {
		err := s.Send(ctx, a)
		if err == nil {
			return
		}
		var busy *sink.Busy
		if errors.As(err, &busy) {
			w.now = w.now.Add(busy.After)
		}
	}
	w.t.Fatal("never taken")
}

func TestTwoDispatchersOpenOneThread(t *testing.T) {
	for range 20 {
		w := newWorld(t)
		var all sync.WaitGroup
		for _, message := range []string{"a", "b", "c", "d"} {
			s := w.dispatcher("#data")
			all.Go(func() {
				for err := s.Send(ctx, failed(message)); err != nil; err = s.Send(ctx, failed(message)) {
					if sinktest.Verdict(err) != "busy" {
						t.Errorf("%s: %v", message, err)
						return
					}
				}
			})
		}
		all.Wait()
		if roots := w.roots(); len(roots) != 1 || len(w.replies(roots[0])) != 3 {
			t.Fatalf("%d roots: %+v", len(roots), roots)
		}
	}
}

func TestSendWaitsForAnotherClaim(t *testing.T) {
	w := newWorld(t)
	w.threads.Broken = rootSaved // the first one is stuck between posting and storing
	if err := w.dispatcher("#data").Send(ctx, failed("a")); err == nil {
		t.Fatal("the failed save returned no error")
	}
	w.threads.Broken = nil
	s := w.dispatcher("#data")
	var busy *sink.Busy
	if err := s.Send(ctx, failed("b")); !errors.As(err, &busy) || busy.After != 45*time.Second || len(w.roots()) != 1 {
		t.Errorf("got %v, %d roots", err, len(w.roots()))
	}
	if err := s.Follow(ctx, sinktest.Alert(event.JobCompleted, "done", event.Finished{})); !errors.As(err, &busy) {
		t.Errorf("follow: got %v", err)
	}
}

// on returns an alert about another day.
func on(day string) sink.Alert {
	date, _ := period.Parse(day)
	return sink.Alert{Event: event.New(event.JobFailed, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Date: date, Attempt: 1, At: noon}, "failed", event.Finished{}), Count: 1}
}

// rootSaved reports whether the saved conversation has its root.
func rootSaved(t sink.Thread) bool { return bytes.Contains(t.Data, []byte(`"root"`)) }

func TestCrashBetweenPostingAndRememberingOpensNoSecondThread(t *testing.T) {
	for name, channel := range map[string]string{"channel by id": "C0DATA0000", "channel by name": "#data"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.send(w.dispatcher(channel), on("2026-03-01"), on("2026-03-02"), on("2026-02-28")) // other threads, more than a page
			w.threads.Broken = rootSaved
			if err := w.dispatcher(channel).Send(ctx, failed("a")); err == nil {
				t.Fatal("the failed save returned no error")
			}
			w.threads.Broken = nil
			s := w.dispatcher(channel) // after the crash
			w.untilTaken(s, failed("a"))
			w.untilTaken(s, failed("b"))
			roots := w.roots()
			if len(roots) != 4 || len(w.replies(roots[3])) != 1 {
				t.Errorf("%d roots, %d replies: %+v", len(roots), len(w.replies(roots[3])), roots)
			}
			if w.log.Len() > 0 {
				t.Errorf("log: %s", &w.log)
			}
		})
	}
}

func TestSearchThatFailsIsMadeAgain(t *testing.T) {
	for name, search := range map[string]func() string{
		"too many requests": func() string { return "ratelimited" },
		"no answer":         func() string { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.threads.Broken = rootSaved
			if err := w.dispatcher("C0DATA0000").Send(ctx, failed("a")); err == nil {
				t.Fatal("the failed save returned no error")
			}
			w.threads.Broken = nil
			w.now = w.now.Add(time.Hour)
			failing := true
			w.fail = func(method string, _ url.Values) string {
				if method == "conversations.history" && failing {
					failing = false
					return search()
				}
				return ""
			}
			w.untilTaken(w.dispatcher("C0DATA0000"), failed("a"))
			if len(w.roots()) != 1 || failing {
				t.Errorf("%d roots", len(w.roots()))
			}
		})
	}
}

func TestWithoutTheScopeToReadAThreadMayBeginTwiceWithAWarning(t *testing.T) {
	w := newWorld(t)
	w.fail = func(method string, _ url.Values) string {
		if method == "conversations.history" {
			return "missing_scope"
		}
		return ""
	}
	w.threads.Broken = rootSaved
	if err := w.dispatcher("C0DATA0000").Send(ctx, failed("a")); err == nil {
		t.Fatal("the failed save returned no error")
	}
	w.threads.Broken = nil
	w.untilTaken(w.dispatcher("C0DATA0000"), failed("a"))
	if len(w.roots()) != 2 || !strings.Contains(w.log.String(), "channels:history") || strings.Contains(w.log.String(), "s3cret") {
		t.Errorf("%d roots, log: %s", len(w.roots()), &w.log)
	}
}

func TestAnswerThatWasLostOpensNoSecondThread(t *testing.T) {
	w := newWorld(t)
	lost := false
	w.fail = func(method string, form url.Values) string {
		if method == "chat.postMessage" && !lost {
			lost = true
			w.post(discard{}, form)
			panic(http.ErrAbortHandler)
		}
		return ""
	}
	w.untilTaken(w.dispatcher("C0DATA0000"), failed("a"))
	if len(w.roots()) != 1 {
		t.Errorf("%d roots", len(w.roots()))
	}
}

// For these two codes Slack documents that part of the operation may have succeeded.
func TestErrorAfterWhichTheRootMayBeThereOpensNoSecondThread(t *testing.T) {
	for _, code := range []string{"internal_error", "fatal_error"} {
		w := newWorld(t)
		failing := true
		w.fail = func(method string, form url.Values) string {
			if method == "chat.postMessage" && failing {
				failing = false
				w.post(discard{}, form)
				return code
			}
			return ""
		}
		w.untilTaken(w.dispatcher("C0DATA0000"), failed("a"))
		if len(w.roots()) != 1 {
			t.Errorf("%s: %d roots", code, len(w.roots()))
		}
	}
}

// discard is a lost answer.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func TestRootPostedAfterTheClaimExpiredIsDeleted(t *testing.T) {
	w := newWorld(t)
	first, second := w.dispatcher("C0DATA0000"), w.dispatcher("C0DATA0000")
	asleep := true
	w.fail = func(method string, _ url.Values) string {
		if method == "chat.postMessage" && asleep {
			asleep = false
			w.now = w.now.Add(time.Hour) // the claim expired while the request was on its way
			w.mu.Unlock()
			if err := second.Send(ctx, failed("b")); err != nil {
				t.Error(err)
			}
			w.mu.Lock()
		}
		return ""
	}
	w.send(first, failed("a"))
	roots := w.roots()
	if len(roots) != 1 || !strings.Contains(roots[0].text, ": b") || len(w.replies(roots[0])) != 1 {
		t.Errorf("got %+v", roots)
	}
}

func TestCancelledSendReturnsPromptly(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(ctx)
	w.fail = func(string, url.Values) string {
		cancel()
		return "internal_error"
	}
	if err := w.dispatcher("#data").Send(ctx, failed("a")); err == nil {
		t.Error("sent although the context was cancelled")
	}
}
