package jobtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// HTTPBench describes a job type that starts its jobs over HTTP, for RunHTTP.
type HTTPBench struct {
	// New returns the type for a target at that URL, with these hosts allowed.
	New       func(t *testing.T, url string, allow ...string) job.Type
	NewConfig func() pipeline.JobConfig
	// Config returns the YAML of a job at that URL, with the secret in it and, if the type has one,
	// a timeout of a second.
	Config func(url string) string
	// Want is the verdict on a start for each answer, by name.
	Want map[string]Verdict

	// Begins reports whether a request starts something, for a type that reads before it starts;
	// nil if each request does.
	Begins func(r *http.Request) bool
	// Trusted means that the operator sets the target's address, so that no address is refused.
	Trusted bool

	// Handle returns the handle of an attempt's job; nil for a type whose target cannot be polled.
	// Every call except Start must fail on each of the answers, except those in Fine, such as
	// "Stop: 200 with {}".
	Handle func(id run.AttemptID) run.Handle
	Fine   []string

	arrived chan struct{} // receives once the server has a request
}

// Verdict is the result of a start call.
type Verdict string

// The verdicts.
const (
	Runs             Verdict = "runs"
	Succeeded        Verdict = "succeeded"
	FailedPermanent  Verdict = "failed: PERMANENT"
	FailedTransient  Verdict = "failed: TRANSIENT"
	RefusedPermanent Verdict = "refused: PERMANENT"
	RefusedTransient Verdict = "refused: TRANSIENT"
	Unknown          Verdict = "unknown whether it started"
)

// OfAPI returns the verdicts of a target that speaks JSON, answers a start with the job, and
// rejects a second start with the same key. After any answer that is not the target's own, it is
// unknown whether the job started, except a redirect or a 4xx other than 408, which prove that
// nothing was started.
func OfAPI() map[string]Verdict {
	return map[string]Verdict{
		"200": Unknown, "202": Unknown, "204": Unknown, "200 with a page": Unknown, "200 without end": Unknown, "200 cut off": Unknown,
		"200 with {}": Unknown, "200 with []": Unknown, "200 with null": Unknown, "200 with broken JSON": Unknown,
		"304": RefusedPermanent, "400": RefusedPermanent, "401": RefusedPermanent, "403": RefusedPermanent, "404": RefusedPermanent,
		"408": Unknown, "409": RefusedPermanent, "425": RefusedTransient, "429": RefusedTransient,
		"500": Unknown, "503": Unknown, "504 with a page": Unknown, "500 cut off": Unknown, "no HTTP": Unknown, "nothing": Unknown, "no answer in time": Unknown,
		"302 to a private address": RefusedPermanent, "307 to a private address": RefusedPermanent, "302 to nowhere": RefusedPermanent,
		"307 to itself for ever": RefusedPermanent, "307 to another scheme": RefusedPermanent,
		"nothing listens": RefusedTransient, "a certificate that is not trusted": RefusedTransient, "a private address": RefusedPermanent,
	}
}

// retryAfter is the Retry-After header of each answer that status gives.
const retryAfter = 7 * time.Second

// answer is one way in which a server may answer.
type answer struct {
	name   string
	answer http.HandlerFunc
}

// status answers with a code and a text that repeats the request.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
		w.WriteHeader(code)
		echo(w, r)
	}
}

// text answers with JSON, valid or not.
func text(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// echo prints the whole request.
func echo(w io.Writer, r *http.Request) {
	fmt.Fprintf(w, "%s %q %q ", r.URL, r.Header, Secret)
	io.Copy(w, r.Body)
}

func redirect(code int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}
}

// raw answers with the given bytes and closes the connection.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, text)
		conn.Close()
	}
}

func page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	io.WriteString(w, "<!doctype html><title>Log in</title>")
	echo(w, r)
}

// never reads the request and sends nothing until the client disconnects.
func never(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
	<-r.Context().Done()
}

