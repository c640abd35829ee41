package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// searching returns a search of one address, and its log.
func searching(t *testing.T, address string) (*rivals, *strings.Builder) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := egress.New([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	return &rivals{
		own: ownIdentity, addresses: []announced{{"callbackURL", u}}, client: guard.Client(patience), limit: patience, memory: 10 * time.Minute,
		logger: slog.New(slog.NewTextHandler(log, nil)), seen: map[string]rival{}, wrong: map[string]string{},
	}, log
}

var ownIdentity = api.Identity{Store: []byte("own"), Pipelines: func() string { return "p" }}

// proves answers like a controller with that store and pipelines.
func proves(store, pipelines string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := api.Identity{Store: []byte(store), Pipelines: func() string { return pipelines }}.Prove(r.URL.Query().Get("nonce"))
		fmt.Fprintf(w, `{"store": %q, "pipelines": %q}`, p.Store, p.Pipelines)
	}
}

// emitted lists the messages of INFRA_FAILURE in a store.
func emitted(t *testing.T, s store.Store) []string {
	t.Helper()
	page, err := s.Events(t.Context(), store.EventQuery{Ascending: true})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range page.Items {
		if e.Type == event.InfraFailure {
			all = append(all, e.Detail.Message)
		}
	}
	return all
}

var noonOfRivals = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func TestOnlyAControllerWithAnotherStoreIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		says    string // the detail of the check; "!" before it if it failed
	}{
		"itself, or a replica":                  {proves("own", "p"), "none answers at callbackURL (http://127.0.0.1"},
		"a replica with newer files":            {proves("own", "q"), "none answers at"},
		"another store with the same pipelines": {proves("other", "p"), "!another controller with the same pipelines and another store answers"},
		"another store with other pipelines":    {proves("other", "q"), "!another controller with other pipelines and another store answers"},
		"an older version":                      {http.NotFound, "is not answered by a controller of this version: status 404"},
		"a proxy that asks for a login": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example.com/", http.StatusFound)
		}, "is not answered by a controller of this version: status 302"},
		"another service": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"store": "mine"}`) }, "is not answered by a controller of this version: status 200"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			r, log := searching(t, server.URL+"/path-with-a-token")
			s := memory.New()
			if err := r.search(t.Context(), s, noonOfRivals); err != nil {
				t.Fatal(err)
			}
			want, rival := strings.CutPrefix(c.says, "!")
			checks := r.check()
			if len(checks) != 1 || checks[0].OK == rival || !strings.Contains(checks[0].Detail, want) {
				t.Errorf("got %+v, want %q", checks, c.says)
			}
			if loud := strings.Contains(log.String(), "level=ERROR"); loud != rival || len(emitted(t, s)) > 0 != rival || r.gauge() > 0 != rival {
				t.Errorf("log %q, events %v, gauge %v", log, emitted(t, s), r.gauge())
			}
			if said := fmt.Sprint(log, checks, emitted(t, s)); strings.Contains(said, "path-with-a-token") {
				t.Errorf("it shows the path of the address: %s", said)
			}
		})
	}
}

func TestRivalIsReportedOncePerDayAndForgotten(t *testing.T) {
	var answers atomic.Value // whose store it is
	answers.Store("other")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proves(answers.Load().(string), "p")(w, r) }))
	defer server.Close()
	r, log := searching(t, server.URL)
	s := memory.New()
	now := noonOfRivals
	search := func(after time.Duration) {
		now = now.Add(after)
		if err := r.search(t.Context(), s, now); err != nil {
			t.Fatal(err)
		}
	}
	search(0)
	search(time.Minute)
	if got := emitted(t, s); len(got) != 1 || strings.Count(log.String(), "level=ERROR") != 2 {
		t.Errorf("events %v, log %s", got, log)
	}
	answers.Store("own") // a load balancer passes the requests to this controller
	search(9 * time.Minute)
	if r.check()[0].OK || r.gauge() != 1 {
		t.Error("the rival is forgotten although it answered nine minutes ago")
	}
	search(time.Minute)
	if !r.check()[0].OK || r.gauge() != 0 || !strings.Contains(log.String(), "no controller with another store answers any more") {
		t.Errorf("the rival is not forgotten: %+v, %s", r.check(), log)
	}
	answers.Store("other")
	search(time.Minute)
	if _, err := s.Trim(t.Context(), store.Retention{Events: 90 * 24 * time.Hour}, now.Add(25*time.Hour)); err != nil { // as each minute
		t.Fatal(err)
	}
	search(25 * time.Hour)
	if got := emitted(t, s); len(got) != 2 {
		t.Errorf("want one event per day, got %v", got)
	}
}

func TestSearchSendsNoSecretAndNothingTwiceOnOneConnection(t *testing.T) {
	var mu sync.Mutex
	connections := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		connections[r.RemoteAddr]++
		for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
			if r.Header.Get(name) != "" {
				t.Errorf("it sends %s", name)
			}
		}
		if r.Method != http.MethodGet || r.ContentLength > 0 || r.URL.Path != "/base/api/v1/identity" || len(r.URL.Query()) != 1 {
			t.Errorf("it sends %s %s", r.Method, r.URL)
		}
		proves("own", "p")(w, r)
	}))
	defer server.Close()
	r, _ := searching(t, server.URL+"/base/")
	if err := r.search(t.Context(), memory.New(), noonOfRivals); err != nil {
		t.Fatal(err)
	}
	if len(connections) != rivalTries {
		t.Errorf("want %d connections, got %v", rivalTries, connections)
	}
}

func TestSearchEndsIfNoAnswerComes(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	defer server.Close()
	r, _ := searching(t, server.URL)
	r.limit = rivalLimit
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.search(ctx, memory.New(), noonOfRivals); err != nil || ctx.Err() != nil {
		t.Fatalf("%v, %v", err, ctx.Err())
	}
	if asked.Load() > 1 || !strings.Contains(r.check()[0].Detail, "does not answer") {
		t.Errorf("asked %d times, and says %+v", asked.Load(), r.check())
	}
}

func TestOnlyConfiguredAddressesAreAsked(t *testing.T) {
	for config, want := range map[string][]string{
		"":                                  nil,
		"callbackURL: http://127.0.0.1:1\n": {"callbackURL (http://127.0.0.1:1)"},
		"callbackURL: http://127.0.0.1:1\nalerts: {baseURL: 'http://127.0.0.1:1'}\n":          {"callbackURL (http://127.0.0.1:1)"},
		"callbackURL: http://127.0.0.1:1\nalerts: {baseURL: 'https://interlock.invalid/x'}\n": {"callbackURL (http://127.0.0.1:1)", "alerts.baseURL (https://interlock.invalid)"},
	} {
		s := serve(t, site{config: config})
		var got []string
		for _, a := range s.c.rivals.addresses {
			got = append(got, a.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", config, diff)
		}
	}
}
