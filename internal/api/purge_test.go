package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

const purgeSilver = "/api/v1/pipelines/silver-orders/purge"

func TestPurgeDeletesARemovedPipelineAndIsAudited(t *testing.T) {
	w := audited(t)
	w.token = adminToken
	w.put("/api/v1/pipelines/silver-orders/sensors/landed", `{"status":"ready","date":"2026-02-10"}`).object(200)
	w.Settle()
	w.post(purgeSilver, `{"reason":"x"}`).problem(409, "has a file")
	w.post(purgeSilver, `{}`).problem(400, "reason")
	w.post("/api/v1/pipelines/nothing/purge", `{"reason":"x"}`).problem(404)
	w.Apply(orders)
	w.Settle()
	w.post(purgeSilver, `{"reason":"x"}`).problem(409, "not at rest", "silver-orders/stream/2026-02-10")
	w.post("/api/v1/runs/silver-orders/stream/2026-02-10/cancel", `{"reason":"x"}`)
	w.Settle()
	w.post(purgeSilver, `{"reason":"x"}`).problem(409, "a moment ago")
	w.Pass(3 * time.Hour)
	for {
		n, err := w.Store.Trim(ctx, store.Retention{}, w.Now())
		if w.Check(err); n == 0 {
			break
		}
	}

	would := w.post(purgeSilver, `{"reason":"x","dryRun":true}`).object(200)
	if rows := would["rows"].(map[string]any); rows["runs"] != 1.0 || rows["writes"] == nil || would["dryRun"] != true {
		t.Errorf("it would delete %v", would)
	}
	w.get("/api/v1/runs/silver-orders/stream/2026-02-10").object(200)
	w.token = operatorToken
	w.post(purgeSilver, `{"reason":"x"}`).problem(403)
	w.token = adminToken
	w.post(purgeSilver, `{"reason":"replaced"}`).object(200)
	w.get("/api/v1/runs/silver-orders/stream/2026-02-10").problem(404)
	w.get("/api/v1/pipelines/silver-orders").problem(404)
	w.post(purgeSilver, `{"reason":"x"}`).problem(404)
	if got := w.record("?action=purge&outcome=done"); len(got) != 2 || !strings.Contains(got[1], "purge silver-orders done") {
		t.Errorf("the audit record has %v", got)
	}

	w.Apply(orders, silver)
	w.Settle()
	w.put("/api/v1/pipelines/silver-orders/sensors/landed", `{"status":"ready","date":"2026-02-10"}`).object(200)
	w.Settle()
	w.get("/api/v1/runs/silver-orders/stream/2026-02-10").object(200)
}
