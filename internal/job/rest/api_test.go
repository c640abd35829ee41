package rest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/run"
)

// api is an API that answers so, and what reaches it.
func api(t *testing.T, base string, answer http.HandlerFunc) (rest.API, *jobtest.Wire) {
	t.Helper()
	wire := new(jobtest.Wire)
	s := httptest.NewServer(wire.Record(answer))
	t.Cleanup(s.Close)
	return rest.API{Client: rest.New(jobtest.Guard(t, "127.0.0.1")), Base: s.URL + base, Limit: 10 * time.Second, Secrets: job.NewRedactor(jobtest.Secret)}, wire
}

func answering(code int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		w.Write([]byte(body))
	}
}

func TestASegmentOfAPathStaysOne(t *testing.T) {
	for base, want := range map[string]string{"": "/v1/", "/": "/v1/", "/team": "/team/v1/", "/team/": "/team/v1/"} {
		for segment, written := range map[string]string{"a": "a", "a/b": "a%2Fb", "..": "%2E%2E", ".": "%2E", "a b?#": "a%20b%3F%23", "ä": "%C3%A4"} {
			a, wire := api(t, base, answering(200, "", "{}"))
			call := rest.Call{What: "look", Method: "GET", Path: []string{"v1", segment, "end"}, Query: url.Values{"q": {"1 2"}}}
			if err := a.Do(t.Context(), call, new(struct{})); err != nil {
				t.Fatal(err)
			}
			if got := wire.Calls()[0].URI; got != want+written+"/end?q=1+2" {
				t.Errorf("%q and %q: got %s", base, segment, got)
			}
		}
	}
}

func TestAnAnswerThatCannotBeReadSaysWhy(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":          {answering(200, "Content-Type: text/html", "<title>Log in</title>"), "look: answered 200 with an HTML page instead of JSON; check that the URL belongs to the API and that no login page is in front of it"},
		"too much":        {answering(200, "", `"`+strings.Repeat("a", 2<<20)+`"`), "look: answered 200 with more than 1024 KiB, which is not read"},
		"no JSON":         {answering(200, "", "fine"), "look: answered 200 with unexpected JSON: invalid character 'i' in literal false (expecting 'a')"},
		"credentials":     {answering(401, "", `{"detail": "bad `+`Zq9\"Xv8&Jw7/Kp6"}`), "look: answered 401 Unauthorized: bad ***; the credentials in job.config.headers are missing, wrong or expired"},
		"rights":          {answering(403, "", ""), "look: answered 403 Forbidden; the credentials in job.config.headers do not allow this"},
		"words":           {answering(400, "", `{"error_code": "BAD", "title": "Wrong", "message": "of\nyours", "detail": "all"}`), "look: answered 400 Bad Request: BAD: Wrong: of yours: all"},
		"words of a kind": {answering(422, "", `{"detail": [{"msg": "Field required"}]}`), `look: answered 422 Unprocessable Entity: {"detail": [{"msg": "Field required"}]}`},
		"sent elsewhere":  {answering(302, "Location: /login", ""), "look: answered 302 Found; an API does not redirect: check the URL, and that no login page is in front of it"},
	}
	for name, tt := range tests {
		a, wire := api(t, "", tt.answer)
		err := a.Do(t.Context(), rest.Call{What: "look", Method: "POST"}, new(any))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
		if calls := wire.Calls(); len(calls) != 1 {
			t.Errorf("%s: sent %v", name, calls)
		}
	}
}

func TestOnlyWhatIsCertainIsRefused(t *testing.T) {
	tests := map[int]struct{ started, checked run.Category }{
		302: {run.Permanent, run.Permanent}, 400: {run.Permanent, run.Permanent}, 429: {run.Transient, none}, 500: {none, none},
	}
	for code, want := range tests {
		a, _ := api(t, "", answering(code, "Retry-After: 7", ""))
		err := a.Do(t.Context(), rest.Call{Method: "POST"}, new(any))
		if got := refusedAs(rest.Started(err)); got != want.started {
			t.Errorf("%d: a start is refused as %q", code, got)
		}
		if got := refusedAs(rest.Checked(err)); got != want.checked {
			t.Errorf("%d: a check is refused as %q", code, got)
		}
		if got := refusedAs(rest.Open(err)); got != none {
			t.Errorf("%d: what is open is refused as %q", code, got)
		}
	}
}

// none is the category of no refusal.
const none run.Category = "no refusal"

func refusedAs(err error) run.Category {
	if refusal := (*job.Refusal)(nil); errors.As(err, &refusal) {
		return refusal.Category
	}
	return none
}