func flooding(w http.ResponseWriter, _ *http.Request) {
	chunk := []byte(strings.Repeat(Secret+" ", 1<<12))
	for sent := 0; sent < Flood; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// answers are all kinds of server answers. Want has a verdict for each.
var answers = []answer{
	{"200", status(200)},
	{"202", status(202)},
	{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }},
	{"200 with a page", page},
	{"200 without end", flooding},
	{"200 with {}", text(200, "{}")},
	{"200 with []", text(200, "[]")},
	{"200 with null", text(200, "null")},
	{"200 with broken JSON", text(200, `{"state": "success", "run_id": 1, `)},
	{"200 cut off", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":")},
	{"304", status(304)},
	{"400", status(400)},
	{"401", status(401)},
	{"403", status(403)},
	{"404", status(404)},
	{"408", status(408)},
	{"409", status(409)},
	{"425", status(425)},
	{"429", status(429)},
	{"500", status(500)},
	{"503", status(503)},
	{"504 with a page", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(504)
		page(w, r)
	}},
	{"500 cut off", raw("HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\n" + Secret[:10])},
	{"no HTTP", raw("SSH-2.0-OpenSSH_9.2 " + Secret + "\r\n")},
	{"nothing", raw("")},
	{noAnswer, never},
	{"302 to a private address", redirect(302, "http://10.255.255.1/")},
	{"307 to a private address", redirect(307, "http://169.254.169.254/latest/meta-data/")},
	{"302 to nowhere", redirect(302, "")},
	{"307 to itself for ever", redirect(307, "/")},
	{"307 to another scheme", redirect(307, "file:///etc/passwd")},
}

// RunHTTP checks the result of each call for each kind of answer, and that a start is sent only
// once.
func RunHTTP(t *testing.T, b HTTPBench) {
	want := len(answers) + 2
	if !b.Trusted {
		want++
	}
	if len(b.Want) != want {
		t.Errorf("Want has %d verdicts, want %d: one for each of answers, and those for refused connections", len(b.Want), want)
	}
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			var requests atomic.Int64
			b := b
			b.arrived = make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if b.Begins == nil || b.Begins(r) {
					requests.Add(1)
				}
				if a.name == noAnswer {
					go func() {
						select {
						case b.arrived <- struct{}{}:
						case <-r.Context().Done():
						}
					}()
				}
				a.answer(w, r)
			}))
			defer s.Close()
			err := b.check(t, s.URL, a.name, "127.0.0.1")
			if r := refusal(err); r != nil && a.name == "429" && r.After != retryAfter {
				t.Errorf("asks to wait %s, want %s as the server said", r.After, retryAfter)
			}
			if got := requests.Load(); got > b.maySend(t, s.URL, a.name) {
				t.Errorf("sent %d times", got)
			}
			b.checkRoles(t, s.URL, a.name, "127.0.0.1")
		})
	}
	t.Run("nothing listens", func(t *testing.T) {
		b.checkAll(t, closedURL, "nothing listens", "127.0.0.1")
	})
	t.Run("a certificate that is not trusted", func(t *testing.T) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		defer s.Close()
		b.checkAll(t, s.URL, "a certificate that is not trusted", "127.0.0.1")
	})
	if !b.Trusted {
		t.Run("a private address", func(t *testing.T) {
			err := b.checkAll(t, closedURL, "a private address")
			if err == nil || !strings.Contains(err.Error(), "egress.allow") {
				t.Errorf("got %v, want the remedy named", err)
			}
		})
	}
	t.Run("cancelled in flight", b.cancelledInFlight)
}

// checkAll makes every call to the URL, and returns the error of the start.
func (b HTTPBench) checkAll(t *testing.T, url, answer string, allow ...string) error {
	t.Helper()
	err := b.check(t, url, answer, allow...)
	b.checkRoles(t, url, answer, allow...)
	return err
}

// maySend returns how many requests a start may make. A target that rejects a repeated key may be
// asked again.
func (b HTTPBench) maySend(t *testing.T, url, answer string) int64 {
	t.Helper()
	dedup, ok := b.New(t, url).(job.Deduplicator)
	switch {
	case answer == "307 to itself for ever":
		return 20
	case ok && dedup.RefusesRepeats():
		return 4
	default:
		return 1
	}
}

// closedURL is an address where no server listens.
const closedURL = "http://127.0.0.1:1"

// in returns the bench for one test, with a target at that URL.
func (b HTTPBench) in(t *testing.T, url string, allow ...string) bed {
	return Bench{New: func(t *testing.T) job.Type { return b.New(t, url, allow...) }, NewConfig: b.NewConfig}.in(t)
}

