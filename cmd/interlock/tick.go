package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/metrics"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/presence"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
)

// trimAll deletes what retention no longer keeps, in small steps. It rests after each for as long as
// the step took, so that a large backlog leaves others half of the store's time.
func trimAll(ctx context.Context, s trimmer, keep store.Retention, now time.Time) error {
	for {
		began := time.Now()
		n, err := s.Trim(ctx, keep, now)
		if n == 0 || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
}

type trimmer interface {
	Trim(ctx context.Context, keep store.Retention, now time.Time) (int, error)
}

func retentionOf(r settings.Retention) store.Retention {
	return store.Retention{
		Events: r.Events.D(), History: r.History.D(), JobLog: r.JobLog.D(), Runs: r.Runs.D(),
		EventsBytes: int64(r.EventsBytes), HistoryBytes: int64(r.HistoryBytes),
	}
}

// ticks returns the controller's periodic tasks.
func (c *controller) ticks(j *jobs, o *metrics.Observer) []engine.Tick {
	retention := retentionOf(c.file.Retention)
	beat := heartbeat{url: c.file.Watchdog.HeartbeatURL, client: j.guard.Client(10 * time.Second)}
	return append(append(c.archive.ticks(), c.storeTick()...), []engine.Tick{
		{Name: "presence", Every: presence.Interval, Now: true, Do: c.parts.Presence.Attend},
		{Name: "watchdog", Every: c.file.Watchdog.Interval.D(), First: true, One: true, Do: func(ctx context.Context, _ time.Time) error {
			report, err := c.parts.Watch(ctx)
			o.Watched(report)
			if err != nil || beat.url == "" {
				return err
			}
			if h := c.health(ctx); !h.Ready {
				return fmt.Errorf("heartbeat not sent: %s", h.Why())
			}
			return beat.send(ctx)
		}},
		{Name: "retention", Every: time.Minute, One: true, Do: func(ctx context.Context, now time.Time) error {
			keep, err := c.store.Fit(ctx, retention, now)
			if err != nil {
				return err
			}
			if keep, err = c.archive.retain(ctx, keep, now); err != nil {
				return err
			}
			return trimAll(ctx, c.store, keep, now)
		}},
		{Name: "access", Every: accessPace, Do: func(ctx context.Context, _ time.Time) error { return c.access.Reload(ctx) }},
		{Name: "other stores", Every: c.file.Watchdog.Interval.D(), Now: true, Do: func(ctx context.Context, now time.Time) error {
			return c.rivals.search(ctx, o.Store(c.store), now)
		}},
		{Name: "sweep", Every: time.Minute, Do: func(ctx context.Context, now time.Time) error {
			return j.sweep(ctx, c.store, now, retention.JobLog)
		}},
	}...)
}

// heartbeat tells an external monitor that the watchdog is running.
type heartbeat struct {
	url    string
	client *http.Client
}

func (h heartbeat) send(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return fmt.Errorf("watchdog.heartbeatURL cannot be used")
	}
	resp, err := h.client.Do(req)
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return fmt.Errorf("send the heartbeat to watchdog.heartbeatURL: %w", refused)
	}
	if err != nil {
		return fmt.Errorf("send the heartbeat: no response") // not the error itself: it contains the URL, which may contain a token
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices { // a redirect is not followed, so the monitor has not received the heartbeat
		return fmt.Errorf("send the heartbeat: answered %s", resp.Status)
	}
	return nil
}

// healthLimit is the timeout for the store in a health check. Clients of /readyz do not wait long,
// and a slow store is itself a finding.
const healthLimit = 2 * time.Second

