package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// sinksFrom creates the sinks of a server's file.
func sinksFrom(t *testing.T, src string, env map[string]string, allow ...string) ([]sink.Sink, error) {
	t.Helper()
	f, problems := settings.Parse("interlock.yaml", []byte(src))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	guard, err := egress.New(allow)
	if err != nil {
		t.Fatal(err)
	}
	return newSinks(f.Alerts, sinkParts{
		guard: guard, getenv: func(name string) string { return env[name] }, threads: notify.NewThreads(memory.New()), logger: slog.New(slog.DiscardHandler),
	})
}

// everySink is a file with all kinds of sinks, at one address.
func everySink(address string) string {
	host, port, _ := strings.Cut(address, ":")
	return `alerts:
  slack: {channel: "#data", tokenEnv: SLACK, apiURL: "http://` + address + `/api"}
  pagerduty: {routingKeyEnv: PD, apiURL: "http://` + address + `"}
  email: {host: "` + host + `", port: ` + port + `, from: a@example.com, to: [b@example.com], tls: none}
  alertmanager: {url: "http://` + address + `", authorizationEnv: HOOK}
  webhooks: [{url: "http://` + address + `/hook", secretEnv: HOOK}, {url: "http://` + address + `/teams", template: '{"text": {{json .Message}}}', authorizationEnv: HOOK}]
`
}

var everySecret = map[string]string{"SLACK": "xoxb-1", "PD": "key", "HOOK": "secret"}

// A sink that bypasses the egress guard fails here: the guard must block every sink, because all of
// them are at a loopback address.
func TestEverySinkPassesTheGuard(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan net.Addr, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			reached <- conn.RemoteAddr()
			conn.Close()
		}
	}()
	sinks, err := sinksFrom(t, everySink(listener.Addr().String()), everySecret)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range sinks {
		names = append(names, s.Name())
		err := s.Send(t.Context(), sinktest.Alert(event.JobFailed, "failed", event.Finished{}))
		if s.Name() != settings.LogSink && (sinktest.Verdict(err) != "mend" || !strings.Contains(err.Error(), "egress.allow")) {
			t.Errorf("%s: got %v", s.Name(), err)
		}
	}
	listener.Close()
	<-done
	if len(reached) > 0 {
		t.Errorf("%d connections bypassed the guard", len(reached))
	}
	f, _ := settings.Parse("interlock.yaml", []byte(everySink("127.0.0.1:1")))
	if diff := cmp.Diff(f.Alerts.SinkNames(), names); diff != "" {
		t.Errorf("sinks (-named +made):\n%s", diff)
	}
}

func TestSecretThatIsMissingIsNamed(t *testing.T) {
	for name, want := range map[string]string{
		"SLACK": "the bot token of alerts.slack is empty: check environment variable SLACK",
		"PD":    "the integration key of alerts.pagerduty is empty: check environment variable PD",
		"HOOK":  "the Authorization header of alerts.alertmanager is empty: check environment variable HOOK",
	} {
		env := map[string]string{}
		for other, value := range everySecret {
			if other != name {
				env[other] = value
			}
		}
		if _, err := sinksFrom(t, everySink("127.0.0.1:1"), env); err == nil || err.Error() != want {
			t.Errorf("without %s: got %v, want %s", name, err, want)
		}
	}
}

func TestSecretMayBeInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	src := `alerts: {slack: {channel: "#data", tokenFile: "` + file + `"}}`
	if _, err := sinksFrom(t, src, nil); err == nil || !strings.Contains(err.Error(), "read the bot token of alerts.slack") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(file, []byte("xoxb-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if sinks, err := sinksFrom(t, src, nil); err != nil || len(sinks) != 2 {
		t.Errorf("%d sinks, %v", len(sinks), err)
	}
}
