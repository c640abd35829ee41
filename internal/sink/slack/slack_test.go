package slack_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
	"github.com/interlock-go/interlock/internal/sink/slack"
)

var (
	noon = sinktest.Noon
	ctx  = context.Background()
)

func failed(message string) sink.Alert {
	return sinktest.Alert(event.JobFailed, message, event.Finished{})
}

// world is a workspace, its stored threads, a clock and a log.
type world struct {
	*workspace
	threads *sinktest.Threads
	log     bytes.Buffer
	now     time.Time
}

func newWorld(t *testing.T) *world {
	return &world{workspace: newWorkspace(t), threads: sinktest.NewThreads(), now: noon}
}

// dispatcher returns one of the dispatchers that write to the channel.
func (w *world) dispatcher(channel string) *slack.Sink {
	return slack.New(slack.Config{
		Name: "slack", Channel: channel, Token: botToken, APIURL: w.URL + "/", Client: sinktest.Client(w.t), Threads: w.threads,
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)), Now: func() time.Time { return w.now },
	})
}

func (w *world) send(s *slack.Sink, alerts ...sink.Alert) {
	w.t.Helper()
	for _, a := range alerts {
		if err := s.Send(ctx, a); err != nil {
			w.t.Fatalf("%s: %v", a.Event.Type, err)
		}
	}
}

func TestSlackKeepsTheContract(t *testing.T) {
	sinktest.RunHTTP(t, func(url string, client *http.Client) sink.Sink {
		return slack.New(slack.Config{
			Name: "slack", Channel: "#data", Token: sinktest.Secret, APIURL: url + "/", Client: client, Threads: sinktest.NewThreads(), Logger: slog.New(slog.DiscardHandler), Now: sinktest.Clock,
		})
	})
}

func TestAlertsOfOneRunShareAThread(t *testing.T) {
	w := newWorld(t)
	w.send(w.dispatcher("#data"), failed("exit code 3"), failed("exit code 4"))
	roots := w.roots()
	if len(roots) != 1 || !strings.Contains(roots[0].text, "JOB_FAILED: orders, cron, 2026-03-03, attempt 1: exit code 3") {
		t.Fatalf("roots: %+v", roots)
	}
	if replies := w.replies(roots[0]); len(replies) != 1 || !strings.Contains(replies[0].text, "exit code 4") {
		t.Errorf("replies: %+v", replies)
	}
}

func TestMessageSaysWhatWhyAndWhatToDo(t *testing.T) {
	w := newWorld(t)
	a := sinktest.Alert(event.ValidationExhausted, "the window is over", event.Gate{Rules: []event.RuleOutcome{{Key: "rows", Check: "gte", Outcome: "fail", Value: "950", Reason: "count is 950, needs ≥ 1000"}}})
	a.Count, a.Since = 3, noon.Add(-time.Hour)
	w.send(w.dispatcher("#data"), a)
	got := w.roots()[0]
	want := []string{
		"*Open*: VALIDATION_EXHAUSTED at 2026-03-03 12:00:00 UTC",
		"the window is over",
		"*Why*\n• rows gte is closed: count is 950, needs ≥ 1000",
		"*What to do*\n`interlock explain orders --date 2026-03-03` shows the rule that did not pass, or that no worker claimed it; then `interlock rerun orders --date 2026-03-03 --reason WHY`.",
		"3 events of this group since 2026-03-03 11:00:00 UTC; this is the latest · Owner: data-team · <https://interlock.example/run|Run> · <https://interlock.example/pipeline|Pipeline>",
	}
	if diff := cmp.Diff(want, got.blocks()); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if got.attachment.Color != "#f2a600" || !strings.Contains(got.attachment.Fallback, "count is 950") {
		t.Errorf("colour %s, fallback %q", got.attachment.Color, got.attachment.Fallback)
	}
	for _, b := range got.attachment.Blocks {
		if b.Type == "section" && (b.Text.Type != "mrkdwn" || !b.Text.Verbatim) {
			t.Errorf("a block that Slack would look for names in: %+v", b)
		}
	}
}

func TestNextRetryIsShown(t *testing.T) {
	w := newWorld(t)
	w.send(w.dispatcher("#data"), sinktest.Alert(event.RetryScheduled, "again", event.Budget{Used: 1, Max: 2, NextAttemptAt: noon.Add(time.Minute)}))
	if got := strings.Join(w.roots()[0].blocks(), "\n"); !strings.Contains(got, "next attempt at 2026-03-03 12:01:00 UTC") {
		t.Errorf("got %s", got)
	}
}