// health returns the checks of /readyz. The heartbeat is sent only while the controller is ready.
func (c *controller) health(ctx context.Context) api.Health {
	if !c.isLoaded() {
		return api.Health{Checks: []client.HealthCheck{{Name: "files", Detail: "starting: " + c.around.applying.String()}}}
	}
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	h := c.engine.Health(ctx, c.file.Watchdog.Interval.D())
	keepsUp := client.HealthCheck{Name: "engine", OK: h.Ready, Detail: "feed and timers keep up"}
	if len(h.Why) > 0 {
		keepsUp.Detail = strings.Join(h.Why, "; ")
	}
	// A store that rejects writes comes first: it is why timers are late.
	checks := append(c.storeCheck(), keepsUp, client.HealthCheck{
		Name: "feed", OK: true, Detail: fmt.Sprintf("%d changes to handle, the oldest from %s ago", h.FeedBacklog, h.FeedLag.Round(time.Millisecond)),
	})
	h.Ready = h.Ready && checks[0].OK
	for part, f := range h.Failures {
		failure := client.HealthCheck{Name: part, Detail: fmt.Sprintf("last failed at %s: %s", period.Stamp(f.At), f.Error)}
		if i := slices.IndexFunc(checks, func(c client.HealthCheck) bool { return c.Name == part }); i >= 0 {
			checks[i].OK = false
			checks[i].Detail += "; " + failure.Detail
		} else {
			checks = append(checks, failure)
		}
	}
	checks = slices.Concat(checks, failingTasks(h), c.waitingCalls(h), c.replicaChecks(h), c.rivals.check(), c.archive.check(ctx), c.reloadCheck(), c.pauseCheck(ctx))
	for _, t := range c.catalog.Troubles() {
		checks = append(checks, client.HealthCheck{Name: "files", Detail: fmt.Sprintf("degraded since %s: %s", period.Stamp(t.Since), t.Message)})
	}
	for _, b := range c.catalog.Current().Broken() {
		checks = append(checks, client.HealthCheck{Name: "pipeline " + string(b.ID), OK: true, Detail: "degraded: " + b.Problem})
	}
	for _, r := range c.catalog.RefusedSources() {
		checks = append(checks, client.HealthCheck{Name: "source " + cmp.Or(string(r.ID), r.File), OK: true, Detail: "degraded: " + r.Problem()})
	}
	return api.Health{Ready: h.Ready, Checks: checks}
}

// waitingCalls reports attempts that wait to call their job's target because all workers are busy.
func (c *controller) waitingCalls(h engine.Health) []client.HealthCheck {
	var checks []client.HealthCheck
	for _, jobType := range slices.Sorted(maps.Keys(h.Waiting)) {
		n := h.Waiting[jobType]
		check := client.HealthCheck{Name: jobType + " calls", OK: true, Detail: fmt.Sprintf("%d waiting: the targets of earlier calls are slow to answer", n)}
		if jobType == "" {
			check.Name = "blocking starts"
			check.Detail = fmt.Sprintf("%d waiting: %d in progress; raise engine.blockingStarts to allow more", n, c.file.Engine.BlockingStarts)
		}
		if n > 0 {
			checks = append(checks, check)
		}
	}
	return checks
}

// failingTasks reports tasks that keep failing. They do not block other tasks, so the controller is
// still ready.
func failingTasks(h engine.Health) []client.HealthCheck {
	if len(h.Failing) == 0 {
		return nil
	}
	t := h.Failing[0]
	count := "1 task is failing and is"
	if n := len(h.Failing); n > 1 {
		count = fmt.Sprintf("%d tasks are failing and are", n)
	}
	return []client.HealthCheck{{Name: "failing tasks", OK: true, Detail: fmt.Sprintf("%s retried later; %s, due since %s, has failed %d times in a row: %s",
		count, t.ID, period.Stamp(t.Due), t.Failures, t.Error)}}
}

// logReport logs which pipelines were accepted, removed or rejected.
func logReport(logger *slog.Logger, r catalog.Report) {
	for _, id := range r.Accepted {
		logger.Info("pipeline accepted", slog.String("pipeline", string(id)))
	}
	for _, id := range r.Removed {
		logger.Info("pipeline removed", slog.String("pipeline", string(id)))
	}
	for _, p := range r.Problems {
		level := slog.LevelWarn
		if p.Severity == document.Error {
			level = slog.LevelError
		}
		logger.Log(context.Background(), level, "problem in a file", slog.String("problem", p.String()))
	}
}

// unreadable reports once when files cannot be read, and once when they can be read again. It
// reports to the log; if a folder is unreadable, also as an event, in /readyz and in every status.
func (c *controller) unreadable() func(error) {
	var last string
	return func(err error) {
		var name string
		var cause error
		if folder, ok := errors.AsType[*engine.FolderError](err); ok {
			name, cause = folder.Folder, folder.Err
		}
		if failed := c.catalog.Unreadable(context.Background(), name, cause, time.Now()); failed != nil {
			err = errors.Join(err, failed)
		}
		now := ""
		if err != nil {
			now = err.Error()
		}
		if now == last {
			return
		}
		last = now
		if err != nil {
			c.logger.Error("cannot read the files; the active versions stay active", "error", err)
		} else {
			c.logger.Info("the files can be read again")
		}
	}
}
