package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
)

// lists are the paged lists, with runs, events and readings of the pipeline "orders".
var lists = []string{
	"/api/v1/runs", "/api/v1/events", "/api/v1/deadlines?state=all", "/api/v1/pipelines", "/api/v1/files", "/api/v1/trends", "/api/v1/timeline",
	"/api/v1/pipelines/orders/sensors", "/api/v1/pipelines/orders/sensors/ready/history",
}

// busy returns a world with more than one item in some lists.
func busy(t *testing.T, key []byte) *world {
	t.Helper()
	w := newWorld(t, withTokens, func(d *api.Deps) { d.CursorKey = key })
	w.token = operatorToken
	for day := 10; day < 13; day++ {
		w.post("/api/v1/runs", fmt.Sprintf(`{"pipeline":"orders","date":"2026-02-%d"}`, day)).object(201)
		w.token = sensorToken
		w.put(ordersSensors+"ready", fmt.Sprintf(`{"data":{"n":%d}}`, day)).object(200)
		w.token = operatorToken
	}
	return w
}

func (w *world) cursor(path string) string {
	w.Helper()
	next, _ := w.get(path + withLimit(path)).object(200)["nextCursor"].(string)
	return next
}

func withLimit(path string) string {
	if bytes.ContainsRune([]byte(path), '?') {
		return "&limit=1"
	}
	return "?limit=1"
}

func TestCursorsRevealNothing(t *testing.T) {
	w := busy(t, []byte("a key that replicas share"))
	given := 0
	for _, token := range []string{viewerToken, limitedToken} {
		w.token = token
		for _, path := range lists {
			if token == limitedToken && strings.Contains(path, "/orders/") {
				continue
			}
			next := w.cursor(path)
			if next == "" {
				continue
			}
			given++
			raw, err := base64.RawURLEncoding.DecodeString(next)
			if err != nil || bytes.Contains(raw, []byte("orders")) || bytes.Contains(raw, []byte("2026")) || bytes.Contains(raw, []byte(`["`)) {
				t.Errorf("%s: the cursor %s reads %q, error %v", path, next, raw, err)
			}
			if again := w.cursor(path); again != next {
				t.Errorf("%s: the same page came with %s and %s, which its ETag depends on", path, next, again)
			}
		}
	}
	if given < 6 {
		t.Errorf("%d lists had a second page, so nothing was tested", given)
	}
	w.token = limitedToken
	if next := w.cursor("/api/v1/runs"); next == "" {
		t.Error("no cursor led past runs that the token may not see")
	}
}

func TestCursorIsValidOnEveryReplicaForItsListOnly(t *testing.T) {
	key := []byte("a key that replicas share")
	w, other, stranger := busy(t, key), busy(t, key), busy(t, nil)
	w.token, other.token, stranger.token = viewerToken, viewerToken, viewerToken
	runs := w.cursor("/api/v1/runs")
	first := w.get("/api/v1/runs?limit=1").items()[0]
	second := other.get("/api/v1/runs?limit=1&cursor=" + runs).items()[0]
	if first["date"] == second["date"] {
		t.Errorf("the next page begins with %v, as the first", second["date"])
	}
	stranger.get("/api/v1/runs?cursor="+runs).problem(400, "problem:malformed", "cursor")
	for path, cursor := range map[string]string{
		"/api/v1/events":    runs,
		"/api/v1/runs":      w.cursor("/api/v1/events"),
		"/api/v1/deadlines": runs[:len(runs)-4] + "AAAA",
		"/api/v1/trends":    base64.RawURLEncoding.EncodeToString([]byte(`["orders"]`)),
	} {
		w.get(path+"?cursor="+cursor).problem(400, "problem:malformed", "cursor")
	}
}
