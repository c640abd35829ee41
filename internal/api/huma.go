package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// schemaPrefix starts the references to schemas of types.
const schemaPrefix = "#/components/schemas/"

// newHuma returns a huma API on mux. It serves no pages of its own: this package serves the
// description, and nothing is loaded from other sites.
func newHuma(mux *http.ServeMux) huma.API {
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Interlock", Version: "1",
				Description: "Write sensor readings, query gates, and open, rerun and cancel runs. Errors are RFC 9457 problems. " +
					"Lists return {items, nextCursor}, newest first. Every documented key is present, even if it is null or false.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "A token from the server's file. A server without tokens, on a loopback address, requires none."},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	})
}

// route is one operation of the API.
type route struct {
	method  string
	path    string // below the prefix
	name    string // of the operation
	summary string
	tag     string
	role    Role   // the least role that may use it
	needs   string // what a client needs, if not just the role
	public  bool   // needs no token
	status  int    // on success; 200 by default
	patient bool   // may take longer than other requests
	small   int64  // the most bytes of its body, if it is about one run or pipeline; 0 means maxBody
	ofJobs  bool   // workers and jobs use it: its bodies have their own budget

	recorded bool // in the audit record, whatever its role

	// proves rejects a request whose headers and path do not prove that it may use the route, if
	// that takes more than the role.
	proves func(a *API, ctx context.Context, of OfRun) error
}

// patience is how long a patient route may take. Package client waits a little longer for these.
const patience = 10 * time.Minute

// operation returns the route as a huma operation.
func (rt route) operation() huma.Operation {
	needs, security := rt.needs, needsToken
	switch {
	case rt.public:
		needs, security = needsNothing, needsNoToken
	case needs == "":
		needs = needsRole(rt.role)
	}
	return huma.Operation{
		Method: rt.method, Path: prefix + rt.path, OperationID: rt.name, Summary: rt.summary, Tags: []string{rt.tag},
		Description: needs, DefaultStatus: rt.status, MaxBodyBytes: rt.body(nil).bytes + 1, BodyReadTimeout: bodyTime,
		Security:    security,
		Middlewares: huma.Middlewares{rt.let},
	}
}

// The requirements of a route, as security schemes of the description.
var (
	needsToken   = []map[string][]string{{"bearer": {}}}
	needsNoToken = []map[string][]string{{}}
)

const needsNothing = "Needs no token."

func needsRole(r Role) string { return "Needs the role " + r.String() + "." }

// let rejects clients that may not use the route for the pipeline in its path.
func (rt route) let(ctx huma.Context, next func(huma.Context)) {
	id := ctx.Param("id")
	if id == "" {
		id = ctx.Param("pipeline")
	}
	r, w := humago.Unwrap(ctx)
	c := callOf(r.Context())
	if p := rt.check(c, pipeline.ID(id), OfRun{id, ctx.Param("schedule"), ctx.Param("date")}); p != nil {
		if rt.audits() {
			c.api.recordRefusal(c, rt.name, c.api.auditor.rejected.of(c.who.name), p)
		}
		p.write(w, r)
		return
	}
	// curl sends this by default; huma would take it literally.
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		r.Header.Set("Content-Type", "application/json")
	}
	control := http.NewResponseController(w)
	c.limit(r, rt.body(c.api))
	c.body.control = control // huma sets a deadline for every body
	if rt.patient {
		// Without a connection, as in a test's recorder, there is no deadline either.
		_ = control.SetWriteDeadline(time.Now().Add(patience))
		_ = control.SetReadDeadline(time.Now().Add(patience)) // after this deadline the request counts as cancelled
	}
	next(ctx)
}

// check returns a Problem if a client may not use the route. It needs no body.
func (rt route) check(c *call, id pipeline.ID, of OfRun) *Problem {
	if p := c.who.may(rt.role, id); p != nil || rt.proves == nil {
		return p
	}
	if err := rt.proves(c.api, c, of); err != nil {
		return problemOf(err)
	}
	return nil
}

// body returns what the body of a request may be; without an API, without its budget.
func (rt route) body(a *API) bodyRule {
	rule := bodyRule{bytes: maxBody, values: maxValues}
	if rt.small > 0 {
		rule.bytes, rule.values = rt.small, maxFewValues
	}
	if rt.patient {
		rule.time = patience
	}
	if a != nil {
		rule.from = &a.bodies
	}
	if a != nil && rt.ofJobs {
		rule.from = &a.jobBodies
	}
	if a != nil && rt.public {
		rule.from = &a.logins
	}
	return rule
}

// output is a response that has only a body.
type output[T any] struct{ Body T }

func answer[T any](body T) *output[T] { return &output[T]{Body: body} }

// register adds a route. Every error that its handler returns becomes a Problem.
func register[I, O any](h huma.API, rt route, handle func(context.Context, *I) (*O, error)) {
	if rt.audits() {
		handle = recording(rt, handle)
	}
	registerAs(h, rt.operation(), handle)
}

func registerAs[I, O any](h huma.API, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			p := problemOf(err)
			p.place(ctx)
			return nil, p
		}
		return out, nil
	})
}

// patiently marks a route that may take longer than others.
func (rt route) patiently() route {
	rt.patient = true
	return rt
}

// briefly marks a route whose requests are small.
func (rt route) briefly() route {
	rt.small = maxRequest
	return rt
}

// get and post return routes with that method.
func get(path, name, tag, summary string) route {
	return route{method: http.MethodGet, path: path, name: name, tag: tag, summary: summary, role: RoleViewer}
}

func post(path, name, tag, summary string) route {
	return route{method: http.MethodPost, path: path, name: name, tag: tag, summary: summary, role: RoleOperator}
}
