package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

func TestEventsAreSearchedOnTheServer(t *testing.T) {
	w := newWorld(t)
	begin := w.Now()
	w.emit("orders", 250)
	w.Pass(time.Hour)
	w.emit("silver-orders", 50)
	count := func(query string) (n int) {
		t.Helper()
		for cursor := ""; ; {
			got := w.get("/api/v1/events?" + query + cursor).object(200)
			n += len(got["items"].([]any))
			next, more := got["nextCursor"].(string)
			if !more {
				return n
			}
			cursor = "&cursor=" + next
		}
	}
	for query, want := range map[string]int{
		"q=NUMBER+25&types=PIPELINE_PAUSED":                                       11, // number 25, number 250 to number 259
		"q=silver&types=PIPELINE_PAUSED,PIPELINE_RESUMED":                         50,
		"q=silver&types=PIPELINE_RESUMED":                                         0,
		"types=PIPELINE_PAUSED&to=" + begin.Add(time.Minute).Format(time.RFC3339): 250,
		"types=PIPELINE_PAUSED&from=30m":                                          50,
		"types=PIPELINE_PAUSED&limit=7":                                           300,
		"types=PIPELINE_PAUSED&severity=info":                                     300,
		"types=PIPELINE_PAUSED&severity=critical":                                 0,
	} {
		if got := count(query); got != want {
			t.Errorf("%s: %d events, want %d", query, got, want)
		}
	}
	for _, query := range []string{"types=NONSENSE", "from=soon", "to=soon", "from=1h&to=2h", "severity=loud"} {
		w.get("/api/v1/events?" + query).problem(400)
	}
}

func TestEventTypesAreListed(t *testing.T) {
	w := newWorld(t)
	items := w.get("/api/v1/events/types").items()
	if len(items) < 40 || items[0]["type"] != "VALIDATION_PASSED" || items[0]["severity"] != "info" || items[0]["about"] == "" || items[0]["group"] == "" {
		t.Errorf("got %d: %v", len(items), items[0])
	}
}

func TestEqualDeadLettersAreOneGroup(t *testing.T) {
	w := newWorld(t)
	for i := range 110 {
		reason := "503"
		if i == 109 {
			reason = "410"
		}
		e := event.New(event.PipelinePaused, event.About{Pipeline: "orders", Which: fmt.Sprint(i), At: w.Now()}, "paused", event.Pause{})
		letter := store.DeadLetter{Sink: "hook", Event: e, Reason: reason, Tries: 3, At: w.Now().Add(time.Duration(i) * time.Second), Count: 2}
		w.Check(w.Store.Commit(ctx, store.Batch{ID: fmt.Sprint("dead", i), Dead: []store.DeadLetter{letter}}, w.Now()))
	}
	got := w.get("/api/v1/alerts/dead/groups").object(200)
	if len(got["items"].([]any)) != 2 || got["letters"] != 110.0 || got["alerts"] != 220.0 {
		t.Fatalf("got %v", got)
	}
	g := at(got, "items", 1)
	for key, want := range map[string]any{
		"sink": "hook", "type": "PIPELINE_PAUSED", "reason": "503", "letters": 109.0, "alerts": 218.0,
		"first": "2026-03-03T09:10:00Z", "last": "2026-03-03T09:11:48Z",
	} {
		if at(g, key) != want {
			t.Errorf("%s is %v, want %v", key, at(g, key), want)
		}
	}
	if ids := at(g, "ids").([]any); len(ids) != 109 {
		t.Errorf("%d ids", len(ids))
	}
}
