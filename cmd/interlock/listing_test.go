package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// items returns the items and the cursor of a JSON list.
func items(t *testing.T, text string) ([]any, any) {
	t.Helper()
	page, ok := parsed(t, text).(map[string]any)
	list, isList := page["items"].([]any)
	next, hasNext := page["nextCursor"]
	if !ok || !isList || !hasNext {
		t.Fatalf("not a list: %s", text)
	}
	return list, next
}

func TestListsFollowTheirPagesUpToTheLimit(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	var writes []client.SensorWrite
	for i := range 1000 {
		writes = append(writes, client.SensorWrite{Pipeline: "shelf", Key: "x", Data: map[string]any{"n": i}})
	}
	if _, err := s.client().PutSensors(context.Background(), writes); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		limit int
		more  bool
	}{{1, true}, {500, true}, {501, true}, {999, true}, {1000, false}, {2000, false}} {
		args := []string{"sensor", "history", "shelf", "x", "--limit", fmt.Sprint(tt.limit)}
		got, next := items(t, s.must(0, append(args, "--format", "json")...).stdout)
		if len(got) != min(tt.limit, 1000) || (next != nil) != tt.more {
			t.Errorf("--limit %d: %d items, next %v", tt.limit, len(got), next)
		}
		for i, item := range got {
			if n := fmt.Sprint(item.(map[string]any)["data"].(map[string]any)["n"]); n != fmt.Sprint(999-i) {
				t.Fatalf("--limit %d: item %d is write %s", tt.limit, i, n)
			}
		}
		text := s.must(0, args...).stdout
		if lines := strings.Count(text, `{"n":`); lines != len(got) || strings.Contains(text, "There are more writes") != tt.more {
			t.Errorf("--limit %d: %d lines", tt.limit, lines)
		}
	}
}

// crowd is a server with that many pipelines, which it returns in pages like the real one.
func crowd(t *testing.T, n int) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil || limit < 1 || limit > client.MaxPage {
			t.Errorf("unexpected request for %s", r.URL)
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		page := client.Page[client.Pipeline]{Items: []client.Pipeline{}}
		for i := from; i < min(from+limit, n); i++ {
			page.Items = append(page.Items, client.Pipeline{ID: fmt.Sprintf("p%04d", i), State: client.StateOK})
		}
		if from+limit < n {
			page.NextCursor = fmt.Sprint(from + limit)
		}
		if err := json.NewEncoder(w).Encode(page); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestStatusShowsEveryPipelineHoweverMany(t *testing.T) {
	for _, n := range []int{1, 500, 501, 1234} {
		address := crowd(t, n).URL
		text := must(t, 0, "status", "--server", address).stdout
		if lines := strings.Count(text, "\np"); lines != n || !in(text, "p0000", fmt.Sprintf("p%04d", n-1), plural(n, "pipeline")+": "+fmt.Sprint(n)+" ok") {
			t.Errorf("%d pipelines, %d lines", n, lines)
		}
		if got, next := items(t, must(t, 0, "status", "--server", address, "--format", "json").stdout); len(got) != n || next != nil {
			t.Errorf("%d pipelines, %d items, next %v", n, len(got), next)
		}
		if got, next := items(t, must(t, 0, "status", "--server", address, "--limit", "1", "--format", "json").stdout); len(got) != 1 || (next != nil) != (n > 1) {
			t.Errorf("%d pipelines, %d items, next %v", n, len(got), next)
		}
	}
}

// TestJSONIsWhatTheServerSends compares the printed JSON with the API's answer: every key,
// including null and false. Only time-dependent values may differ.
func TestJSONIsWhatTheServerSends(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile, "shelf.yaml": shelfFile}})
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=9007199254740993")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	s.settled()
	tests := []struct {
		path string
		args []string
	}{
		{"/pipelines?limit=500", []string{"status"}},
		{"/pipelines/orders", []string{"status", "orders"}},
		{"/pipelines/orders/sensors", []string{"sensor", "get", "orders"}},
		{"/pipelines/orders/sensors/landed", []string{"sensor", "get", "orders", "landed"}},
		{"/pipelines/orders/sensors/landed/history", []string{"sensor", "history", "orders", "landed"}},
		{"/pipelines/orders/explain?date=2026-03-03", []string{"explain", "orders", "--date", "2026-03-03"}},
		{"/runs", []string{"runs"}},
		{"/runs?status=COMPLETED&pipeline=orders&date=2026-03-03", []string{"runs", "--status", "COMPLETED", "--pipeline", "orders", "--date", "2026-03-03"}},
		{"/runs?from=2026-03-04", []string{"runs", "--from", "2026-03-04"}},
		{"/runs?to=2026-03-02", []string{"runs", "--to", "2026-03-02"}},
		{"/runs/orders/stream/2026-03-03", []string{"run", "show", "orders/stream/2026-03-03"}},
		{"/deadlines", []string{"deadlines"}},
		{"/deadlines?state=MET&pipeline=orders", []string{"deadlines", "--state", "MET", "--pipeline", "orders"}},
		{"/events", []string{"events"}},
		{"/events?type=JOB_COMPLETED&pipeline=orders&since=2026-03-03", []string{"events", "--type", "JOB_COMPLETED", "--pipeline", "orders", "--since", "2026-03-03"}},
		{"/events?since=" + url.QueryEscape("2026-03-03T00:00:00Z"), []string{"events", "--since", "2026-03-03T00:00:00Z"}},
	}
	for _, tt := range tests {
		sent := timeless(s.fetch("/api/v1" + tt.path))
		printed := timeless(parsed(t, s.must(0, append(tt.args, "--format", "json")...).stdout))
		if diff := cmp.Diff(sent, printed); diff != "" {
			t.Errorf("%s (-sent +printed):\n%s", tt.args, diff)
		}
	}
}

