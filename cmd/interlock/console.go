package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/dashboard"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/web"
)

// isDeployed says whether a store is the tables of a deployment on AWS, where functions do what a controller does elsewhere.
func isDeployed(store string) bool { return strings.HasPrefix(store, "dynamodb://") }

// filesPace is how often a console that stays looks which files are in force.
const filesPace = 15 * time.Second

// console answers questions about deployed tables in the place of a server, and passes wishes on to the functions there. It
// starts nothing and decides nothing itself.
type console struct {
	store   *dynamo.Store
	catalog *catalog.Catalog
	server  *http.Server
	listen  net.Listener
	logger  *slog.Logger
	ended   sync.WaitGroup
}

// openConsole opens the tables and listens, and begins to answer. What is only to be looked at says why in readOnly.
func openConsole(ctx context.Context, url, listen, readOnly string, logger *slog.Logger) (_ *console, err error) {
	db, err := dynamo.Open(ctx, url, dynamo.Options{})
	if err != nil {
		return nil, err
	}
	c := &console{store: db, catalog: catalog.New(db, all.Kinds()), logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if err := c.catalog.Load(ctx); err != nil {
		return nil, err
	}
	page, err := dashboard.New(web.Files())
	if err != nil {
		return nil, err
	}
	if c.listen, err = net.Listen("tcp", listen); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", listen, err)
	}
	handler := api.New(api.Deps{
		Store: db, Catalog: c.catalog, Operator: wishes{c}, Settings: api.Settings{Loopback: true, ReadOnly: readOnly}, Dashboard: page, Now: time.Now, Logger: logger,
	})
	c.server = api.Server(handler, listen, logger)
	c.ended.Go(func() {
		if err := c.server.Serve(c.listen); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the console ended", "error", err)
		}
	})
	return c, nil
}

func (c *console) address() string { return "http://" + c.listen.Addr().String() }

func (c *console) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := c.server.Shutdown(ctx)
	c.ended.Wait()
	return errors.Join(err, c.store.Close())
}

// onTables is a client of a console that lives as long as one command.
func (a *app) onTables(ctx context.Context, url string) (*client.Client, func() error, error) {
	if !isDeployed(url) {
		return nil, nil, usagef("--store %s is not an AWS deployment; write dynamodb://ENVIRONMENT?region=REGION, or use --server for a server", url)
	}
	quiet := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	c, err := openConsole(ctx, url, "127.0.0.1:0", "", quiet)
	if err != nil {
		return nil, nil, err
	}
	asks, err := client.New(c.address())
	return asks, c.close, err
}

// onlyShown is what the dashboard of deployed tables answers to a wish.
const onlyShown = "the dashboard of an AWS deployment is read-only; use `interlock --store dynamodb://…` for changes"

// serveTables shows deployed tables until it is stopped.
func (a *app) serveTables(ctx context.Context, file settings.File, logger *slog.Logger) error {
	if _, ok := file.Socket(); ok {
		return usagef("the dashboard of an AWS deployment cannot listen on a socket; use a loopback address, such as 127.0.0.1:8740")
	}
	if !file.Loopback() {
		return usagef("the dashboard of an AWS deployment listens only on a loopback address, and %s is none; put an authenticating proxy in front", file.Listen)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := openConsole(ctx, file.Store, file.Listen, onlyShown, logger)
	if err != nil {
		return err
	}
	if _, isJSON := logger.Handler().(*slog.JSONHandler); isJSON {
		logger.Info("interlock shows a deployment", "store", file.Store, "address", c.address())
	} else {
		fmt.Fprintf(a.stderr, "interlock shows %s at %s; stop it with Ctrl-C\n", file.Store, c.address())
	}
	c.follow(ctx)
	return c.close()
}

// follow keeps in step with the files that are in force, until ctx ends.
func (c *console) follow(ctx context.Context) {
	tick := time.NewTicker(filesPace)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := c.catalog.Load(ctx); err != nil && ctx.Err() == nil {
			c.logger.Warn("cannot read the active files; the previous ones stay", "error", err)
		}
	}
}

// wishes are an operator's, on their way to the functions. What only a controller can do is refused.
type wishes struct{ *console }

var _ api.Operator = wishes{}

// routerWithin is how long a request may take to be answered.
const routerWithin = 20 * time.Second

