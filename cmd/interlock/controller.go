package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/catalog"
	assembly "github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/files"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/metrics"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// grace is how long a stopping controller waits for work in progress.
const grace = 10 * time.Second

// controller is a running server with all its parts.
type controller struct {
	file    settings.File
	store   records
	catalog *catalog.Catalog
	reload  *engine.Reloader
	parts   *assembly.Controller
	engine  *engine.Engine
	server  *http.Server
	api     *api.API
	access  *access
	audit   *audit.Log
	archive *archiving
	listen  net.Listener
	tracing *tracing
	logger  *slog.Logger
	steady  *slog.Logger // summarises what repeats
	began   time.Time
	tail    func(context.Context, run.Run) (string, bool, error) // reads the output so far of a run's running job
	folders engine.Folders                                       // as the server's file last named them
	around  surroundings
	rivals  *rivals

	// reread re-reads the settings that the controller was started with; nil without a server file.
	reread func() (settings.File, engine.Folders, error)

	reloadTrouble atomic.Pointer[string] // the error of the last reload; nil if it succeeded

	loaded chan struct{} // closed once the files are applied: until then only health checks are answered
	served chan error    // the result of serving HTTP

	seenMu sync.Mutex
	seen   catalog.Seen // as last written to disk
}

// surroundings is what a controller needs from its process.
type surroundings struct {
	getenv      func(string) string
	logger      *slog.Logger
	unsafeRedis bool                  // accept a Redis that may lose acknowledged writes
	mustExist   bool                  // refuse a data directory that has not been used yet
	newStore    bool                  // begin with a new store although the directory belonged to another
	paused      bool                  // pause all pipelines before anything starts
	applying    *catalog.Progress     // of loading during startup; may be nil
	between     func(records) records // set by tests to wrap the store
}

// newController checks the settings, listens, opens the store and reads the files. It starts no
// work. Files are applied last, so that a failed start writes nothing but a pause; it closes
// everything it opened. While the files are read it answers health checks.
func newController(ctx context.Context, f settings.File, folders engine.Folders, s surroundings) (_ *controller, err error) {
	if s.applying == nil {
		s.applying = &catalog.Progress{}
	}
	c := &controller{
		file: f, logger: s.logger, steady: summarised(s.logger), began: time.Now(), folders: folders, around: s,
		loaded: make(chan struct{}), served: make(chan error, 1),
	}
	var opened []io.Closer
	defer func() {
		for _, o := range opened {
			if err != nil {
				err = errors.Join(err, o.Close())
			}
		}
	}()
	if err := checkStart(f, folders, s); err != nil {
		return nil, err
	}
	if c.listen, err = listenOn(ctx, f); err != nil {
		return nil, err
	}
	opened = append(opened, c.listen)
	if c.tracing, err = newTracing(s.getenv); err != nil {
		return nil, err
	}
	if c.store, err = openStore(ctx, f, s); err != nil {
		return nil, err
	}
	opened = append(opened, c.store)
	if s.between != nil {
		c.store = s.between(c.store)
	}
	c.audit = audit.New(c.store, f.Retention.Audit.D())
	c.catalog = catalog.New(c.store, all.Kinds())
	c.catalog.Report(s.applying)
	c.catalog.Audit(c.audit, files.Origin)
	if f.Jobs.Command == "off" {
		c.catalog.WithoutPrograms()
	}
	if err := c.assemble(ctx); err != nil {
		return nil, err
	}
	opened[0] = c.server // which closes the listener
	go func() { c.served <- c.serve() }()
	if err := c.catalog.LoadFirst(ctx, engine.ReadSparingly); err != nil {
		return nil, err
	}
	if err := c.pauseFirst(ctx); err != nil {
		return nil, err
	}
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	close(c.loaded)
	return c, nil
}

// checkStart finds reasons not to start before anything is written: invalid settings, missing
// secrets and unreadable folders.
func checkStart(f settings.File, folders engine.Folders, s surroundings) error {
	j, err := newJobs(f, s.getenv, api.Callbacks{})
	if err != nil {
		return err
	}
	if _, err := accessSettings(f, j.guard, s.getenv); err != nil {
		return err
	}
	if _, err := newSinks(f.Alerts, sinkParts{guard: j.guard, getenv: s.getenv, logger: s.logger}); err != nil {
		return err
	}
	if dsn, err := archiveDSN(f, s.getenv); err != nil {
		return err
	} else if dsn != "" {
		if err := archive.Check(dsn); err != nil {
			return err
		}
	}
	if f.TLS.Cert != "" {
		if _, _, err := readTLS(f.TLS); err != nil {
			return err
		}
	}
	return folders.Check()
}