// timeless removes time-dependent values.
func timeless(v any) any {
	if object, ok := v.(map[string]any); ok {
		delete(object, "at")
		delete(object, "text")
		delete(object, "reasons")
	}
	return v
}

func TestEmptyListsSayWhatToDo(t *testing.T) {
	s := serve(t, site{})
	for want, args := range map[string][]string{
		"interlock init":            {"status"},
		"interlock trigger":         {"runs"},
		"interlock events --follow": {"events"},
		"`sla`":                     {"deadlines"},
		"No deadlines match":        {"deadlines", "--state", "MET"},
	} {
		if got := s.must(0, args...).stdout; strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in: %s", args, want, got)
		}
		if got, next := items(t, s.must(0, append(args, "--format", "json")...).stdout); len(got) != 0 || next != nil {
			t.Errorf("%s: %v, %v", args, got, next)
		}
	}
}

func TestListsOfAMissingPipelineAreErrors(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"watched.yaml": watchedFile}})
	for _, list := range []string{"runs", "events", "deadlines"} {
		if got := s.must(1, list, "--pipeline", "wached"); got.stdout != "" || !in(got.stderr, `no pipeline "wached"`) {
			t.Errorf("%s: %+v", list, got)
		}
		s.must(0, list, "--pipeline", "watched")
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=1")
	s.settled()
	for _, args := range [][]string{
		{"status"},
		{"status", "orders"},
		{"runs"},
		{"run", "show", "orders/stream/2026-03-03"},
		{"explain", "orders", "--date", "2026-03-03"},
		{"events"},
		{"sensor", "get", "orders"},
		{"deadlines"},
	} {
		plain := s.must(0, args...).stdout
		painted := call{args: args, env: s.env, terminal: true}.run().stdout
		if strings.Contains(plain, "\x1b") || !strings.Contains(painted, "\x1b[") {
			t.Errorf("%s: plain %q, painted %q", args, plain, painted)
		}
		asJSON := call{args: append(args, "--format", "json"), env: s.env, terminal: true}.run().stdout
		if strings.Contains(asJSON, "\x1b") {
			t.Errorf("%s: %s", args, asJSON)
		}
	}
}
