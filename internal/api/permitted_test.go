package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
)

// built is a pipeline whose gate reads a result of dbt, and whose start condition one of Soda.
const built = `
pipeline: {id: nightly, owner: data}
schedule:
  cron: "0 8 * * *"
  trigger: {key: soda/rows, check: equals, field: status, value: pass}
validation: {rules: [{key: dbt/model/orders, check: equals, field: status, value: pass}]}
job: {type: external, config: {heartbeat: 2m}}
`

// newBuilt returns a world on a server with tokens whose run a worker has claimed, and its permit.
func newBuilt(t *testing.T) (*world, string) {
	t.Helper()
	w := newWorld(t, func(d *api.Deps) {
		d.Settings.Tokens = []api.Token{{Name: "etl", Role: api.RoleRunner, Secret: "runner-0123456789"}, {Name: "admin", Role: api.RoleAdmin, Secret: "admin-01234567890"}}
	})
	w.token = "admin-01234567890"
	w.Apply(built)
	w.Settle()
	w.post("/api/v1/runs", `{"pipeline":"nightly","date":"2026-03-02"}`).object(201)
	w.Write("nightly", "dbt/model/orders#2026-03-02", "status=pass")
	w.Write("nightly", "soda/rows#2026-03-02", "status=pass")
	c := w.post("/api/v1/runs/nightly/cron/2026-03-02/claim", `{"worker":"w1"}`, "Authorization: Bearer runner-0123456789").object(200)
	w.Settle()
	return w, "Authorization: Bearer " + c["permit"].(string)
}

func TestPermitAllowsWritingResultsOfItsRun(t *testing.T) {
	w, permit := newBuilt(t)
	for _, one := range []struct {
		id, key string
		status  int
		says    string
	}{
		{"nightly", "dbt/run#2026-03-02", 200, ""},
		{"nightly", "dbt/node/orders#2026-03-02", 200, ""},
		{"nightly", "gx/suite/batch#2026-03-02", 200, ""},
		{"nightly", "soda/scan#2026-03-02", 200, ""},
		{"nightly", "dbt/model/orders#2026-03-02", 403, `the gate of nightly/cron/2026-03-02/1 reads "dbt/model/orders"`},
		{"nightly", "soda/rows#2026-03-02", 403, `reads "soda/rows"`},
		{"nightly", "landed#2026-03-02", 403, `allows writing keys of dbt/, gx/, soda/, and "landed" is none`},
		{"nightly", "dbt#2026-03-02", 403, `"dbt" is none`},
		{"nightly", "dbt/run#2026-03-01", 403, "not valid for pipeline nightly and period 2026-03-01"},
		{"nightly", "dbt/run#2026-03-02T01", 403, "not valid for pipeline nightly and period 2026-03-02T01"},
		{"nightly", "dbt/run", 403, "add #PERIOD to the key"},
		{"orders", "dbt/run#2026-03-02", 403, "not valid for pipeline orders"},
		{"unknown", "dbt/run#2026-03-02", 403, "not valid for pipeline unknown"},
	} {
		path := "/api/v1/pipelines/" + one.id + "/sensors/" + strings.NewReplacer("/", "%2F", "#", "%23").Replace(one.key)
		for _, r := range []reply{
			w.put(path+"?source=dbt", `{"status":"pass"}`, permit),
			w.post("/api/v1/sensors", fmt.Sprintf(`[{"pipeline":%q,"key":%q,"data":{"status":"pass"},"source":"dbt"}]`, one.id, one.key), permit),
		} {
			if r.status != one.status || !strings.Contains(strings.ReplaceAll(string(r.body), `\"`, `"`), one.says) {
				t.Errorf("%s of %s: %d %s", one.key, one.id, r.status, r.body)
			}
		}
		if one.status != 200 {
			continue
		}
		key, _, _ := strings.Cut(path, "%23")
		if read := w.get(key + "?date=2026-03-02").object(200); read["source"] != "dbt (attempt nightly/cron/2026-03-02/1)" {
			t.Errorf("%s was written by %v", one.key, read["source"])
		}
	}
	// The permit allows no other request.
	w.request("DELETE", "/api/v1/pipelines/nightly/sensors/dbt%2Frun?date=2026-03-02", "", permit).problem(403, "")
	w.get("/api/v1/pipelines/nightly/sensors", permit).problem(403, "")
	// A forged permit allows nothing, and a runner's own token no more than before.
	w.put("/api/v1/pipelines/nightly/sensors/dbt%2Frun%232026-03-02", `{}`, "Authorization: Bearer ilpm_1_one_AAAA").problem(403, "", "the permit is not valid")
	w.put("/api/v1/pipelines/nightly/sensors/dbt%2Frun%232026-03-02", `{}`, "Authorization: Bearer runner-0123456789").problem(403, "", "needs the role sensor")
	w.post("/api/v1/sensors", `[]`, "Authorization: Bearer runner-0123456789").problem(403, "", "needs the role sensor")
}

func TestPermitOfAnEndedAttemptWritesNothing(t *testing.T) {
	w, permit := newBuilt(t)
	w.post("/api/v1/runs/nightly/cron/2026-03-02/cancel", `{"reason":"wrong day"}`).object(200)
	const key = "/api/v1/pipelines/nightly/sensors/dbt%2Frun%232026-03-02"
	w.put(key, `{"status":"pass"}`, permit).problem(409, "claim-done", "CANCELLED")
	w.post("/api/v1/sensors", `[{"pipeline":"nightly","key":"dbt/run#2026-03-02","data":{}}]`, permit).problem(409, "claim-done")
}

// The version of the attempt says which keys its gate reads.
func TestPermitAllowsNothingIfTheVersionOfItsAttemptIsNotAvailable(t *testing.T) {
	w, permit := newBuilt(t)
	w.loseVersion("nightly/cron/2026-03-02")
	w.put("/api/v1/pipelines/nightly/sensors/dbt%2Frun%232026-03-02", `{"status":"pass"}`, permit).problem(403, "", "not available")
}
