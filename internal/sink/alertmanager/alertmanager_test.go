package alertmanager_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/alertmanager"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
)

var ctx = context.Background()

// posted is an alert in the API's form.
type posted struct {
	Labels      map[string]string
	Annotations map[string]string
	StartsAt    time.Time
	EndsAt      time.Time
}

// cluster is a member that records the alerts sent to it.
type cluster struct {
	*httptest.Server
	got [][]posted
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var alerts []posted
		if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v2/alerts" {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		if r.Header.Get("Authorization") != "Bearer "+sinktest.Secret {
			t.Errorf("Authorization %q", r.Header.Get("Authorization"))
		}
		c.got = append(c.got, alerts)
	}))
	t.Cleanup(c.Close)
	return c
}

// last returns the alerts of the last request.
func (c *cluster) last(t *testing.T) []posted {
	t.Helper()
	if len(c.got) == 0 {
		t.Fatal("nothing was sent")
	}
	return c.got[len(c.got)-1]
}

// clock is the time of a test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func sinkAt(now func() time.Time, client *http.Client, urls ...string) *alertmanager.Sink {
	return alertmanager.New(alertmanager.Config{
		Name: "alertmanager", URLs: urls, Authorization: "Bearer " + sinktest.Secret, Labels: map[string]string{"team": "data"},
		Client: client, Threads: sinktest.NewThreads(), Now: now,
	})
}

func alert(t event.Type, extra event.Extra) sink.Alert { return sinktest.Alert(t, "message", extra) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAlertmanagerKeepsTheContract(t *testing.T) {
	sinktest.RunHTTP(t, func(url string, client *http.Client) sink.Sink { return sinkAt(sinktest.Clock, client, url) })
}

func TestAlertIsRaisedAndResolved(t *testing.T) {
	c := newCluster(t)
	s := sinkAt(sinktest.Clock, sinktest.Client(t), c.URL)
	check(t, s.Send(ctx, alert(event.JobFailed, event.Finished{})))
	check(t, s.Send(ctx, alert(event.RetryExhausted, event.Budget{})))
	raised := c.last(t)[0]
	if raised.Labels["alertname"] != "RETRY_EXHAUSTED" || raised.Labels["severity"] != "critical" || raised.Labels["team"] != "data" || raised.Labels["pipeline"] == "" {
		t.Errorf("labels %v", raised.Labels)
	}
	if !raised.EndsAt.After(sinktest.Noon) || raised.Annotations["description"] != "message" || raised.Annotations["remedy"] == "" {
		t.Errorf("ends %s, annotations %v", raised.EndsAt, raised.Annotations)
	}
	check(t, s.Follow(ctx, alert(event.JobCompleted, event.Finished{})))
	ended := c.last(t)
	if len(ended) != 2 || ended[0].EndsAt.After(sinktest.Noon) || ended[1].EndsAt.After(sinktest.Noon) || ended[1].Labels["alertname"] != "RETRY_EXHAUSTED" {
		t.Errorf("resolved %+v", ended)
	}
	sent := len(c.got)
	check(t, s.Follow(ctx, alert(event.JobCompleted, event.Finished{})))
	check(t, s.Repeat(ctx))
	if len(c.got) != sent {
		t.Errorf("a resolved alert is sent again: %+v", c.last(t))
	}
}

func TestOpenAlertsAreSentAgainBeforeTheyExpire(t *testing.T) {
	c, now := newCluster(t), &clock{sinktest.Noon}
	s := sinkAt(now.Now, sinktest.Client(t), c.URL)
	check(t, s.Send(ctx, alert(event.JobFailed, event.Finished{})))
	first := c.last(t)[0]
	now.now = now.now.Add(30 * time.Minute)
	check(t, s.Repeat(ctx))
	again := c.last(t)[0]
	if !again.EndsAt.After(first.EndsAt) || !again.StartsAt.Equal(first.StartsAt) || len(again.Labels) != len(first.Labels) {
		t.Errorf("first %+v, again %+v", first, again)
	}
	now.now = now.now.Add(8 * 24 * time.Hour)
	check(t, s.Repeat(ctx))
	if len(c.got) != 2 {
		t.Errorf("sent again after a week: %+v", c.last(t))
	}
}

func TestAlertThatNothingSettlesExpires(t *testing.T) {
	c, now := newCluster(t), &clock{sinktest.Noon}
	s := sinkAt(now.Now, sinktest.Client(t), c.URL)
	degraded := alert(event.WatchdogDegraded, event.Degraded{})
	degraded.Event.Detail.Pipeline, degraded.Event.Detail.Schedule = "", ""
	check(t, s.Send(ctx, degraded))
	check(t, s.Repeat(ctx))
	if len(c.got) != 1 || c.last(t)[0].EndsAt.Sub(sinktest.Noon) > 20*time.Minute {
		t.Errorf("sent %+v", c.got)
	}
}

func TestOneMemberOfAClusterIsEnough(t *testing.T) {
	c := newCluster(t)
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	check(t, sinkAt(sinktest.Clock, sinktest.Client(t), away.URL, c.URL).Send(ctx, alert(event.JobFailed, event.Finished{})))
	if len(c.got) != 1 {
		t.Errorf("the other member got %d requests", len(c.got))
	}
}

// A real Alertmanager accepts the alert, shows it as active, and as gone once it is resolved.
func TestRealAlertmanager(t *testing.T) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Skip("no prometheus-alertmanager; install the Debian package of that name")
	}
	url := startAlertmanager(t, program)
	s := sinkAt(time.Now, sinktest.Client(t), url)
	failed := alert(event.JobFailed, event.Finished{})
	failed.Event.Time = time.Now()
	check(t, s.Send(ctx, failed))
	if got := active(t, url); len(got) != 1 || got[0].Labels["alertname"] != "JOB_FAILED" {
		t.Fatalf("active: %+v", got)
	}
	check(t, s.Repeat(ctx))
	if got := active(t, url); len(got) != 1 {
		t.Fatalf("active after a repeat: %+v", got)
	}
	check(t, s.Follow(ctx, alert(event.JobCompleted, event.Finished{})))
	if got := active(t, url); len(got) != 0 {
		t.Errorf("active after the run completed: %+v", got)
	}
}

// startAlertmanager starts one on a free port. It stops when the test ends.
func startAlertmanager(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	check(t, os.WriteFile(config, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address := free.Addr().String()
	check(t, free.Close())
	cmd := exec.Command(program, "--config.file="+config, "--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url := "http://" + address
	limit, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if resp, err := http.Get(url + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				tick.Stop()
				return url
			}
		}
		select {
		case <-limit.Done():
			t.Fatal("alertmanager does not become ready")
		case <-tick.C:
		}
	}
}

func active(t *testing.T, url string) []posted {
	t.Helper()
	resp, err := http.Get(url + "/api/v2/alerts?active=true")
	check(t, err)
	defer resp.Body.Close()
	var alerts []posted
	check(t, json.NewDecoder(resp.Body).Decode(&alerts))
	return alerts
}
