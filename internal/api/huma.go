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

	recorded bool // in the audit record, whatever its role
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
		Description: needs, DefaultStatus: rt.status, MaxBodyBytes: maxBody + 1,
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
	if p := whoOf(r.Context()).may(rt.role, pipeline.ID(id)); p != nil {
		if c := callOf(r.Context()); rt.audits() {
			c.api.recordRefusal(c, rt.name, &c.api.auditor.rejected, p)
		}
		p.write(w, r)
		return
	}
	// curl sends this by default; huma would take it literally.
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Body = &shallow{ReadCloser: r.Body}
	if rt.patient {
		// Without a connection, as in a test's recorder, there is no deadline either.
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(patience))
		_ = control.SetReadDeadline(time.Now().Add(patience)) // after this deadline the request counts as cancelled
	}
	next(ctx)
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

// get and post return routes with that method.
func get(path, name, tag, summary string) route {
	return route{method: http.MethodGet, path: path, name: name, tag: tag, summary: summary, role: RoleViewer}
}

func post(path, name, tag, summary string) route {
	return route{method: http.MethodPost, path: path, name: name, tag: tag, summary: summary, role: RoleOperator}
}
