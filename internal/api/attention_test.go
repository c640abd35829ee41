package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
)

func TestAttentionListsItemsWithTheirActions(t *testing.T) {
	w := running(t)
	if got := w.get("/api/v1/attention").object(200); got["total"] != 0.0 || len(got["items"].([]any)) != 0 {
		t.Errorf("while all is well: %v", got)
	}
	for range 2 {
		w.post(wednesday+"/job", `{"result":"fail","category":"PERMANENT","message":"no such table"}`).object(200)
		w.Settle()
		w.Pass(time.Minute)
	}
	w.Offer(orders, strings.Replace(silver, "weekends: true", "weekends: maybe", 1))
	got := w.get("/api/v1/attention").object(200)
	if got["total"] != 2.0 || fmt.Sprint(got["counts"]) != "map[degraded:1 failed:1]" {
		t.Errorf("got %v", got)
	}
	item := at(got, "items", 0)
	for key, want := range map[string]any{
		"code": "failed", "severity": "critical", "pipeline": "orders", "schedule": "cron", "date": "2026-03-04",
		"reason": "failed after 2 attempts: no such table (maxCodeRetries: 1 used up)",
	} {
		if at(item, key) != want {
			t.Errorf("%s is %v, want %v", key, at(item, key), want)
		}
	}
	if at(item, "action", "code") != "rerun" || at(item, "action", "command") != "interlock rerun orders --date 2026-03-04 --reason TEXT" || at(item, "why", "code") != "failed" {
		t.Errorf("got %v", item)
	}
	first := w.get("/api/v1/attention?limit=1").object(200)
	second := w.get("/api/v1/attention?limit=1&cursor=" + first["nextCursor"].(string)).object(200)
	if at(second, "items", 0, "code") != "degraded" || second["nextCursor"] != nil || second["total"] != 2.0 {
		t.Errorf("the second page is %v", second)
	}
	if got := w.get("/api/v1/attention?pipeline=silver-orders").object(200); got["total"] != 1.0 {
		t.Errorf("of one pipeline: %v", got)
	}
	w.get("/api/v1/attention?pipeline=nobody").problem(404)
}

func TestLimitedTokenSeesAttentionOfItsPipelinesOnly(t *testing.T) {
	w := running(t, func(d *api.Deps) {
		d.Settings.Tokens = []api.Token{
			{Name: "silver", Role: api.RoleViewer, Pipelines: []string{"silver-*"}, Secret: "silver"},
			{Name: "op", Role: api.RoleOperator, Secret: "op"},
		}
	})
	w.token = "op"
	for range 2 {
		w.post(wednesday+"/job", `{"result":"fail","category":"PERMANENT","message":"no such table"}`).object(200)
		w.Settle()
		w.Pass(time.Minute)
	}
	w.token = "silver"
	if got := w.get("/api/v1/attention").object(200); got["total"] != 0.0 || len(got["counts"].(map[string]any)) != 0 {
		t.Errorf("got %v", got)
	}
}

// Whatever the value of a parameter, the response is a page or a client error, never a server
// error.
func TestExtremeParametersAreNoServerErrors(t *testing.T) {
	w := opened(t)
	instants := []string{
		"0000-01-01", "0001-01-01", "9998-12-31", "9999-12-31", "9999-12-31T23", "9998-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
		"-1h", "0s", "1ns", "292y", "15000w", "999999999h", "2026-03-04", "", " ", "\x00", strings.Repeat("9", 400),
	}
	numbers := []string{"0", "-1", "1", "500", "501", "9223372036854775807", "99999999999999999999", "1e3", "x"}
	paths := map[string][]string{
		"timeline": {"from", "to"}, "events": {"since", "from", "to"}, "deadlines": {"from", "to"}, "runs": {"from", "to", "date"},
		"pipelines/orders/gate": {"date"}, "pipelines/orders/explain": {"date"}, "audit": {"since"}, "trends": {"from", "to", "since"},
	}
	check := func(path string) {
		t.Helper()
		if r := w.get(path); r.status != 200 && r.status != 400 && r.status != 404 && r.status != 422 {
			t.Errorf("%s: status %d: %.300s", path, r.status, r.body)
		}
	}
	for path, names := range paths {
		for _, one := range instants {
			for _, name := range names {
				check("/api/v1/" + path + "?" + name + "=" + url.QueryEscape(one))
			}
			if len(names) > 1 {
				check("/api/v1/" + path + "?" + names[0] + "=" + url.QueryEscape(one) + "&" + names[1] + "=0001-01-02")
			}
		}
		for _, n := range numbers {
			check("/api/v1/" + path + "?limit=" + n)
			check("/api/v1/" + path + "?cursor=" + n)
		}
	}
	for _, width := range []string{"1m", "1d", "292y", "15000w", "0s", "-1h"} {
		check("/api/v1/timeline?bucket=" + width)
	}
}
