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
	assembly "github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/dashboard"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/web"
)

// isDeployed reports whether store names the tables of an AWS deployment, where Lambda functions
// replace the controller.
func isDeployed(store string) bool { return strings.HasPrefix(store, "dynamodb://") }

// filesPace is how often a long-running console re-reads which files are active.
const filesPace = 15 * time.Second

// console serves the API for an AWS deployment, from its tables. It passes an operator's requests
// on to the Lambda functions. It starts nothing and decides nothing itself.
type console struct {
	store   *dynamo.Store
	catalog *catalog.Catalog
	workers *router.Router // serves workers on the tables: their requests need no function, only a compare-and-swap of the run
	server  *http.Server
	listen  net.Listener
	logger  *slog.Logger
	ended   sync.WaitGroup
}

// openConsole opens the tables and starts serving. If readOnly is not empty, the console is
// read-only and readOnly says why.
func openConsole(ctx context.Context, url, listen, readOnly string, logger *slog.Logger) (_ *console, err error) {
	db, err := dynamo.Open(ctx, url, dynamo.Options{Follow: true})
	if err != nil {
		return nil, err
	}
	c := &console{store: db, catalog: catalog.New(db, all.Kinds()), logger: logger}
	c.workers = assembly.New(assembly.Parts{Store: db, Catalog: c.catalog, Now: time.Now}).Router
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if err := c.catalog.Load(ctx); err != nil {
		return nil, err
	}
	page, err := newDashboard()
	if err != nil {
		return nil, err
	}
	if c.listen, err = listenTCP(ctx, listen); err != nil {
		return nil, err
	}
	handler := api.New(api.Deps{
		Store: db, Catalog: c.catalog, Operator: tableOperator{c}, Settings: api.Settings{Loopback: true, ReadOnly: readOnly}, Dashboard: page, Now: time.Now, Logger: logger,
	})
	c.server = api.Server(handler, listen, logger)
	c.ended.Go(func() {
		if err := c.server.Serve(c.listen); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the console stopped serving", "error", err)
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

// connectTables starts a console for one command and returns its client and a function that stops
// it.
func (a *app) connectTables(ctx context.Context, url string) (*client.Client, func() error, error) {
	if !isDeployed(url) {
		return nil, nil, usagef("--store %s is not an AWS deployment; write dynamodb://ENVIRONMENT?region=REGION, or use --server for a server", url)
	}
	quiet := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	console, err := openConsole(ctx, url, "127.0.0.1:0", "", quiet)
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(console.address())
	return c, console.close, err
}

// readOnlyReason is the answer of a deployment's dashboard to any request for a change.
const readOnlyReason = "the dashboard of an AWS deployment is read-only; use `interlock --store dynamodb://…` for changes"

// serveTables serves the dashboard of a deployment until ctx ends.
func (a *app) serveTables(ctx context.Context, file settings.File, logger *slog.Logger) error {
	if _, ok := file.Socket(); ok {
		return usagef("the dashboard of an AWS deployment cannot listen on a socket; use a loopback address, such as 127.0.0.1:8740")
	}
	if !file.Loopback() {
		return usagef("the dashboard of an AWS deployment listens only on loopback addresses, and %s is not one; put an authenticating proxy in front", file.Listen)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := openConsole(ctx, file.Store, file.Listen, readOnlyReason, logger)
	if err != nil {
		return err
	}
	if _, isJSON := logger.Handler().(*slog.JSONHandler); isJSON {
		logger.Info("interlock shows a deployment", "store", file.Store, "address", c.address())
	} else {
		fmt.Fprintf(a.stderr, "interlock shows %s; stop it with Ctrl-C\ndashboard: %s/\n", file.Store, c.address())
	}
	c.follow(ctx)
	return c.close()
}

// follow re-reads the active files at intervals, until ctx ends.
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

// newDashboard returns the dashboard as it was built.
func newDashboard() (*dashboard.Handler, error) {
	files, err := web.Files()
	if err != nil {
		return nil, err
	}
	return dashboard.New(files)
}
