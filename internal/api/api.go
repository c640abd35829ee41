// Package api is the controller's HTTP API. It takes readings, answers queries and passes
// operators' requests on. It authenticates clients, checks what they send, and turns records into
// JSON. Package router decides the effect of a request, package gate evaluates gates, and package
// explain says why a run is in its state.
//
// A sensor write goes straight through the standard mux (sensor.go), because no other request is as
// frequent. Everything else is registered with huma, which checks requests against the Go types and
// generates api/openapi.json from them. Every error is returned as a Problem, including those of
// the standard library.
package api

//go:generate go run ./openapidoc ../../api/openapi.json

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/trend"
)

// prefix is the path prefix of the API.
const prefix = "/api/v1"

// records is the part of a store that the API needs: it writes readings, reads everything, and
// commits sessions.
type records interface {
	store.Committer
	store.Sensors
	store.Reader
	Purge(ctx context.Context, id pipeline.ID, dry bool, now time.Time) (store.Purged, error)
	EventsChanged() <-chan struct{}
}

// Deps holds the dependencies of an API.
type Deps struct {
	Store    records
	Catalog  *catalog.Catalog
	Operator Operator
	// AcceptRemoval removes the pipelines whose files disappeared all at once; by default the
	// catalog's own method.
	AcceptRemoval func(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error)

	Alerts   *notify.Notifier // nil: no alerts
	Audit    *audit.Log       // nil: no audit record
	Settings Settings
	Identity Identity
	// GatePace is how often a request that waits for a gate evaluates it again without a call of
	// GateChanged. Set it shorter where other processes change what the gate depends on. The
	// default is 5s.
	GatePace  time.Duration
	CursorKey []byte                       // the key that encrypts cursors; nil: a random one for this process
	Health    func(context.Context) Health // nil: always ready
	// Starting waits a while until the controller has read its files, and then returns "", or else how
	// far it is. nil: it has.
	Starting func(context.Context) string
	Trouble  func() error         // why the store accepts no changes from clients, as a store.Fault; nil: it always does
	Metrics  *prometheus.Registry // nil: a new registry
	// PipelineMetrics returns the collector of the metrics that name pipelines, for a client that sees
	// only these. nil: there are none.
	PipelineMetrics func(sees func(pipeline.ID) bool) prometheus.Collector
	Months          func(ctx context.Context, id pipeline.ID, limit int) ([]Month, error) // from the archive, newest first; nil: no archive
	// Tail returns the end of the output of a run's running job; false if it cannot be read here.
	// It may be nil.
	Tail func(ctx context.Context, r run.Run) (string, bool, error)
	// Expand fills in an attempt's config with its secrets, so that they can be redacted from what
	// its job reports. Its error is a *job.Refusal. nil: jobs have no secrets that are known here.
	Expand    func(a job.Attempt, of *pipeline.Job) (job.Attempt, error)
	Dashboard http.Handler // serves / and every path below it that has no route; nil: nothing is served there
	Now       func() time.Time
	Logger    *slog.Logger
}

// API answers HTTP requests. It is an http.Handler; Close ends its event streams.
type API struct {
	store    paged
	cursors  *cursors
	catalog  *catalog.Catalog
	operator Operator

	acceptance func(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error)

	alerts   *notify.Notifier
	settings Settings
	identity Identity
	health   func(context.Context) Health
	starting func(context.Context) string
	trouble  func() error
	months   func(context.Context, pipeline.ID, int) ([]Month, error)
	tail     func(context.Context, run.Run) (string, bool, error)
	expand   func(job.Attempt, *pipeline.Job) (job.Attempt, error)
	now      func() time.Time
	logger   *slog.Logger

	keys     atomic.Pointer[keys]
	sessions *sessions
	guesses  *guesses
	codes    codeChecks
	auditor  auditor
	origins  *http.CrossOriginProtection
	ids      *ids
	metrics  *metrics
	ledger   *trend.Ledger
	p90s     p90s
	streams  *streams
	closing  context.Context // Close cancels it
	close    context.CancelFunc
	quotas   *quotas
	permits  Callbacks

	bodies, jobBodies budget // the memory for request bodies, and for those of workers and jobs
	logins            budget // the same for those of clients that are not known yet

	waits  *waits
	intake *ingest.Intake
	mux    *http.ServeMux
}