// Rerun writes the request where the stream-router finds it, and waits for its answer.
func (w wishes) Rerun(ctx context.Context, q router.RerunRequest, now time.Time) (store.Rerun, error) {
	asked := dynamo.RerunRequest{
		ID: q.ID, Key: run.Key{Pipeline: q.Pipeline, Schedule: q.Schedule, Period: q.Period}, Reason: q.Reason, By: q.By, Force: q.Force, BypassGate: q.BypassGate,
	}
	if err := w.store.RequestRerun(ctx, asked, now); err != nil {
		return store.Rerun{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, routerWithin)
	defer cancel()
	answer, err := w.answer(ctx, asked)
	if errors.Is(err, context.DeadlineExceeded) {
		return store.Rerun{}, &router.Refusal{Kind: router.Conflict, Reason: fmt.Sprintf(
			"the request is stored, but the stream-router did not answer within %s; check its log and its queue", routerWithin)}
	}
	return answer, err
}

// answerPoll is how often the console reads whether a request was answered.
const answerPoll = 250 * time.Millisecond

// answer waits until a request was answered, or ctx ends.
func (w wishes) answer(ctx context.Context, asked dynamo.RerunRequest) (store.Rerun, error) {
	tick := time.NewTicker(answerPoll)
	defer tick.Stop()
	for {
		all, err := w.store.Reruns(ctx, []run.Key{asked.Key})
		if err != nil {
			return store.Rerun{}, err
		}
		for _, r := range all[asked.Key] {
			if r.ID == asked.ID {
				return r, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return store.Rerun{}, fmt.Errorf("wait for the answer to request %s: %w", asked.ID, ctx.Err())
		}
	}
}

func (wishes) refuse(what, instead string) error {
	return &router.Refusal{Kind: router.Conflict, Reason: what + " is not available on an AWS deployment; " + instead}
}

const (
	useRerun = "request a rerun, with --force if there is no run yet"
	useFile  = "deploy a changed pipeline file"
	useTable = "write a JOB# row to the job log table"
	useJob   = "stop its job and write a JOB# row with event fail to the job log table; a stopped execution is replaced by another"
)

// Trigger is the functions' own.
func (w wishes) Trigger(context.Context, router.TriggerRequest, time.Time) (run.Run, error) {
	return run.Run{}, w.refuse("trigger", useRerun)
}

// Cancel would have to stop a job.
func (w wishes) Cancel(context.Context, run.Key, string, string, time.Time) (run.Run, error) {
	return run.Run{}, w.refuse("cancel", useJob)
}

// Report is for the job log table, except for the result of a worker, which claimed its attempt here.
func (w wishes) Report(ctx context.Context, o run.Outcome, now time.Time) (router.Reported, error) {
	r, err := w.store.Run(ctx, o.Key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return router.Reported{}, err
	}
	if o.Attempt == 0 || r.Attempt == o.Attempt && r.Progress.Offer.Worker == "" {
		return router.Reported{}, w.refuse("job complete", useTable)
	}
	return w.workers().Report(ctx, o, now)
}

// workers serves workers on the tables themselves: what they ask for needs no function, only the swap of a run.
func (w wishes) workers() *router.Router {
	return router.New(router.Deps{Store: w.store, Catalog: w.catalog})
}

// Claim gives an offered attempt to a worker.
func (w wishes) Claim(ctx context.Context, q router.ClaimRequest, now time.Time) (run.Run, error) {
	return w.workers().Claim(ctx, q, now)
}

// Heartbeat records that a worker was heard of.
func (w wishes) Heartbeat(ctx context.Context, key run.Key, attempt int, output string, now time.Time) (run.Run, error) {
	return w.workers().Heartbeat(ctx, key, attempt, output, now)
}

// Pause is the functions' own.
func (w wishes) Pause(context.Context, pipeline.ID, store.Pause, time.Time) (store.Pause, error) {
	return store.Pause{}, w.refuse("pause", useFile)
}

// PauseAll is the functions' own.
func (w wishes) PauseAll(context.Context, store.Pause, time.Time) ([]pipeline.ID, error) {
	return nil, w.refuse("pause", useFile)
}

// Resume is the functions' own.
func (w wishes) Resume(context.Context, pipeline.ID, string, string, time.Time) error {
	return w.refuse("resume", useFile)
}

// ResumeAll is the functions' own.
func (w wishes) ResumeAll(context.Context, string, string, time.Time) ([]pipeline.ID, error) {
	return nil, w.refuse("resume", useFile)
}

// Backfill is the functions' own.
func (w wishes) Backfill(context.Context, router.BackfillRequest, time.Time) ([]router.Backfilled, error) {
	return nil, w.refuse("backfill", useRerun)
}

// Answered knows the answers to claims. A rerun that was asked for twice is recognised by the stream-router, by its id.
func (w wishes) Answered(ctx context.Context, key string, now time.Time) (router.Answer, bool, error) {
	return w.workers().Answered(ctx, key, now)
}

// KeepAnswer keeps none: what is refused has changed nothing, and may be asked for again.
func (w wishes) KeepAnswer(context.Context, string, router.Answer, time.Time) error { return nil }
