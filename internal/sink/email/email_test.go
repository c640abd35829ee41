package email_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/email"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
)

const password = sinktest.Secret

// config returns a sink that trusts the server's certificate and may reach this machine.
func (s *mailServer) config(allow ...string) email.Config {
	guard, err := egress.New(allow)
	if err != nil {
		s.t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AddCert(s.cert.Certificate())
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	number, _ := strconv.Atoi(port)
	return email.Config{
		Name: "email", Host: "127.0.0.1", Port: number, Security: email.StartTLS, Username: "bot", Password: password,
		From: "Interlock <interlock@example.com>", To: []string{"ops@example.com", "Ann <ann@example.com>"}, Timeout: time.Minute,
		Dial: guard.DialContext, TLS: &tls.Config{RootCAs: trust},
	}
}

const here = "127.0.0.1"

func failed() sink.Alert {
	return sinktest.Alert(event.JobFailed, "exit code 3: Grüße & <b>", event.Finished{Category: "TRANSIENT"})
}

// send sends an alert and returns the mail that arrived.
func (s *mailServer) send(c email.Config, a sink.Alert) (letter, *mail.Message) {
	s.t.Helper()
	if err := email.New(c).Send(s.t.Context(), a); err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.letters) == 0 {
		s.t.Fatal("nothing arrived")
	}
	got := s.letters[len(s.letters)-1]
	m, err := mail.ReadMessage(strings.NewReader(got.data))
	if err != nil {
		s.t.Fatal(err)
	}
	return got, m
}

// parts returns the texts of a mail by their type.
func parts(t *testing.T, m *mail.Message) map[string]string {
	t.Helper()
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s, %v", kind, err)
	}
	all := map[string]string{}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if err != nil {
			return all
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		all[kind] = string(text)
	}
}