func TestRootShowsTheStateOfTheMatter(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	look := func(when, state, colour string) {
		t.Helper()
		root := w.roots()[0]
		if blocks := root.blocks(); !strings.HasPrefix(blocks[0], state) || root.attachment.Color != colour || !strings.Contains(strings.Join(blocks, "\n"), "exit code 3") {
			t.Errorf("%s: %s, %q", when, root.attachment.Color, blocks)
		}
	}
	w.send(s, failed("exit code 3"))
	look("failed", "*Open*: JOB_FAILED", "#f2a600")
	w.send(s, sinktest.Alert(event.RetryExhausted, "spent", event.Budget{Used: 1, Max: 1}))
	look("got worse", "*Open*: RETRY_EXHAUSTED", "#d32f2f")
	if err := s.Follow(ctx, sinktest.Alert(event.JobCompleted, "done", event.Finished{})); err != nil {
		t.Fatal(err)
	}
	look("completed", "*Recovered*: JOB_COMPLETED", "#2e9e5b")
	w.send(s, sinktest.Alert(event.PostRunDrift, "moved", event.Drift{}))
	look("drifted", "*Open*: POST_RUN_DRIFT", "#f2a600")
	if err := s.Follow(ctx, sinktest.Alert(event.RunCancelled, "by ann", event.Left{})); err != nil {
		t.Fatal(err)
	}
	look("cancelled", "*Closed*: RUN_CANCELLED", "#8a8a8a")
	replies := w.replies(w.roots()[0])
	if len(replies) != 4 || !replies[0].broadcast || replies[1].broadcast || !strings.Contains(replies[1].text, "*Recovered*") {
		t.Errorf("replies: %+v", replies)
	}
}

func TestLateAlertOfASettledRunLeavesItsThreadSettled(t *testing.T) {
	late, done := sinktest.Alert(event.RetryExhausted, "spent", event.Budget{}), sinktest.Alert(event.JobCompleted, "done", event.Finished{})
	late.Settled = true
	for name, before := range map[string][]sink.Alert{"no thread yet": nil, "a thread that has recovered": {failed("a"), done}, "a thread that is open": {failed("a")}} {
		w := newWorld(t)
		s := w.dispatcher("#data")
		w.send(s, before...)
		w.send(s, late)
		if err := s.Follow(ctx, done); err != nil {
			t.Fatal(err)
		}
		roots := w.roots()
		if len(roots) != 1 || !strings.HasPrefix(roots[0].blocks()[0], "*Recovered*: JOB_COMPLETED") {
			t.Errorf("%s: %+v", name, roots)
		}
		if all := append(w.replies(roots[0]), roots[0]); !slices.ContainsFunc(all, func(p posted) bool { return strings.Contains(p.text, "spent") }) {
			t.Errorf("%s: the alert is not in the thread: %+v", name, all)
		}
	}
}

func TestMatterWithoutAThreadIsNotFollowed(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	if err := s.Follow(ctx, sinktest.Alert(event.JobCompleted, "done", event.Finished{})); err != nil || len(w.roots()) != 0 {
		t.Errorf("%v, %+v", err, w.roots())
	}
	w.send(s, failed("x"))
	calls := len(w.calls)
	if err := s.Follow(ctx, sinktest.Alert(event.RetryScheduled, "again", event.Budget{})); err != nil || len(w.calls) != calls {
		t.Errorf("an event that changes nothing was posted: %v, %v", err, w.calls[calls:])
	}
}

func TestEventAboutNoRunIsASeparateMessage(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	for range 2 {
		w.send(s, sink.Alert{Event: event.New(event.WatchdogDegraded, event.About{At: noon}, "checks failed", event.Degraded{}), Count: 1})
	}
	if roots := w.roots(); len(roots) != 2 || roots[0].attachment.Color != "#d32f2f" {
		t.Errorf("got %+v", roots)
	}
}

func TestRepeatIsNotPostedTwice(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	w.send(s, failed("a"), failed("b"), failed("a"), failed("b"))
	w.send(w.dispatcher("#data"), failed("b"))
	if roots := w.roots(); len(roots) != 1 || len(w.replies(roots[0])) != 1 {
		t.Errorf("%d roots, %d replies", len(roots), len(w.replies(roots[0])))
	}
}

