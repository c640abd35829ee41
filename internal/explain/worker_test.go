package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const outside = `
pipeline: {id: outside, owner: data}
schedule: {cron: "0 8 * * *", evaluation: {window: 3h, interval: 10m}}
validation: {rules: [{key: source, check: exists}]}
job: {type: external, config: {heartbeat: 2m}, maxRetries: 1, retryBackoff: 5m}
`

const outsideDay = "outside/cron/2026-03-04"

// offeredOutside returns a world on Wednesday, 08:10: the attempt of today's run is offered.
func offeredOutside(t *testing.T, file string) *world {
	t.Helper()
	w := newWorld(t, file)
	w.Pass(23 * time.Hour)
	w.Write("outside", "source#2026-03-04", "rows=1")
	w.Pass(0)
	return w
}

func (w *world) claim(worker string) {
	w.Helper()
	key, err := run.ParseKey(outsideDay)
	w.Check(err)
	_, err = w.Router.Claim(ctx, router.ClaimRequest{Key: key, Worker: worker}, w.Now())
	w.Check(err)
	w.Settle()
}

func TestOfferedAttemptSaysThatNoWorkerHasClaimedIt(t *testing.T) {
	w := offeredOutside(t, outside)
	w.Pass(20 * time.Minute)
	w.says(w.explain("outside", ""), explain.Offered,
		"OFFERED\nattempt 1 has been offered since 2026-03-04T08:10:00Z (20m ago); no worker has claimed it\n",
		"the offer expires 2026-03-04T11:00:00Z (in 2h30m); if no worker claims it, the run ends as VALIDATION_EXHAUSTED",
		"a worker that claims it and runs the command: interlock exec outside --date 2026-03-04 -- COMMAND",
	)
	_, err := w.Router.Pause(ctx, "outside", store.Pause{By: "ann", Why: "migration"}, w.Now())
	w.Check(err)
	w.says(w.explain("outside", ""), explain.Offered, "by ann: migration", "no worker can claim it while the pipeline is paused", "interlock resume outside")
}

// exec asks the gate first, and a removed pipeline has none.
func TestExecIsNotPromisedForARemovedPipeline(t *testing.T) {
	w := offeredOutside(t, outside)
	w.Apply(orders)
	x := w.explain("outside", "2026-03-04")
	w.says(x, explain.Offered, "the pipeline's file was removed")
	if strings.Contains(x.Text(), "interlock exec") {
		t.Errorf("exec cannot claim it:\n%s", x.Text())
	}
}

func TestUnclaimedRunSaysSo(t *testing.T) {
	w := offeredOutside(t, outside)
	w.Pass(3 * time.Hour)
	w.says(w.explain("outside", "2026-03-04"), explain.Exhausted,
		"attempt 1 was offered from 2026-03-04T08:10:00Z (3h ago) until 2026-03-04T11:00:00Z (10m ago), and no worker claimed it",
		"another attempt with a new window; a worker must claim it:", "interlock rerun outside --date 2026-03-04 --reason TEXT\n",
	)
}

func TestClaimedAttemptSaysByWhomAndWhenItCountsAsLost(t *testing.T) {
	w := offeredOutside(t, outside)
	w.claim("host-7:4711")
	w.Pass(time.Minute)
	w.says(w.explain("outside", ""), explain.Running,
		"RUNNING\nworker host-7:4711 has been running attempt 1 since 2026-03-04T08:10:00Z (1m ago)\n",
		"its last heartbeat was 2026-03-04T08:10:00Z (1m ago); without another one, the worker counts as lost 2026-03-04T08:12:00Z (in 1m) and the attempt fails (TIMEOUT)",
		"its result must be reported before 2026-03-04T09:10:00Z",
	)
	key, err := run.ParseKey(outsideDay)
	w.Check(err)
	_, err = w.Router.Heartbeat(ctx, key, 1, router.Heartbeat{Output: "half way"}, w.Now())
	w.Check(err)
	w.says(w.explain("outside", ""), explain.Running, "its last heartbeat was 2026-03-04T08:11:00Z (now); without another one, the worker counts as lost 2026-03-04T08:13:00Z (in 2m)")
}

func TestLostWorkerIsNamedUntilTheNextAttemptIsClaimed(t *testing.T) {
	w := offeredOutside(t, outside)
	w.claim("host-7")
	w.Pass(2 * time.Minute)
	w.says(w.explain("outside", ""), explain.Waiting,
		"WAITING\nattempt 1 failed (worker host-7 stopped reporting); attempt 2 is offered to workers 2026-03-04T08:16:36Z (in 4m37s)\n",
		"the window is open from 2026-03-04T08:16:36Z (in 4m37s) until 2026-03-04T11:16:36Z",
		"attempt 1 (cron): opened 2026-03-04T08:00:00Z, started 2026-03-04T08:10:00Z, failed 2026-03-04T08:12:00Z (TIMEOUT): worker host-7 stopped reporting",
	)
	w.Pass(5 * time.Minute)
	w.says(w.explain("outside", ""), explain.Offered,
		"OFFERED\nattempt 2 has been offered since 2026-03-04T08:16:36Z (23s ago); no worker has claimed it\n", "Rules when it was offered, 2026-03-04T08:16:36Z", "attempt 1 failed: worker host-7 stopped reporting")
	w.claim("host-8")
	w.Pass(2 * time.Minute)
	w.says(w.explain("outside", "2026-03-04"), explain.Failed,
		"FAILED\nfailed after 2 attempts: worker host-8 stopped reporting (maxRetries: 1 used up)\n",
		"another attempt; a worker must claim it:", "interlock rerun outside --date 2026-03-04 --reason TEXT\n")
}

func TestCancelledWorkerIsToldToStop(t *testing.T) {
	w := offeredOutside(t, outside)
	w.claim("host-7")
	key, err := run.ParseKey(outsideDay)
	w.Check(err)
	_, err = w.Router.Cancel(ctx, key, "ann", "wrong day", w.Now())
	w.Check(err)
	w.Settle()
	w.says(w.explain("outside", "2026-03-04"), explain.Cancelled, "cancelled by ann: wrong day",
		"the response to the next heartbeat asks worker host-7 to stop; until the worker reports a result, or counts as lost 2026-03-04T08:12:00Z (in 2m), it keeps its slot and a rerun is rejected")
}

func TestRunThatAWorkerOpensIsHintedWithExec(t *testing.T) {
	w := newWorld(t, "pipeline: {id: outside, owner: data}\njob: {type: external}\n")
	w.says(w.explain("outside", "2026-03-04"), explain.NotOpened, "a worker or `interlock trigger` opens the run",
		"a worker, which opens it and runs the command once the gate is open: interlock exec outside --date 2026-03-04 -- COMMAND", "interlock trigger outside --date 2026-03-04\n")
}
