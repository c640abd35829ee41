package api

import (
	"net/http"
	"strings"
)

// methods are the methods that routes use, in the order in which Allow lists them.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// otherwise returns the handler of requests without a route: 405 if the path has routes for other
// methods, or else the dashboard outside the API, which may be nil, or else 404.
func (a *API) otherwise(dashboard http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allow := a.allowed(r)
		if len(allow) == 0 && dashboard != nil && !underPrefix(r.URL.Path) {
			dashboard.ServeHTTP(w, r)
			return
		}
		r.Pattern = "" // no route, for the metrics
		if len(allow) == 0 {
			a.noRoute(r).write(w, r)
			return
		}
		p := standardProblem(r, http.StatusMethodNotAllowed, strings.Join(allow, ", "))
		if sensorBelow(r.URL.Path) {
			p.Detail += "; " + keyHint
		}
		p.write(w, r)
	})
}

// allowed returns the methods that the path of a request has routes for.
func (a *API) allowed(r *http.Request) []string {
	var allow []string
	for _, method := range methods {
		try := *r
		try.Method = method
		if _, pattern := a.mux.Handler(&try); pattern != "/" {
			allow = append(allow, method)
		}
	}
	return allow
}

// noRoute returns the Problem for a path without routes.
func (a *API) noRoute(r *http.Request) *Problem {
	path, slash := strings.CutSuffix(r.URL.Path, "/")
	without := *r
	url := *r.URL
	url.Path, url.RawPath = path, strings.TrimSuffix(url.RawPath, "/")
	without.URL = &url
	if slash && len(a.allowed(&without)) > 0 {
		return problem(http.StatusNotFound, plainKind, "unknown path; remove the / at its end")
	}
	return noPath(r)
}

// noPath returns the Problem for an unknown path.
func noPath(r *http.Request) *Problem {
	if sensorBelow(r.URL.Path) {
		return problem(http.StatusNotFound, plainKind, "unknown path; %s", keyHint)
	}
	return problem(http.StatusNotFound, plainKind, "unknown path; /openapi.json lists all paths")
}

const keyHint = "in a sensor's key, write / as %2F and # as %23"

// sensorBelow reports whether a path continues below a sensor's key, as one does whose key has an
// unescaped slash.
func sensorBelow(path string) bool {
	rest, ok := strings.CutPrefix(path, prefix+"/pipelines/")
	if !ok {
		return false
	}
	_, key, ok := strings.Cut(rest, "/sensors/")
	return ok && strings.Contains(key, "/")
}