func TestBurstWhoseLastEventWasFollowedIsPosted(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	w.send(s, failed("a"))
	done := sinktest.Alert(event.JobCompleted, "done", event.Finished{})
	if err := s.Follow(ctx, done); err != nil {
		t.Fatal(err)
	}
	w.send(s, done)
	done.Count = 3
	w.send(s, done)
	if replies := w.replies(w.roots()[0]); len(replies) != 2 || !strings.Contains(strings.Join(replies[1].blocks(), "\n"), "3 events") {
		t.Errorf("replies: %+v", replies)
	}
}

func TestDataIsNeverMarkup(t *testing.T) {
	w := newWorld(t)
	evil := "<!channel> <@U1> <https://evil.example|click> &lt;!here&gt; *bold* _it_ ~no~ `code` :fire: raw_orders_daily 10:30:00\u202e\u2066\r\nx"
	a := sinktest.Alert(event.ValidationExhausted, evil, event.Gate{Rules: []event.RuleOutcome{{Key: "k", Check: "equals", Outcome: "fail", Reason: evil}}})
	a.Owner = evil
	a.Links.Run = "https://interlock.example/a|b><!channel>"
	w.send(w.dispatcher("#data"), a)
	got := w.roots()[0]
	for _, text := range append(got.blocks(), got.text, got.attachment.Fallback) {
		ours := strings.NewReplacer("<https://interlock.example/a%7Cb%3E%3C!channel%3E|Run>", "", "<https://interlock.example/pipeline|Pipeline>", "").Replace(text)
		if strings.ContainsAny(ours, "<>\r\u202e\u2066") || strings.Contains(ours, "*bold*") || strings.Contains(ours, ":fire:") || strings.Contains(ours, "`code`") {
			t.Errorf("markup in %q", text)
		}
	}
	if what := got.blocks()[1]; !strings.Contains(what, "&lt;!channel&gt;") || !strings.Contains(what, "&amp;lt;!here") || !strings.Contains(what, "raw_orders_daily 10:30:00") {
		t.Errorf("what is shown: %q", what)
	}
}

func TestErrorsAreDistinguished(t *testing.T) {
	for code, want := range map[string]string{
		"invalid_auth": "mend", "token_revoked": "mend", "channel_not_found": "mend", "not_in_channel": "mend", "is_archived": "mend", "missing_scope": "mend",
		"accesslimited": "mend", "messages_tab_disabled": "mend", "team_not_found": "mend", "method_deprecated": "mend",
		"msg_too_long": "refused", "invalid_blocks": "refused", "invalid_form_data": "refused", "invalid_charset": "refused", "markdown_text_conflict": "refused",
		"metadata_must_be_sent_from_app": "refused", "slack_connect_file_link_sharing_blocked": "refused", "slack_connect_something_new_blocked": "refused",
		"team_added_to_org": "again", "service_unavailable": "again", "request_timeout": "again", "ratelimited": "busy", "internal_error": "again", "fatal_error": "again", "something_new": "again",
		"We are sorry: <html>": "again",
	} {
		w := newWorld(t)
		w.fail = func(string, url.Values) string { return code }
		err := w.dispatcher("#data").Send(ctx, failed("x"))
		if got := sinktest.Verdict(err); got != want || strings.Contains(err.Error(), "html") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %s (%v), want %s", code, got, err, want)
		}
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	w := newWorld(t)
	full := true
	w.answer = func(rw http.ResponseWriter, _ string) bool {
		if full {
			rw.Header().Set("Retry-After", "17")
			rw.WriteHeader(http.StatusTooManyRequests)
		}
		return full
	}
	s := w.dispatcher("#data")
	var busy *sink.Busy
	if err := s.Send(ctx, failed("x")); !errors.As(err, &busy) || busy.After != 17*time.Second {
		t.Fatalf("got %v", err)
	}
	full = false
	w.send(s, failed("x")) // at once, without waiting for a claim to expire: nothing was posted
	if len(w.roots()) != 1 {
		t.Errorf("roots: %+v", w.roots())
	}
}

func TestFixedTokenDeliversWaitingAlerts(t *testing.T) {
	w := newWorld(t)
	w.fail = func(string, url.Values) string { return "token_revoked" }
	s := w.dispatcher("#data")
	if err := s.Send(ctx, failed("x")); sinktest.Verdict(err) != "mend" || !strings.Contains(err.Error(), "bot token") {
		t.Fatalf("got %v", err)
	}
	w.fail = nil
	w.send(s, failed("x"))
	if len(w.roots()) != 1 {
		t.Errorf("roots: %+v", w.roots())
	}
}

