package sinktest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

// Secret is the token, key or signing secret of a sink under test, and part of its address if that
// is secret.
const Secret = "s3cret-0123456789abcdef01234567"

// Make returns the sink under test, which sends to url with client.
type Make func(url string, client *http.Client) sink.Sink

// Client returns a client that may reach this machine.
func Client(t *testing.T) *http.Client {
	t.Helper()
	guard, err := egress.New([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return guard.Client(time.Minute)
}

// RunHTTP checks the contract of every HTTP sink.
func RunHTTP(t *testing.T, sinkAt Make) {
	for name, claim := range map[string]func(*testing.T, Make){
		"a failure is judged":                               judged,
		"a sink that asks for time gets it":                 asksForTime,
		"a caller that gives up is answered at once":        givesUp,
		"what is meant for one address is sent to no other": sendsNowhereElse,
		"a private address is refused by the guard":         isGuarded,
	} {
		t.Run(name, func(t *testing.T) { claim(t, sinkAt) })
	}
}

// failure is the alert that is sent.
func failure() sink.Alert { return Alert(event.JobFailed, "exit code 3", event.Finished{}) }

// send sends it to a server with that handler.
func (sinkAt Make) send(t *testing.T, ctx context.Context, h http.HandlerFunc) (string, error) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	err := sinkAt(server.URL, Client(t)).Send(ctx, failure())
	if err != nil && strings.Contains(err.Error(), Secret) {
		t.Errorf("the error contains a secret: %v", err)
	}
	return Verdict(err), err
}

func judged(t *testing.T, sinkAt Make) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error of the server is tried again": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>oops", http.StatusInternalServerError)
		},
		"a gateway that is down is tried again":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusBadGateway) },
		"a broken connection is tried again":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"an endless answer is not read to an end": endless,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := sinkAt.send(t, t.Context(), answer); got != "again" {
				t.Errorf("%s (%v), want again", got, err)
			}
		})
	}
}

func asksForTime(t *testing.T, sinkAt Make) {
	_, err := sinkAt.send(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	var busy *sink.Busy
	if !errors.As(err, &busy) || busy.After != 7*time.Second {
		t.Errorf("got %v", err)
	}
}

func givesUp(t *testing.T, sinkAt Make) {
	ctx, cancel := context.WithCancel(t.Context())
	if got, err := sinkAt.send(t, ctx, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices that its client is gone only after reading the whole request
		cancel()
		<-r.Context().Done()
	}); got != "again" {
		t.Errorf("got %s, %v", got, err)
	}
}

func sendsNowhereElse(t *testing.T, sinkAt Make) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	got, err := sinkAt.send(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if got == "taken" || elsewhere.Load() != 0 {
		t.Errorf("%s, %v, %d requests elsewhere", got, err, elsewhere.Load())
	}
}

func isGuarded(t *testing.T, sinkAt Make) {
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	guard, err := egress.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	err = sinkAt(server.URL, guard.Client(time.Minute)).Send(t.Context(), failure())
	if Verdict(err) != "mend" || !strings.Contains(err.Error(), "egress.allow") || strings.Contains(err.Error(), Secret) || reached.Load() != 0 {
		t.Errorf("%v, %d requests", err, reached.Load())
	}
}

// endless answers with an error whose body does not end.
func endless(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	for block := make([]byte, 1<<16); ; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
