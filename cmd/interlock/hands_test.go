//go:build unix

package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

var handRounds = flag.Int("hands", 4, "how many rounds TestSecondPairOfHands plays on each store")

// hands are workers and operators that ask for the same thing at once, of one controller or of
// several on one store.
type hands struct {
	*ground
	grounds  []*ground
	replicas []*daemon
}

func newHands(t *testing.T, replicas int, config string) *hands {
	h := &hands{}
	for range replicas {
		g := newGround(t, builtBinary(t), "engine: {lease: 4s, triggerBackoff: 1s}\n"+config)
		start := "schedule: {trigger: {key: landed, check: exists}, period: minute}\n"
		g.pipeline("offered", start+"job: {type: external, config: {heartbeat: 1m}}\n")
		g.pipeline("sleeps", start+"job: {type: command, config: {command: sleep 60}, pollInterval: 1s, maxRetries: 2, retryBackoff: 1s}\n")
		h.grounds = append(h.grounds, g)
		h.replicas = append(h.replicas, g.start())
	}
	h.ground = h.grounds[0]
	return h
}

// TestSecondPairOfHands lets eight workers of one name claim the same attempt at once without a key,
// a worker claim after the result, and an operator cancel a job that dies of it. With several
// replicas, one of them is suspended or killed meanwhile.
func TestSecondPairOfHands(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		builtBinary(t)
		t.Parallel()
		newHands(t, 1, "").play(*handRounds)
	})
	t.Run("two replicas on Redis", func(t *testing.T) {
		builtBinary(t)
		server := redistest.Start(t)
		t.Parallel()
		newHands(t, 2, "store: "+server.URL()+"\n").play(*handRounds)
	})
}

func (h *hands) play(rounds int) {
	h.Helper()
	for n := range rounds {
		date := time.Date(2020, 1, 1, 0, n, 0, 0, time.UTC)
		h.claimAtOnce(n, date.Format("2006-01-02T15:04"))
		h.claimAfterTheResult(date.AddDate(0, 0, 1).Format("2006-01-02T15:04"))
		h.cancel(n, date.Format("2006-01-02T15:04"))
	}
	d := h.replicas[0]
	if n := d.told("RUN_CANCELLED", "sleeps"); n != rounds {
		h.Errorf("%d of %d cancels were reported", n, rounds)
	}
	for _, kind := range []string{"RETRY_EXHAUSTED", "RETRY_SCHEDULED", "JOB_FAILED"} {
		if n := d.told(kind, "sleeps"); n > 0 {
			h.Errorf("cancelled jobs were reported as %s %d times", kind, n)
		}
	}
	if n := d.told("JOB_TRIGGERED", "offered"); n != rounds {
		h.Errorf("%d attempts were claimed in %d rounds", n, rounds)
	}
}

// last returns the replica that gets into trouble; nil if there is only one.
func (h *hands) last() *daemon {
	if len(h.replicas) == 1 {
		return nil
	}
	return h.replicas[len(h.replicas)-1]
}

// offer opens a run and waits until it is offered.
func (h *hands) offer(date string) client.RunKey {
	h.Helper()
	d := h.replicas[0]
	d.put("offered", "landed#"+date, map[string]any{"n": 1})
	key, err := client.ParseRunKey("offered/stream/" + date)
	if err != nil {
		h.Fatal(err)
	}
	until(h.T, key.String()+" is offered", func() bool {
		got, err := d.api.Run(h.Context(), key)
		return err == nil && got.Phase == "offered"
	})
	return key
}

// post sends a request without an idempotency key, and returns its status; 0 without an answer.
func (h *hands) post(d *daemon, path, body string) int {
	answer, err := http.Post(d.url+"/api/v1/"+path, "application/json", bytes.NewBufferString(body))
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body) // only its status matters
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (h *hands) claimAtOnce(n int, date string) {
	h.Helper()
	key := h.offer(date)
	victim := h.last()
	suspended := victim != nil && n%3 == 1
	killed := victim != nil && n%3 == 2
	if suspended {
		h.check(victim.cmd.Process.Signal(syscall.SIGSTOP))
	}
	var claims sync.WaitGroup
	var granted, other, answered atomic.Int64 // answered: by the first replica
	for i := range 8 {
		d := h.replicas[i%len(h.replicas)]
		claims.Go(func() {
			defer func() {
				if d == h.replicas[0] {
					answered.Add(1)
				}
			}()
			switch h.post(d, "runs/"+key.String()+"/claim", `{"worker": "etl"}`) {
			case http.StatusOK:
				granted.Add(1)
			case http.StatusConflict:
			default:
				other.Add(1)
			}
		})
	}
	switch {
	case suspended:
		until(h.T, "the other replica answers", func() bool { return answered.Load() == 4 })
		h.check(victim.cmd.Process.Signal(syscall.SIGCONT))
	case killed:
		victim.kill()
	}
	claims.Wait()
	if granted.Load() > 1 || granted.Load() == 0 && !killed || other.Load() > 0 && !killed {
		h.Errorf("round %d: %d of 8 equal claims were granted, %d had another answer", n, granted.Load(), other.Load())
	}
	if killed { // the answer of the one that was granted may be lost
		h.replicas[len(h.replicas)-1] = h.grounds[len(h.replicas)-1].start()
	}
	got := h.replicas[0].reaches(key.String(), client.Running)
	if got.Attempt != 1 || got.Worker == nil || *got.Worker != "etl" {
		h.Errorf("round %d: the run is in attempt %d of worker %v", n, got.Attempt, got.Worker)
	}
}

func (h *hands) claimAfterTheResult(date string) {
	h.Helper()
	key := h.offer(date)
	d := h.replicas[0]
	if code := h.post(d, "runs/"+key.String()+"/job", `{"result": "success"}`); code != http.StatusOK {
		h.Fatalf("the result was answered with %d", code)
	}
	if code := h.post(h.replicas[len(h.replicas)-1], "runs/"+key.String()+"/claim", `{"worker": "etl"}`); code != http.StatusConflict {
		h.Errorf("a claim after the result was answered with %d", code)
	}
	d.reaches(key.String(), client.Completed)
}

// cancel cancels a job at some instant before its result.
func (h *hands) cancel(n int, date string) {
	h.Helper()
	d := h.replicas[n%len(h.replicas)]
	d.put("sleeps", "landed#"+date, map[string]any{"n": 1})
	key, err := client.ParseRunKey("sleeps/stream/" + date)
	if err != nil {
		h.Fatal(err)
	}
	until(h.T, key.String()+" is open", func() bool {
		got, err := d.api.Run(h.Context(), key)
		return err == nil && (got.Status == client.Running || n%4 == 3)
	})
	if _, err := h.replicas[0].api.Cancel(h.Context(), key, client.Asked{RequestedBy: "ada", Reason: fmt.Sprintf("round %d", n)}); err != nil {
		h.Errorf("round %d: the cancel was rejected: %v", n, err)
	}
	if got := h.replicas[0].reaches(key.String(), client.Cancelled); got.Attempt != 1 || got.Reason == nil || !strings.Contains(*got.Reason, "ada") {
		h.Errorf("round %d: the run is %s in attempt %d: %v", n, got.Status, got.Attempt, got.Reason)
	}
}

func (h *hands) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}
