//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
)

// retried is a pipeline whose job notes each attempt in the file started and fails, and is retried
// soon.
func (g *ground) retried() {
	g.pipeline("retried", fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s, maxRetries: 1, retryBackoff: 1s}\n",
		`echo "$INTERLOCK_RUN_ID" >> `+g.path("started")+"; exit 75"))
}

// started lists the attempts whose job was started.
func (g *ground) started() []string {
	text, err := os.ReadFile(g.path("started"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		g.Fatal(err)
	}
	return strings.Fields(string(text))
}

// launched starts a controller with more arguments and waits until it listens.
func (g *ground) launched(args ...string) *daemon {
	g.Helper()
	d := g.launch(args...)
	if !d.ready() {
		g.Fatalf("the controller exited:\n%s", d.said())
	}
	return d
}

// typed runs a command that must succeed, and returns its output.
func (d *daemon) typed(args ...string) string {
	d.Helper()
	got := d.interlock(args...)
	if got.code != 0 {
		d.Fatalf("%q: exit code %d: %s%s", args, got.code, got.stdout, got.stderr)
	}
	return got.stdout + got.stderr
}

// killedBeforeRetry returns a ground whose controller was killed while attempt 2 of a run waited.
func killedBeforeRetry(t *testing.T) *ground {
	t.Helper()
	g := newGround(t, builtBinary(t), "")
	g.retried()
	d := g.start()
	d.typed("trigger", "retried", "--date", "2026-03-03")
	until(t, "attempt 2 waits", func() bool {
		r, err := d.api.Run(t.Context(), client.RunKey{Pipeline: "retried", Schedule: "manual", Date: "2026-03-03"})
		return err == nil && r.Attempt == 2
	})
	d.kill()
	return g
}

func TestAServerStartedPausedStartsNothing(t *testing.T) {
	g := killedBeforeRetry(t)
	g.pipeline("late", "schedule: {trigger: {key: landed, check: exists}}\njob: {type: command, config: {command: [touch, late]}}\n")
	d := g.launched("--paused")
	until(t, "the retry is due and was evaluated", func() bool {
		r, err := d.api.Run(t.Context(), client.RunKey{Pipeline: "retried", Schedule: "manual", Date: "2026-03-03"})
		return err == nil && r.WindowStart != nil && time.Now().After(*r.WindowStart) && r.Phase != "backoff"
	})
	d.put("late", "landed", map[string]any{"complete": true})
	if got := g.started(); !slices.Equal(got, []string{"retried/manual/2026-03-03/1"}) {
		t.Errorf("started during the pause: %q", got)
	}
	if runs := d.runs(); len(runs) != 1 {
		t.Errorf("opened during the pause: %v", runs)
	}
	const notice = "all pipelines are paused by server since "
	if !in(d.said(), notice, ": started paused; `interlock resume --all` ends it") {
		t.Errorf("the log does not say that everything is paused:\n%s", d.said())
	}
	for _, command := range []string{"health", "status"} {
		if got := d.typed(command); !in(got, "all pipelines are paused by server", "started paused") {
			t.Errorf("%s:\n%s", command, got)
		}
	}
	d.kill()

	d = g.start() // without the flag: only resume ends the pause
	if got := d.typed("status"); !in(d.said(), notice) || !in(got, "started paused") {
		t.Errorf("after a restart:\n%s%s", d.said(), got)
	}
	d.typed("resume", "--all")
	d.reaches("retried/manual/2026-03-03", client.FailedFinal)
	until(t, "the reading that came during the pause opens its run", func() bool { return len(d.runs()) == 2 })
	if got := g.started(); len(got) != 2 {
		t.Errorf("started: %q", got)
	}
}

// halting is a store that fails every commit after the first so many.
type halting struct {
	store.Store
	mu      sync.Mutex
	left    int
	commits []string
}

func (h *halting) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commits = append(h.commits, b.ID)
	if h.left--; h.left < 0 {
		return errors.New("the process died here")
	}
	return h.Store.Commit(ctx, b, now)
}

func TestAStartThatDiesBetweenPauseAndCopiesLeavesEverythingPaused(t *testing.T) {
	g := killedBeforeRetry(t)

	file, problems := settings.Parse("interlock.yaml", []byte("listen: 127.0.0.1:0\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	file.Data = settings.Data{Dir: g.path("data"), Reserve: 1 << 20}
	dying := &halting{left: 1}
	_, err := newController(t.Context(), file, engine.Folders{Pipelines: []string{g.path("pipelines")}}, surroundings{
		getenv: os.Getenv, logger: slog.New(slog.DiscardHandler), paused: true,
		between: func(r records) records {
			dying.Store, r.Store = r.Store, dying
			return r
		},
	})
	if err == nil || len(dying.commits) < 2 || !strings.HasPrefix(dying.commits[0], "pause/*/") || !strings.HasPrefix(dying.commits[1], "pause-all/retried/") {
		t.Fatalf("%v: %q", err, dying.commits)
	}

	d := g.start()
	until(t, "the retry is due", func() bool {
		r, err := d.api.Run(t.Context(), client.RunKey{Pipeline: "retried", Schedule: "manual", Date: "2026-03-03"})
		return err == nil && r.WindowStart != nil && time.Now().After(*r.WindowStart) && r.Phase != "backoff"
	})
	if got := g.started(); len(got) != 1 {
		t.Errorf("started although the pause was stored: %q", got)
	}
	if p, err := d.api.Pipeline(t.Context(), "retried"); err != nil || !p.PauseAll.Paused || orZero(p.PauseAll.Why) != "started paused" {
		t.Errorf("%+v, %v", p.PauseAll, err)
	}
}

func TestServeSaysWhereTheDashboardIs(t *testing.T) {
	d := newGround(t, builtBinary(t), "").start()
	var at string
	until(t, "the address of the dashboard is in the log", func() bool {
		found := regexp.MustCompile(`(?m)^dashboard: (\S+)$`).FindStringSubmatch(d.said())
		if found != nil {
			at = found[1]
		}
		return found != nil
	})
	resp := request(t.Context(), t, http.MethodGet, at)
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || !in(string(page), "<title>Interlock</title>") {
		t.Errorf("%s is not the dashboard: %v: %s", at, err, page)
	}
}

func TestATakenPortIsAnErrorWithARemedy(t *testing.T) {
	g := newGround(t, builtBinary(t), "")
	d := g.start()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	defer other.Close()
	for address, want := range map[string]string{
		strings.TrimPrefix(d.url, "http://"): "another interlock already listens there",
		other.Addr().String():                "another program already listens there",
	} {
		second := newGround(t, g.binary, "")
		d := second.launch("--listen", address)
		if code := d.exit(); code != exitUsage || !in(d.said(), "listen on "+address+": "+want, "--listen", "`listen` in the server's file") {
			t.Errorf("exit code %d: %s", code, d.said())
		}
	}
	if syscall.Geteuid() == 0 {
		return // root may open every port
	}
	if d := newGround(t, g.binary, "").launch("--listen", "127.0.0.1:1"); d.exit() != exitUsage || !in(d.said(), "may not open that port") {
		t.Errorf("got %s", d.said())
	}
}
