package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/client"
)

// slow answers every request with an empty list, after a delay.
type slow time.Duration

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(time.Duration(s)):
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(`{"items": []}`))}, nil
}

func behind(t *testing.T, server slow) *client.Client {
	t.Helper()
	return must(client.New(client.DefaultServer, client.WithTransport(server)))(t)
}

// manyThings are the calls with the server's timeout of ten minutes.
var manyThings = map[string]func(*client.Client) error{
	"backfill": func(c *client.Client) error {
		_, err := c.Backfill(ctx, "orders", client.BackfillRequest{From: "2026-01-01", To: "2026-03-03"})
		return err
	},
	"pause all": func(c *client.Client) error {
		_, err := c.PauseAll(ctx, client.PauseRequest{})
		return err
	},
	"resume all": func(c *client.Client) error {
		_, err := c.ResumeAll(ctx, client.Asked{})
		return err
	},
	"test alerts": func(c *client.Client) error {
		_, err := c.TestAlertRoute(ctx, "default", "ann")
		return err
	},
	"retry alerts": func(c *client.Client) error {
		_, err := c.RetryDeadLetters(ctx, client.RetryRequest{All: true})
		return err
	},
}

func TestLongCallsOutlastTheServersTimeout(t *testing.T) {
	for name, ask := range manyThings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := ask(behind(t, slow(10*time.Minute))); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestTimeoutIsNotReportedAsUnreachable(t *testing.T) {
	calls := map[string]func(*client.Client) error{
		"within 1m0s": func(c *client.Client) error {
			_, err := c.Pipelines(ctx, client.Paging{})
			return err
		},
		"within 1m0s, so the request may have taken effect": func(c *client.Client) error {
			_, err := c.Trigger(ctx, client.TriggerRequest{Pipeline: "orders"})
			return err
		},
		"within 11m0s, so the request may have taken effect": manyThings["backfill"],
	}
	for want, ask := range calls {
		synctest.Test(t, func(t *testing.T) {
			err := ask(behind(t, slow(time.Hour)))
			var u *client.UnreachableError
			if !errors.As(err, &u) || !u.Late || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			if text := err.Error(); strings.Contains(text, "cannot reach") || !strings.Contains(text, "did not answer "+want) {
				t.Errorf("got %q, want %q", text, want)
			}
		})
	}
}

func TestTimeoutOfACustomClientApplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := must(client.New(client.DefaultServer, client.WithHTTPClient(&http.Client{Transport: slow(time.Hour)})))(t)
		if _, err := c.Pipelines(ctx, client.Paging{}); err != nil {
			t.Error(err)
		}
	})
}