// New returns an API over d.
func New(d Deps) *API {
	a := &API{
		cursors: newCursors(d.CursorKey), catalog: d.Catalog, operator: d.Operator, alerts: d.Alerts, settings: d.Settings.withDefaults(), identity: d.Identity, health: d.Health, starting: d.Starting, trouble: d.Trouble, months: d.Months, tail: d.Tail, expand: d.Expand,
		now: d.Now, logger: d.Logger,
		guesses: newGuesses(), codes: newCodeChecks(), origins: http.NewCrossOriginProtection(), ids: newIDs(), ledger: trend.NewLedger(d.Store), mux: http.NewServeMux(),
	}
	a.keys.Store(newKeys(d.Settings.Tokens))
	a.p90s.kept = map[pipeline.ID]keptP90{}
	a.permits = a.settings.Callbacks.ephemeral()
	a.waits = newWaits(a, d.GatePace)
	a.sessions = &sessions{store: d.Store, oidc: d.Settings.OIDC, lifetime: a.settings.SessionLifetime, idle: a.settings.SessionIdle}
	a.auditor.log = d.Audit
	a.store = paged{d.Store, a.cursors}
	if a.acceptance = d.AcceptRemoval; a.acceptance == nil {
		a.acceptance = d.Catalog.AcceptRemoval
	}
	if a.health == nil {
		a.health = func(context.Context) Health { return Health{Ready: true} }
	}
	if a.trouble == nil {
		a.trouble = func() error { return nil }
	}
	registry := d.Metrics
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	a.bodies.size, a.jobBodies.size, a.logins.size = bodyBudget, jobBudget, loginBudget
	a.metrics = newMetrics(registry)
	a.countBodies(registry)
	a.closing, a.close = context.WithCancel(context.Background())
	a.streams = &streams{max: a.settings.MaxStreams, maxPerToken: a.settings.StreamsPerToken, openByToken: map[string]int{}, closing: a.closing}
	a.quotas = newQuotas(a.settings.Limits, d.Store, d.Logger)
	a.quotas.register(registry, a.now)
	a.intake = ingest.New(d.Store, d.Catalog, a.settings.MaxFuture)
	a.routes(newHuma(a.mux))
	a.ingestRoutes()
	a.mux.HandleFunc(putPattern, a.putSensor)
	a.mux.HandleFunc("GET "+streamPath, a.stream)
	a.mux.HandleFunc("GET /healthz", a.healthz)
	a.mux.HandleFunc("GET /readyz", a.readyz)
	a.mux.HandleFunc("GET /openapi.json", a.describe)
	a.mux.HandleFunc("GET "+IdentityPath, a.proveIdentity)
	a.mux.Handle("GET /metrics", a.guarded(RoleViewer, figures(registry, d.PipelineMetrics)))
	a.mux.Handle("/", a.otherwise(d.Dashboard))
	return a
}

// routes registers all operations that their Go types describe; openapi.go describes the others.
func (a *API) routes(h huma.API) {
	a.sensorRoutes(h)
	a.pipelineRoutes(h)
	a.runRoutes(h)
	a.operatorRoutes(h)
	a.workerRoutes(h)
	a.eventRoutes(h)
	a.alertRoutes(h)
	a.silenceRoutes(h)
	a.trendRoutes(h)
	a.sessionRoutes(h)
	a.auditRoutes(h)
	a.sourceRoutes(h)
}

// serve passes an accepted request to its handler. Responses to reads carry an ETag, except
// streams.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	if !reads(r) || r.URL.Path == streamPath || !underPrefix(r.URL.Path) {
		a.mux.ServeHTTP(w, r)
		return
	}
	t := &tagged{ResponseWriter: w}
	a.mux.ServeHTTP(t, r)
	t.send(r)
}

// guarded serves a request only if its client has the role.
func (a *API) guarded(role Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := whoOf(r.Context()).may(role, ""); p != nil {
			p.write(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// entry returns the pipeline with that id, or a Problem if it is not active. A pipeline unknown
// here may have just been stored, perhaps by another replica, so entry asks the store before it
// returns a 404.
func (a *API) entry(ctx context.Context, id pipeline.ID) (*catalog.Entry, *Problem) {
	if e := a.catalog.Current().Get(id); e != nil {
		return e, nil
	}
	e, row, err := a.catalog.Active(ctx, id)
	switch {
	case err != nil:
		return nil, problemOf(err)
	case e == nil:
		return nil, a.notActive(ctx, id, row)
	}
	return e, nil
}

// notActive returns the Problem for a pipeline that is not active; row is its row in the store.
func (a *API) notActive(ctx context.Context, id pipeline.ID, row store.Pipeline) *Problem {
	switch {
	case row.Problem != "":
		first := row.Problems()[0] + andMore(len(row.Problems()))
		return problem(http.StatusNotFound, unknownPipeline, "pipeline %.140q is not active, since its file was rejected: %.1000s; correct the file", id, first)
	case !row.RemovedAt.IsZero():
		return problem(http.StatusNotFound, unknownPipeline, "pipeline %.140q is not active: its file was removed at %s; restore the file", id, period.Stamp(row.RemovedAt))
	}
	return a.noPipeline(ctx, id)
}

// Close ends the event streams and the requests that wait for a gate: both would otherwise delay
// the server's shutdown.
func (a *API) Close() { a.close() }

// Flush stores the activity of sources that is not stored yet. Call it after the last request.
func (a *API) Flush(ctx context.Context) error { return a.intake.Flush(ctx, a.now()) }