func TestMailIsEncryptedAndGoesToEverybody(t *testing.T) {
	for name, c := range map[string]struct {
		security email.Security
		implicit bool
	}{"starttls": {email.StartTLS, false}, "implicit": {email.Implicit, true}} {
		t.Run(name, func(t *testing.T) {
			s := newMailServer(t)
			s.implicit = c.implicit
			s.run()
			config := s.config(here)
			config.Security = c.security
			got, m := s.send(config, failed())
			got.data = ""
			want := letter{from: "interlock@example.com", to: []string{"ops@example.com", "ann@example.com"}, encrypted: true, user: "bot"}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(letter{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			if err != nil || subject != "[warning] JOB_FAILED: orders, cron, 2026-03-03, attempt 1: exit code 3: Grüße & <b>" {
				t.Errorf("subject %q, %v", subject, err)
			}
		})
	}
}

func TestMailSaysWhatWhyAndWhatToDo(t *testing.T) {
	s := newMailServer(t).run()
	a := failed()
	a.Count, a.Since = 4, sinktest.Noon
	_, m := s.send(s.config(here), a)
	got := parts(t, m)
	for _, want := range []string{"exit code 3: Grüße & <b>", "category: TRANSIENT", "interlock explain orders --date 2026-03-03", "4 events", "data-team", "https://interlock.example/run", "https://interlock.example/pipeline"} {
		if !strings.Contains(got["text/plain"], want) {
			t.Errorf("the text does not say %q:\n%s", want, got["text/plain"])
		}
	}
	if html := got["text/html"]; !strings.Contains(html, "exit code 3: Grüße &amp; &lt;b&gt;") || !strings.Contains(html, `href="https://interlock.example/run"`) {
		t.Errorf("html:\n%s", html)
	}
}

func TestMailsOfOneRunAreOneConversation(t *testing.T) {
	s := newMailServer(t).run()
	_, first := s.send(s.config(here), failed())
	_, again := s.send(s.config(here), failed())
	_, second := s.send(s.config(here), sinktest.Alert(event.RetryExhausted, "spent", event.Budget{}))
	if first.Header.Get("Message-Id") == "" || first.Header.Get("Message-Id") != again.Header.Get("Message-Id") {
		t.Errorf("sent again as %s, was %s", again.Header.Get("Message-Id"), first.Header.Get("Message-Id"))
	}
	if first.Header.Get("Message-Id") == second.Header.Get("Message-Id") || !strings.HasSuffix(first.Header.Get("Message-Id"), "@example.com>") {
		t.Errorf("ids %s and %s", first.Header.Get("Message-Id"), second.Header.Get("Message-Id"))
	}
	if ref := first.Header.Get("References"); ref == "" || ref != second.Header.Get("References") || ref != second.Header.Get("In-Reply-To") {
		t.Errorf("references %q and %q", ref, second.Header.Get("References"))
	}
	if second.Header.Get("Importance") != "high" || first.Header.Get("Importance") != "" || first.Header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("headers %v and %v", first.Header, second.Header)
	}
}

func TestNothingInAnEventBecomesAHeader(t *testing.T) {
	s := newMailServer(t).run()
	evil := "x\u202e\u2066\r\nBcc: all@example.com\r\n\r\n.\r\nMAIL FROM:<evil@example.com>\r\n"
	a := sinktest.Alert(event.JobFailed, evil, event.Finished{})
	a.Event.Type, a.Event.ID, a.Event.Detail.Pipeline = event.Type("JOB\r\nBcc: b@example.com"), "id>\r\nBcc: c@example.com", "p\r\nCc: d@example.com"
	got, m := s.send(s.config(here), a)
	if subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil || strings.ContainsAny(subject, "\u202e\u2066\r\n") {
		t.Errorf("subject %q, %v", subject, err)
	}
	if m.Header.Get("Bcc") != "" || m.Header.Get("Cc") != "" || len(got.to) != 2 || got.from != "interlock@example.com" || len(s.letters) != 1 {
		t.Errorf("%+v, headers %v", got, m.Header)
	}
	if text := parts(t, m)["text/plain"]; !strings.Contains(text, "MAIL FROM:<evil@example.com>") {
		t.Errorf("the text is cut short:\n%s", text)
	}
}

func TestServerWithoutEncryptionGetsNothing(t *testing.T) {
	s := newMailServer(t)
	s.noTLS = true
	s.run()
	err := email.New(s.config(here)).Send(t.Context(), failed())
	if sinktest.Verdict(err) != "mend" || !strings.Contains(err.Error(), "STARTTLS") || len(s.letters) != 0 {
		t.Errorf("got %v", err)
	}
	plain := s.config(here)
	plain.Security, plain.Username, plain.Password = email.None, "", ""
	if got, _ := s.send(plain, failed()); got.encrypted {
		t.Error("sent encrypted, but the server does not offer it")
	}
}

func TestUntrustedCertificateIsRejected(t *testing.T) {
	s := newMailServer(t).run()
	c := s.config(here)
	c.TLS = nil
	if err := email.New(c).Send(t.Context(), failed()); sinktest.Verdict(err) != "mend" || len(s.letters) != 0 {
		t.Errorf("got %v", err)
	}
}

func TestRefusalsAreDistinguished(t *testing.T) {
	for name, c := range map[string]struct{ command, answer, want string }{
		"unknown recipient":     {"RCPT", "550 5.1.1 no such user", "mend"},
		"unknown sender":        {"MAIL", "550 5.7.1 who are you", "mend"},
		"greylisted":            {"RCPT", "450 4.2.0 come back later", "again"},
		"mail refused":          {"DATA", "554 5.7.1 looks like spam", "refused"},
		"mailbox full":          {"DATA", "452 4.2.2 full", "again"},
		"server busy":           {"CONNECT", "421 too many connections", "again"},
		"server refuses":        {"CONNECT", "554 go away", "mend"},
		"no way to log in here": {"EHLO", "250-AUTH GSSAPI", "mend"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMailServer(t)
			s.answers[c.command] = c.answer
			s.run()
			err := email.New(s.config(here)).Send(t.Context(), failed())
			if got := sinktest.Verdict(err); got != c.want || strings.Contains(err.Error(), password) {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
}

func TestWrongPasswordIsMisconfigured(t *testing.T) {
	s := newMailServer(t).run()
	c := s.config(here)
	c.Password = "wr0ng-password"
	err := email.New(c).Send(t.Context(), failed())
	if sinktest.Verdict(err) != "mend" || strings.Contains(err.Error(), c.Password) || len(s.letters) != 0 {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableServerIsRetried(t *testing.T) {
	s := newMailServer(t)
	s.listener.Close()
	if err := email.New(s.config(here)).Send(t.Context(), failed()); sinktest.Verdict(err) != "again" {
		t.Errorf("got %v", err)
	}
}

func TestMailPassesTheGuard(t *testing.T) {
	s := newMailServer(t).run()
	err := email.New(s.config()).Send(t.Context(), failed())
	if sinktest.Verdict(err) != "mend" || !strings.Contains(err.Error(), "egress.allow") || s.conns != 0 {
		t.Errorf("%v, %d connections", err, s.conns)
	}
}

func TestCancelledSendReturnsAtOnce(t *testing.T) {
	s := newMailServer(t) // it accepts connections but sends nothing
	ctx, cancel := context.WithCancel(t.Context())
	c := s.config(here)
	dial := c.Dial
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		defer cancel()
		return dial(ctx, network, address)
	}
	if err := email.New(c).Send(ctx, failed()); sinktest.Verdict(err) != "again" {
		t.Errorf("got %v", err)
	}
}