// load applies the files for the first time.
func (c *controller) load(ctx context.Context) error {
	if err := c.share(); err != nil {
		return err
	}
	c.reload = engine.NewReloader(c.folders, func(ctx context.Context, f catalog.Files, now time.Time) error {
		report, err := c.catalog.Apply(ctx, f, now)
		logReport(c.logger, report)
		return errors.Join(err, c.keepSeen())
	}, c.unreadable())
	if err := c.reload.Load(ctx, time.Now()); err != nil {
		return err
	}
	engine.SpareMemory(len(c.catalog.Current().All()))
	return nil
}

// assemble builds the handlers, the engine and the HTTP server.
func (c *controller) assemble(ctx context.Context) error {
	if err := datadir.Private(jobsDir(c.file.Data.Dir), seenFile(c.file.Data.Dir)); err != nil {
		return err
	}
	who, err := loadIdentity(c.file.Data.Dir)
	if err != nil {
		return err
	}
	callbacks, err := c.callbacks(ctx, who)
	if err != nil {
		return err
	}
	jobs, err := newJobs(c.file, c.around.getenv, callbacks)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	observer := metrics.New(registry)
	metrics.Process(registry, version, cmp.Or(orZero(commit()), "unknown"))
	if c.archive, err = newArchiving(c.file, c.store, who.replica, c.around.getenv); err != nil {
		return err
	}
	registry.MustRegister(metrics.NewOpenRuns(c.store), c.archive)
	if c.rivals, err = c.newRivals(ctx, jobs.guard); err != nil {
		return err
	}
	counted := observer.Store(c.store)
	sinks, err := newSinks(c.file.Alerts, sinkParts{
		guard: jobs.guard, getenv: c.around.getenv, threads: notify.NewThreads(c.store), logger: c.logger,
	})
	if err != nil {
		return err
	}
	observer.Sinks(sinks)
	c.parts = c.newParts(counted, jobs, sinks, who.replica)
	c.engine = engine.New(engine.Options{
		Store: counted, Logger: c.steady, Observer: observer, Replica: who.replica, Alone: !c.store.shared,
		Workers: c.file.Engine.Workers, ProbeWorkers: c.file.Engine.ProbeWorkers, BlockingStarts: c.file.Engine.BlockingStarts,
		Lease: c.file.Engine.Lease.D(), LostAfter: c.file.Engine.LostAfter.D(), Notifier: c.parts.Notifier,
		Handlers: engine.Handlers{
			Change: c.tracing.change(c.watched(c.parts.Router.Handle)),
			Task:   c.tracing.task(c.parts.Perform),
			Await:  c.tracing.await(counted, c.parts.Await),
			Ticks:  append(c.ticks(jobs, observer), repeatTick(sinks)...),
			Config: c.takeConfig,
		},
	})
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "interlock_failing_tasks", Help: "Tasks whose last try by this controller failed.",
	}, func() float64 { return float64(c.engine.FailingTasks()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "interlock_rejected_sources", Help: "Source files that were rejected when this controller last read them.",
	}, func() float64 { return float64(len(c.catalog.RefusedSources())) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "interlock_other_store_seen", Help: "1 while another controller, with another store, answers at this controller's address.",
	}, c.rivals.gauge))
	c.tail = jobs.tails(who.replica, c.catalog)
	return c.assembleServer(ctx, c.parts.Router, callbacks, registry, jobs)
}

// newParts puts the handlers together.
func (c *controller) newParts(s store.Store, jobs *jobs, sinks []sink.Sink, replica string) *assembly.Controller {
	return assembly.New(assembly.Parts{
		Store: s, Catalog: c.catalog, Now: time.Now, Probes: jobs.evaluator, Alerts: c.alerts(sinks),
		Steps: orchestrator.Deps{
			Jobs: jobs.types, Expand: jobs.expand, Replica: replica, Lease: c.file.Engine.Lease.D(), Early: c.store.shared,
			Enter: func(ctx context.Context, jobType string, blocking bool) (bool, error) {
				return c.engine.Enter(ctx, jobType, blocking)
			},
			Span:    c.tracing.Step,
			Running: func(key run.Key, attempt int) { c.engine.Began(key, attempt) },
		},
		Limits: router.Limits{
			RunTimeout: c.file.Engine.RunTimeout.D(), StartTries: c.file.Engine.TriggerMaxAttempts, StartBackoff: c.file.Engine.TriggerBackoff.D(),
		},
		Watchdog: watchdog.Deps{Interval: c.file.Watchdog.Interval.D(), History: c.file.Retention.History.D()},
	})
}

