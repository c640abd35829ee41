package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/client"
)

// scripted is a fake server in the same synctest bubble as its client.
type scripted struct {
	mu      sync.Mutex
	answers func(r *http.Request) (int, any)
	asked   map[string]int // requests by the last part of the path
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	parts := strings.Split(r.URL.Path, "/")
	s.asked[parts[len(parts)-1]]++
	s.mu.Unlock()
	status, body := s.answers(r)
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	data, err := json.Marshal(body)
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data)), Request: r}, err
}

func (s *scripted) client(t *testing.T) *client.Client {
	t.Helper()
	s.asked = map[string]int{}
	c, err := client.New("http://interlock.example", client.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The responses of a server about a run that waits, or is offered.
func gateAnswer(open bool, code string) map[string]any {
	g := map[string]any{
		"pipeline": "orders", "date": "2026-03-03", "open": open, "rules": []any{}, "blockedBy": []any{}, "retryAfterSeconds": nil,
		"run": map[string]any{"pipeline": "orders", "schedule": "cron", "date": "2026-03-03", "status": "PENDING", "attempt": 1},
	}
	if !open {
		g["blockedBy"], g["retryAfterSeconds"] = []any{map[string]any{"code": code, "reason": "landed: no reading"}}, 60
	}
	return g
}

var (
	external = map[string]any{"id": "orders", "schedule": "cron", "jobType": "external"}
	refused  = map[string]any{"status": http.StatusConflict, "code": "lost", "detail": "attempt 1 is over"}
)

func TestLongWaitSendsOneRequestPerMinute(t *testing.T) {
	for name, holds := range map[string]bool{"a server that holds its answers": true, "one that answers at once": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{answers: func(r *http.Request) (int, any) {
					if !strings.HasSuffix(r.URL.Path, "/gate") {
						return http.StatusOK, external
					}
					if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil && holds {
						time.Sleep(wait)
					}
					return http.StatusOK, gateAnswer(false, "rules")
				}}
				_, err := s.client(t).Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w", Wait: 5 * time.Hour})
				var no *client.RefusedError
				if !errors.As(err, &no) || no.Why != client.RefusedClosed {
					t.Fatalf("got %v", err)
				}
				if asked := s.asked["gate"]; asked < 300 || asked > 310 {
					t.Errorf("%d requests in five hours", asked)
				}
			})
		})
	}
}

func TestUnreachableServerIsRetriedUntilTheWaitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &scripted{answers: func(*http.Request) (int, any) { return 0, nil }}
		c := s.client(t)
		_, err := c.Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w", Wait: time.Hour})
		var away *client.UnreachableError
		if !errors.As(err, &away) || time.Since(began) != time.Hour {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		began = time.Now()
		_, err = c.Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w", Wait: time.Hour, Patience: time.Minute})
		if !errors.As(err, &away) || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// claimed is a server whose gate is open, and which answers heartbeats and reports with the given
// statuses.
func claimed(t *testing.T, more func(r *http.Request) (int, any)) (*scripted, *client.Lease) {
	t.Helper()
	s := &scripted{answers: func(r *http.Request) (int, any) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/gate"):
			return http.StatusOK, gateAnswer(true, "")
		case strings.HasSuffix(r.URL.Path, "/claim"):
			return http.StatusOK, map[string]any{
				"runId": "orders/cron/2026-03-03/1", "attempt": 1, "permit": "ilpm_x", "heartbeatSeconds": 30, "deadline": time.Now().Add(time.Hour),
			}
		}
		if r.Header.Get("Authorization") != "Bearer ilpm_x" {
			t.Errorf("%s without the permit", r.URL.Path)
		}
		return more(r)
	}}
	lease, err := s.client(t).Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w"})
	if err != nil {
		t.Fatal(err)
	}
	return s, lease
}

func TestUnexplainedRejectionEndsTheWait(t *testing.T) {
	for name, c := range map[string]struct {
		gate map[string]any
		want client.Refused
	}{
		"a run that is never opened":    {map[string]any{"pipeline": "orders", "date": "2026-03-03", "open": true, "rules": []any{}, "blockedBy": []any{}}, client.RefusedUnavailable},
		"a claim that is never granted": {gateAnswer(true, ""), client.RefusedClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{answers: func(r *http.Request) (int, any) {
					switch {
					case r.Method == http.MethodPost:
						return http.StatusConflict, map[string]any{"status": http.StatusConflict, "detail": "the stream-router did not answer"}
					case strings.HasSuffix(r.URL.Path, "/gate"):
						return http.StatusOK, c.gate
					}
					return http.StatusOK, map[string]any{"id": "orders", "schedule": "manual", "jobType": "external"}
				}}
				began := time.Now()
				_, err := s.client(t).Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Worker: "w", Wait: time.Minute})
				var no *client.RefusedError
				if !errors.As(err, &no) || no.Why != c.want || !strings.Contains(no.Reason, "the stream-router did not answer") {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
					t.Errorf("it took %s of virtual time", took)
				}
			})
		})
	}
}

func TestLeaseSendsHeartbeatsUntilItIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s, lease := claimed(t, func(r *http.Request) (int, any) {
			if time.Since(began) < time.Minute {
				return http.StatusOK, map[string]any{}
			}
			return http.StatusConflict, refused
		})
		<-lease.Lost()
		if s.asked["heartbeat"] != 6 || lease.Why().Error() != "attempt 1 is over" {
			t.Errorf("%d heartbeats, then %v", s.asked["heartbeat"], lease.Why())
		}
		var problem *client.Problem
		if _, err := lease.Finish(t.Context(), client.JobReport{Result: "success"}); !errors.As(err, &problem) || problem.Status != http.StatusConflict {
			t.Errorf("got %v", err)
		}
	})
}

func TestResultIsReportedUntilThePollWindowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, back := time.Now(), time.Minute
		answers := func(r *http.Request) (int, any) {
			if time.Since(began) < back {
				return 0, nil
			}
			return http.StatusOK, map[string]any{"run": map[string]any{"status": "COMPLETED", "attempt": 1}}
		}
		_, lease := claimed(t, answers)
		if done, err := lease.Finish(t.Context(), client.JobReport{Result: "success"}); err != nil || done.Run.Status != client.Completed {
			t.Errorf("got %+v, %v", done, err)
		}
		began, back = time.Now(), 24*time.Hour
		_, lease = claimed(t, answers)
		_, err := lease.Finish(context.Background(), client.JobReport{Result: "success"})
		var away *client.UnreachableError
		if took := time.Since(began); !errors.As(err, &away) || took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
