//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	assembly "github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// deployedExec runs exec as a separate process on the tables of a deployment. The test plays the
// Lambda functions.
type deployedExec struct {
	*testing.T
	db          *dynamo.Store
	functions   *assembly.Controller
	url, binary string
	dir         string
}

func newDeployedExec(t *testing.T) *deployedExec {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary")
	}
	d := &deployedExec{T: t, url: dynamotest.Own(t), binary: builtBinary(t), dir: t.TempDir()}
	db, err := dynamotest.Open(t.Context(), d.url, dynamo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // never fails
	c := catalog.New(db, all.Kinds())
	files := catalog.Files{Pipelines: []pipeline.Source{{File: "nightly.yaml", Data: []byte(
		"pipeline: {id: nightly, owner: data}\njob: {type: external, config: {heartbeat: 10s}, maxRetries: 0, maxCodeRetries: 0}\n")}}}
	if _, err := c.Apply(t.Context(), files, time.Now()); err != nil {
		t.Fatal(err)
	}
	d.db = db
	d.functions = assembly.New(assembly.Parts{Store: db, Catalog: c, Now: time.Now, Limits: router.Limits{RunTimeout: time.Hour, StartTries: 1}})
	return d
}

// open opens the run of a day and offers it.
func (d *deployedExec) open(day string) run.Key {
	d.Helper()
	of, err := period.Parse(day)
	if err != nil {
		d.Fatal(err)
	}
	r, err := d.functions.Router.Trigger(d.Context(), router.TriggerRequest{ID: "open/" + day, Pipeline: "nightly", Period: of, By: "ada"}, time.Now())
	if err != nil {
		d.Fatal(err)
	}
	d.step(r.Key)
	return r.Key
}

// step advances a run, as the function that the state machine calls does.
func (d *deployedExec) step(key run.Key) run.Run {
	d.Helper()
	claims, err := d.db.Claim(d.Context(), store.ClaimQuery{Replica: "function", Task: lifecycle.TaskID(key), Limit: 1, Lease: time.Minute}, time.Now())
	if err != nil || len(claims) != 1 {
		d.Fatalf("%d tasks, error %v", len(claims), err)
	}
	if err := d.functions.Perform(d.Context(), claims[0]); err != nil {
		d.Fatal(err)
	}
	return d.read(key)
}

func (d *deployedExec) read(key run.Key) run.Run {
	d.Helper()
	r, err := d.db.Run(d.Context(), key)
	if err != nil {
		d.Fatal(err)
	}
	return r
}

// command returns an exec on the tables.
func (d *deployedExec) command(day, worker, script string) *exec.Cmd {
	cmd := exec.Command(d.binary, "exec", "nightly", "--store", d.url, "--date", day, "--worker", worker, "--", "sh", "-c", script)
	cmd.Dir = d.dir
	return cmd
}

func (d *deployedExec) exec(day, worker, script string) finished {
	d.Helper()
	return runToEnd(d.T, d.command(day, worker, script))
}

func TestExecOnDeployedTables(t *testing.T) {
	d := newDeployedExec(t)
	t.Run("OfTwoOneRuns", func(t *testing.T) { d.T = t; d.ofTwoOneRuns() })
	t.Run("FailureIsReported", func(t *testing.T) { d.T = t; d.failureIsReported() })
	t.Run("TablesThatAreNotThere", func(t *testing.T) { d.T = t; d.tablesThatAreNotThere() })
}

func (d *deployedExec) ofTwoOneRuns() {
	key, end := d.open(execDay), filepath.Join(d.dir, "end")
	results := make(chan finished, 2)
	for _, worker := range []string{"w1", "w2"} {
		cmd := d.command(execDay, worker, `cat; echo "$INTERLOCK_WORKER $INTERLOCK_DATE $INTERLOCK_ATTEMPT"; until test -e `+end+`; do sleep 0.05; done`)
		cmd.Stdin = strings.NewReader("from stdin\n")
		go func() { results <- runToEnd(d.T, cmd) }()
	}
	refused := <-results
	holder := d.read(key).Progress.Offer.Worker
	if refused.code != exitHeld || refused.stdout != "" || !strings.Contains(refused.stderr, "worker "+holder) {
		d.Errorf("the worker without the claim: %+v; worker %q holds it", refused, holder)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		d.Fatal(err)
	}
	want := finished{0, fmt.Sprintf("from stdin\n%s %s 1\n", holder, execDay), ""}
	if got := <-results; got != want {
		d.Errorf("the worker with the claim: %+v, want %+v", got, want)
	}
	if r := d.step(key); r.Status != run.Completed || r.Attempt != 1 {
		d.Errorf("the run is %s in attempt %d", r.Status, r.Attempt)
	}
	if again := d.exec(execDay, "w3", "echo again"); again != (finished{}) {
		d.Errorf("exec on a COMPLETED run: %+v", again)
	}
}

func (d *deployedExec) failureIsReported() {
	const day = "2026-03-04"
	key := d.open(day)
	got := d.exec(day, "w1", "echo no such table >&2; exit 2")
	if want := (finished{2, "", "no such table\n"}); got != want {
		d.Errorf("got %+v, want %+v", got, want)
	}
	r := d.step(key)
	if report := r.Progress.Report; report.ExitCode != 2 || report.Category != run.Permanent || report.Message != "exit code 2: no such table" {
		d.Errorf("reported %+v", report)
	}
}

func (d *deployedExec) tablesThatAreNotThere() {
	cmd := d.command(execDay, "w1", "echo it ran")
	for i, arg := range cmd.Args {
		if arg == d.url {
			cmd.Args[i] = strings.Replace(arg, "dynamodb://test", "dynamodb://other", 1)
		}
	}
	if got := runToEnd(d.T, cmd); got.code != exitUnreached || got.stdout != "" || !strings.Contains(got.stderr, "-interlock-control") {
		d.Errorf("got %+v", got)
	}
}

// Replicas know the permits that other replicas have issued, so a worker can continue with any of
// them.
func TestExecOnReplicasWithRedis(t *testing.T) {
	_, all := replicas(t, 2, "")
	t.Parallel()
	for _, g := range all {
		g.pipeline("orders", externalJob)
	}
	first := all[0].start()
	first.put("orders", "landed", map[string]any{})
	cmd, _ := first.begun("", "until test -e "+first.path("end")+"; do sleep 0.05; done; echo over; exit 3")
	if got := first.exec("echo again"); got.code != exitHeld {
		t.Errorf("the second one: %+v", got)
	}
	first.kill()
	second := all[1].launch("--listen", strings.TrimPrefix(first.url, "http://"))
	if !second.ready() {
		t.Fatal(second.said())
	}
	first.write("end", "")
	_ = cmd.Wait() // the result is in ProcessState
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if got := second.reaches(execRun, client.Triggering); got.Attempt != 2 || *got.Attempts[0].ExitCode != 3 {
		t.Errorf("reported %+v", got.Attempts)
	}
	if got := second.exec("echo again"); got != (finished{0, "again\n", ""}) {
		t.Errorf("the second attempt: %+v", got)
	}
	second.reaches(execRun, client.Completed)
}