// assembleServer builds the HTTP server.
func (c *controller) assembleServer(ctx context.Context, operator api.Operator, callbacks api.Callbacks, registry *prometheus.Registry, jobs *jobs) error {
	who, err := accessSettings(c.file, jobs.guard, c.around.getenv)
	if err != nil {
		return err
	}
	who.Callbacks = callbacks
	if !c.file.Loopback() && c.file.TLS.Cert == "" {
		c.logger.Warn("tokens are sent unencrypted: set tls.cert and tls.key, or put a proxy with TLS in front")
	}
	page, err := newDashboard()
	if err != nil {
		return err
	}
	cursors, err := cursorKey(ctx, c.store)
	if err != nil {
		return err
	}
	deps := api.Deps{
		Store: c.store, Catalog: c.catalog, Operator: operator, AcceptRemoval: c.acceptRemoval, Alerts: c.engine.Notifier, Audit: c.audit, Settings: who, Identity: c.rivals.own, CursorKey: cursors, Metrics: registry,
		GatePace: c.gatePace(), Health: c.health, Starting: c.starting, Trouble: c.store.trouble, Months: c.archive.askMonths(), Tail: c.tail, Expand: jobs.expand, Dashboard: page, Now: time.Now, Logger: c.steady,
	}
	if c.file.Metrics.PerPipeline {
		deps.PipelineMetrics = metrics.NewPipelines(c.store, c.catalog, time.Now).Of
	}
	handler := api.New(deps)
	c.api = handler
	c.access = &access{file: c.file, getenv: c.around.getenv, api: handler, logger: c.logger, tokens: who.Tokens, record: c.record}
	if err := c.access.Reload(ctx); err != nil {
		return err
	}
	c.server = api.Server(handler, c.file.Listen, c.steady)
	c.server.TLSConfig = c.access.config()
	c.server.Handler = c.tracing.requests(handler)
	return nil
}

// loadingWait is how long a request waits for the files to be loaded.
const loadingWait = 10 * time.Second

// starting waits for a while until the files are loaded. It returns how far loading is; "" if it is
// done.
func (c *controller) starting(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, loadingWait)
	defer cancel()
	select {
	case <-c.loaded:
		return ""
	case <-ctx.Done():
		return c.around.applying.String()
	}
}

// isLoaded reports whether the files are loaded.
func (c *controller) isLoaded() bool {
	select {
	case <-c.loaded:
		return true
	default:
		return false
	}
}

// watched wraps handle so that requests waiting for a gate check it again after each change that
// may open it.
func (c *controller) watched(handle func(context.Context, store.Change, time.Time) error) func(context.Context, store.Change, time.Time) error {
	return func(ctx context.Context, change store.Change, now time.Time) error {
		err := handle(ctx, change, now)
		c.api.GateChanged(change)
		return err
	}
}

// sharedGatePace is how often waiting requests check their gate if other replicas handle changes
// too.
const sharedGatePace = time.Second

// gatePace is how often waiting requests check their gate if this replica handles no change; 0 is
// the default.
func (c *controller) gatePace() time.Duration {
	if c.store.shared {
		return sharedGatePace
	}
	return 0
}

// address is the server's address for clients on the same machine.
func (c *controller) address() string {
	if _, ok := c.file.Socket(); ok {
		return c.file.Listen
	}
	scheme, host := "http", c.listen.Addr().String()
	if c.file.TLS.Cert != "" {
		scheme = "https"
	}
	if at, ok := c.listen.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		host = net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port))
	}
	return scheme + "://" + host
}

// dashboard is the address of the dashboard for a browser on the same machine; "" if the server
// listens on a socket, which no browser opens.
func (c *controller) dashboard() string {
	if _, ok := c.file.Socket(); ok {
		return ""
	}
	return c.address() + "/"
}

// run works until ctx ends.
func (c *controller) run(ctx context.Context) error {
	c.recordStart(ctx)
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	var watching sync.WaitGroup
	watching.Go(func() { c.reload.Watch(working) })
	worked := make(chan error, 1)
	go func() { worked <- c.engine.Run(working, grace) }()

	var failure error
	select {
	case <-ctx.Done():
	case failure = <-c.served:
	}
	stopWorking()
	return errors.Join(failure, c.stop(worked, &watching))
}

// stop shuts everything down: the HTTP server first, so that no new requests arrive, and the store
// last.
func (c *controller) stop(worked <-chan error, watching *sync.WaitGroup) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := c.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = c.server.Close()
	}
	watching.Wait()
	return errors.Join(err, <-worked, c.access.api.Flush(ctx), c.tracing.Stop(ctx), c.store.Close())
}

func (c *controller) serve() error {
	l := api.Bound(c.server, c.listen, connections(c.file.Limits.Connections, descriptors()), c.file.Limits.ConnectionsPerAddress)
	var err error
	if c.file.TLS.Cert != "" {
		err = c.server.ServeTLS(l, "", "") // the certificates are in TLSConfig
	} else {
		err = c.server.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// jobsDir is the directory for the state of running commands.
func jobsDir(data string) string { return filepath.Join(data, "jobs") }