// noAnswer is the answer that makes callers time out.
const noAnswer = "no answer in time"

// attempt returns an attempt of the job at the URL, which gives that answer. A timeout of a second
// is for noAnswer: no other verdict may depend on how busy the machine is.
func (b HTTPBench) attempt(bed bed, url, answer string) job.Attempt {
	config := b.Config(url)
	if answer != noAnswer {
		config = strings.Replace(config, "timeout: 1s", "timeout: 10m", 1)
	}
	return bed.attempt(config)
}

// call returns a context for a call that gets that answer. If the job has no timeout of its own,
// the context expires as soon as the server has received the request.
func (b HTTPBench) call(bed bed, answer string) context.Context {
	if answer != noAnswer || strings.Contains(b.Config(""), "timeout:") {
		return bed.ctx()
	}
	ctx, end := context.WithCancelCause(bed.ctx())
	bed.Cleanup(func() { end(nil) })
	go func() {
		select {
		case <-b.arrived:
			end(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	return late{ctx}
}

// late is a context that ends by its deadline.
type late struct{ context.Context }

func (l late) Err() error {
	if l.Context.Err() == nil {
		return nil
	}
	return context.Cause(l.Context)
}

// check starts a job at the URL, which gives that answer, and compares the verdict.
func (b HTTPBench) check(t *testing.T, url, answer string, allow ...string) error {
	t.Helper()
	bed := b.in(t, url, allow...)
	started, err := bed.Start(b.call(bed, answer), b.attempt(bed, url, answer))
	bed.clean(err)
	if started.Result != nil {
		bed.cleanStatus(*started.Result)
	}
	if got, want := verdict(started, err), b.Want[answer]; got != want {
		t.Errorf("got %s, want %s (%+v, %v)", got, want, started.Result, err)
	}
	return err
}

// checkRoles makes every other call to the URL. None may accept the answer as valid.
func (b HTTPBench) checkRoles(t *testing.T, url, answer string, allow ...string) {
	t.Helper()
	if b.Handle == nil {
		return
	}
	bed := b.in(t, url, allow...)
	a := b.attempt(bed, url, answer)
	for _, r := range bed.roles() {
		name := r.name + ": " + answer
		err := r.call(b.call(bed, answer), a, b.Handle(a.ID))
		bed.clean(err)
		switch fine := slices.Contains(b.Fine, name); {
		case fine && err != nil:
			t.Errorf("%s: got %v, want none", name, err)
		case !fine && (err == nil || errors.Is(err, errNothing) || errors.Is(err, job.ErrUnknownHandle)):
			t.Errorf("%s: got %v, want an error that leaves the state unknown", name, err)
		}
	}
}

// cancelledInFlight cancels each call while the target handles it.
func (b HTTPBench) cancelledInFlight(t *testing.T) {
	arrived := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		never(w, r)
	}))
	defer s.Close()
	bed := b.in(t, s.URL, "127.0.0.1")
	a := b.attempt(bed, s.URL, "")
	calls := []role{{"Start", func(ctx context.Context, a job.Attempt, _ run.Handle) error {
		_, err := bed.Start(ctx, a)
		return err
	}}}
	handle := run.Handle("")
	if b.Handle != nil {
		handle = b.Handle(a.ID)
		calls = append(calls, bed.roles()...)
	}
	for _, c := range calls {
		ctx, cancel := context.WithCancel(bed.ctx())
		done := make(chan error, 1)
		go func() { done <- c.call(ctx, a, handle) }()
		select {
		case <-arrived:
		case err := <-done:
			t.Fatalf("%s returned without a request: %v", c.name, err)
		}
		cancel()
		err := <-done
		if bed.clean(err); !errors.Is(err, context.Canceled) || refusal(err) != nil {
			t.Errorf("%s: got %v, want a cancellation that says nothing about the job", c.name, err)
		}
	}
}

func verdict(s job.Started, err error) Verdict {
	switch {
	case refusal(err) != nil:
		return Verdict("refused: " + string(refusal(err).Category))
	case err != nil:
		return Unknown
	case s.Result == nil:
		return Runs
	case s.Result.Result == run.ResultSuccess:
		return Succeeded
	default:
		return Verdict("failed: " + string(s.Result.Category))
	}
}
