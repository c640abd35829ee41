package client_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/client"
)

// stopping is a server whose gate is open and whose job has onSilence: stop and a heartbeat of a
// minute. more answers heartbeats and reports.
func stopping(more func(r *http.Request) (int, any)) *scripted {
	return &scripted{answers: func(r *http.Request) (int, any) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/gate"):
			return http.StatusOK, gateAnswer(true, "")
		case strings.HasSuffix(r.URL.Path, "/claim"):
			return http.StatusOK, map[string]any{
				"runId": "orders/cron/2026-03-03/1", "attempt": 1, "permit": "ilpm_x", "heartbeatSeconds": 60, "onSilence": "stop", "deadline": time.Now().Add(24 * time.Hour),
			}
		}
		return more(r)
	}}
}

func TestSilentServerEndsTheJobBeforeItsAttempt(t *testing.T) {
	for name, c := range map[string]struct{ grace, want, after time.Duration }{
		"the usual grace":          {0, 20 * time.Second, 38 * time.Second},
		"a long one":               {time.Hour, 20 * time.Second, 38 * time.Second},
		"a short one":              {5 * time.Second, 5 * time.Second, 53 * time.Second},
		"SIGKILL at once":          {-1, 0, 58 * time.Second},
		"a third of the heartbeat": {20 * time.Second, 20 * time.Second, 38 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				var acknowledged atomic.Pointer[time.Time] // when the last acknowledged heartbeat was sent
				s := stopping(func(r *http.Request) (int, any) {
					if calls.Add(1) > 3 {
						return 0, nil
					}
					now := time.Now()
					acknowledged.Store(&now)
					time.Sleep(3 * time.Second) // the answer takes its time
					return http.StatusOK, map[string]any{}
				})
				lease, err := s.client(t).Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w", Grace: c.grace})
				if err != nil {
					t.Fatal(err)
				}
				<-lease.Lost()
				var silence *client.SilenceError
				if after := time.Since(*acknowledged.Load()); after != c.after || lease.Grace() != c.want || !errors.As(lease.Why(), &silence) {
					t.Errorf("the job must stop after %s with a grace of %s: %v", after, lease.Grace(), lease.Why())
				}
				began := time.Now()
				if _, err := lease.Finish(t.Context(), client.JobReport{Result: "fail"}); err == nil || time.Since(began) > 3*time.Minute {
					t.Errorf("reported for %s: %v", time.Since(began), err)
				}
			})
		})
	}
}

func TestOnlyDoneAndLostSayThatAPermitIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   map[string]any
		over   bool
	}{
		"done": {409, map[string]any{"code": "done"}, true}, "lost": {409, map[string]any{"code": "lost"}, true},
		"held": {409, map[string]any{"code": "held"}, false}, "a conflict": {409, map[string]any{}, false},
		"forbidden": {403, map[string]any{}, false}, "no such run": {404, map[string]any{}, false}, "busy": {503, map[string]any{}, false},
		"done, but not as a conflict": {500, map[string]any{"code": "done"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.body["status"] = c.status
				_, lease := claimed(t, func(r *http.Request) (int, any) {
					if strings.HasSuffix(r.URL.Path, "/job") {
						return http.StatusOK, map[string]any{"run": map[string]any{"status": "COMPLETED", "attempt": 1}}
					}
					return c.status, c.body
				})
				select {
				case <-lease.Lost():
					if !c.over {
						t.Errorf("lost: %v", lease.Why())
					}
				case <-time.After(time.Hour):
					if c.over {
						t.Error("not lost")
					}
				}
				if _, err := lease.Finish(t.Context(), client.JobReport{Result: "success"}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A claim whose answers are lost is repeated with its key, and confirmed by a heartbeat once it is
// answered. Otherwise another worker may have the run, or this one.
func TestClaimWithoutAnAnswerIsRepeatedWithItsKey(t *testing.T) {
	for name, granted := range map[string]int{"the third is answered": 3, "none is answered": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, claims := time.Now(), 0
				var keys, order []string
				s := stopping(func(*http.Request) (int, any) {
					return http.StatusOK, map[string]any{"run": map[string]any{"status": "COMPLETED", "attempt": 1}}
				})
				answer := s.answers
				s.answers = func(r *http.Request) (int, any) {
					order = append(order, r.URL.Path[strings.LastIndex(r.URL.Path, "/"):])
					if strings.HasSuffix(r.URL.Path, "/claim") {
						keys = append(keys, r.Header.Get("Idempotency-Key"))
						if claims++; claims < granted {
							<-r.Context().Done() // accepts and never answers
							return 0, nil
						}
					}
					return answer(r)
				}
				lease, err := s.client(t).Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w"})
				if keys = slices.Compact(keys); len(keys) != 1 || len(keys[0]) < 20 {
					t.Errorf("keys %q", keys)
				}
				if granted > 3 {
					var lost *client.ContactLostError
					if took := time.Since(began); !errors.As(err, &lost) || took < 30*time.Second || took > 45*time.Second {
						t.Errorf("after %s: %v", took, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if want := []string{"/gate", "/claim", "/claim", "/claim", "/heartbeat"}; !slices.Equal(order, want) {
					t.Errorf("requests %q, want %q", order, want)
				}
				if _, err := lease.Finish(t.Context(), client.JobReport{Result: "success"}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A server that accepts and never answers holds nobody up.
func TestNoRequestOutlivesTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: func(r *http.Request) (int, any) {
			<-r.Context().Done()
			return 0, nil
		}}
		began := time.Now()
		_, err := s.client(t).Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w"})
		var away *client.UnreachableError
		if took := time.Since(began); !errors.As(err, &away) || !away.Late || took != 10*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: func(r *http.Request) (int, any) {
			if !strings.HasSuffix(r.URL.Path, "/gate") {
				return http.StatusOK, external
			}
			if r.URL.Query().Get("wait") != "" {
				<-r.Context().Done()
				return 0, nil
			}
			return http.StatusOK, gateAnswer(false, "rules")
		}}
		began := time.Now()
		_, err := s.client(t).Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w", Wait: 20 * time.Second})
		var lost *client.ContactLostError
		if took := time.Since(began); !errors.As(err, &lost) || took != 30*time.Second {
			t.Errorf("with a held request, after %s: %v", took, err)
		}
	})
}

func TestTimeInSuspensionCounts(t *testing.T) {
	for _, known := range []bool{true, false} {
		if got := client.ElapsedAfterSuspension(time.Minute, known); got < time.Minute || got > 2*time.Minute {
			t.Errorf("with a known uptime %t: %s", known, got)
		}
	}
}