func TestBlocksThatSlackRejectsAreSentAsText(t *testing.T) {
	w := newWorld(t)
	w.fail = func(_ string, form url.Values) string {
		if strings.Contains(form.Get("attachments"), "blocks") {
			return "invalid_blocks"
		}
		return ""
	}
	s := w.dispatcher("#data")
	w.send(s, failed("exit code 3"), sinktest.Alert(event.RetryExhausted, "spent", event.Budget{}))
	root := w.roots()[0]
	if !strings.Contains(root.text, "exit code 3") || len(root.blocks()) != 0 || len(w.replies(root)) != 1 {
		t.Errorf("got %+v", root)
	}
}

func TestMessageThatMayNotBeChangedIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.fail = func(method string, _ url.Values) string {
		if method == "chat.update" {
			return "edit_window_closed"
		}
		return ""
	}
	w.send(w.dispatcher("#data"), failed("a"), sinktest.Alert(event.RetryExhausted, "spent", event.Budget{}))
	if replies := w.replies(w.roots()[0]); len(replies) != 1 {
		t.Errorf("replies: %+v", replies)
	}
}

func TestRootThatSlackDoesNotLetUsRewriteHoldsUpNoReply(t *testing.T) {
	for _, code := range []string{"invalid_form_data", "block_mismatch", "no_dual_broadcast_content_update"} {
		w := newWorld(t)
		w.fail = func(method string, _ url.Values) string {
			if method == "chat.update" {
				return code
			}
			return ""
		}
		w.send(w.dispatcher("#data"), failed("a"), sinktest.Alert(event.RetryExhausted, "spent", event.Budget{}))
		if replies := w.replies(w.roots()[0]); len(replies) != 1 {
			t.Errorf("%s: replies: %+v", code, replies)
		}
	}
}

func TestLockedThreadBeginsAgain(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	w.send(s, failed("a"))
	w.fail = func(_ string, form url.Values) string {
		if form.Get("thread_ts") != "" {
			return "restricted_action_thread_locked"
		}
		return ""
	}
	w.send(s, failed("b"))
	if roots := w.roots(); len(roots) != 2 || !strings.Contains(roots[1].text, ": b") {
		t.Errorf("got %+v", roots)
	}
}

func TestRecoveryAfterADeletedThreadReadsRecovered(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	w.send(s, failed("a"))
	w.messages = nil
	if err := s.Follow(ctx, sinktest.Alert(event.JobCompleted, "done", event.Finished{})); err != nil {
		t.Fatal(err)
	}
	if roots := w.roots(); len(roots) != 1 || !strings.HasPrefix(roots[0].blocks()[0], "*Recovered*: JOB_COMPLETED") || roots[0].attachment.Color != "#2e9e5b" {
		t.Errorf("got %+v", roots)
	}
}

func TestDeletedThreadBeginsAgain(t *testing.T) {
	w := newWorld(t)
	s := w.dispatcher("#data")
	w.send(s, failed("a"))
	w.messages = nil
	w.send(s, sinktest.Alert(event.RetryExhausted, "spent", event.Budget{}), failed("b"))
	if roots := w.roots(); len(roots) != 1 || !strings.Contains(roots[0].text, "spent") || len(w.replies(roots[0])) != 1 {
		t.Errorf("got %+v", roots)
	}
}

func TestLongTextsFit(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("<&>é😀 ", 20_000)
	rules := make([]event.RuleOutcome, 500)
	for i := range rules {
		rules[i] = event.RuleOutcome{Key: "k", Check: "equals", Outcome: "fail", Reason: long}
	}
	a := sinktest.Alert(event.ValidationExhausted, long, event.Gate{Rules: rules})
	a.Owner = long
	w.send(w.dispatcher("#data"), a)
	got := w.roots()[0]
	total := 0
	for _, text := range append(got.blocks(), got.text, got.attachment.Fallback) {
		if n := len([]rune(text)); n > 3000 {
			t.Errorf("%d characters", n)
		}
		total += len([]rune(text))
	}
	if total > 40_000 || len(got.blocks()) > 50 {
		t.Errorf("%d characters in %d blocks", total, len(got.blocks()))
	}
	for key, n := range w.threads.Sizes() {
		if n > 100_000 {
			t.Errorf("%s takes %d bytes", key, n)
		}
	}
}
