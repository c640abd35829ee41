package jobtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// HTTPBench is a job type that starts its jobs over HTTP.
type HTTPBench struct {
	// New makes the type, with these hosts allowed.
	New       func(t *testing.T, allow ...string) job.Type
	NewConfig func() pipeline.JobConfig
	// Config is the YAML of a job at that URL, with the secret in it and a timeout of a second.
	Config func(url string) string
	// Want is what a start comes to, for each of the Answers by name.
	Want map[string]Verdict
}

// Verdict is what a start call comes to.
type Verdict string

// The verdicts.
const (
	Runs             Verdict = "runs"
	Succeeded        Verdict = "succeeded"
	FailedPermanent  Verdict = "failed: PERMANENT"
	FailedTransient  Verdict = "failed: TRANSIENT"
	RefusedPermanent Verdict = "refused: PERMANENT"
	RefusedTransient Verdict = "refused: TRANSIENT"
	Open             Verdict = "open: nobody can tell whether it started"
)

// patienceAsked is what a server that is busy asks for.
const patienceAsked = 7 * time.Second

// answer is one way in which a server may answer.
type answer struct {
	name   string
	answer http.HandlerFunc
}

// status answers with a code and a text that shows what it was sent.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", fmt.Sprint(int(patienceAsked.Seconds())))
		w.WriteHeader(code)
		echo(w, r)
	}
}

// echo prints everything that was sent.
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

// raw answers with bytes of its own and closes the connection.
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

func flooding(w http.ResponseWriter, _ *http.Request) {
	chunk := []byte(strings.Repeat(Secret+" ", 1<<12))
	for sent := 0; sent < Flood; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// answers are what servers answer with. Want has a verdict for each.
var answers = []answer{
	{"200", status(200)},
	{"202", status(202)},
	{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }},
	{"200 with a page", page},
	{"200 without end", flooding},
	{"200 cut off", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":")},
	{"304", status(304)},
	{"400", status(400)},
	{"401", status(401)},
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
	{"no answer in time", func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	}},
	{"302 to a private address", redirect(302, "http://10.255.255.1/")},
	{"307 to a private address", redirect(307, "http://169.254.169.254/latest/meta-data/")},
	{"302 to nowhere", redirect(302, "")},
	{"307 to itself for ever", redirect(307, "/")},
	{"307 to another scheme", redirect(307, "file:///etc/passwd")},
}

// RunHTTP checks what a start comes to for each way in which a server may answer, and that it is sent only once.
func RunHTTP(t *testing.T, b HTTPBench) {
	if len(b.Want) != len(answers)+2 {
		t.Errorf("%d verdicts for %d answers", len(b.Want), len(answers)+2)
	}
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			var requests atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				a.answer(w, r)
			}))
			defer s.Close()
			err := b.check(t, s.URL, b.Want[a.name], "127.0.0.1")
			if r := refusal(err); r != nil && a.name == "429" && r.After != patienceAsked {
				t.Errorf("asks to wait %s, want %s as the server said", r.After, patienceAsked)
			}
			if got := requests.Load(); got != 1 && a.name != "307 to itself for ever" || got > 20 {
				t.Errorf("sent %d times", got)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		b.check(t, closedURL(t), b.Want["nobody listens"], "127.0.0.1")
	})
	t.Run("a private address", func(t *testing.T) {
		err := b.check(t, closedURL(t), b.Want["a private address"])
		if err == nil || !strings.Contains(err.Error(), "egress.allow") {
			t.Errorf("got %v, want the remedy named", err)
		}
	})
}

// closedURL is an address where nobody listens any more.
func closedURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// check starts a job at the URL and compares what it comes to.
func (b HTTPBench) check(t *testing.T, url string, want Verdict, allow ...string) error {
	t.Helper()
	bench := Bench{New: func(t *testing.T) job.Type { return b.New(t, allow...) }, NewConfig: b.NewConfig}.in(t)
	started, err := bench.Start(bench.ctx(), bench.attempt(b.Config(url)))
	bench.clean(err)
	if started.Result != nil {
		bench.cleanStatus(*started.Result)
	}
	if got := verdict(started, err); got != want {
		t.Errorf("got %s, want %s (%+v, %v)", got, want, started.Result, err)
	}
	return err
}

func verdict(s job.Started, err error) Verdict {
	switch {
	case refusal(err) != nil:
		return Verdict("refused: " + string(refusal(err).Category))
	case err != nil:
		return Open
	case s.Result == nil:
		return Runs
	case s.Result.Result == run.ResultSuccess:
		return Succeeded
	default:
		return Verdict("failed: " + string(s.Result.Category))
	}
}
