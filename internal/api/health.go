package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/client"
)

// Health is the state of the controller.
type Health struct {
	Ready  bool
	Checks []client.HealthCheck
}

// Why joins the details of the checks that failed.
func (h Health) Why() string {
	var why []string
	for _, c := range h.Checks {
		if !c.OK {
			why = append(why, c.Name+": "+c.Detail)
		}
	}
	return strings.Join(why, "; ")
}

// Unreadiness is the response of /readyz while the controller is not ready: a Problem with the
// checks.
type Unreadiness struct {
	Problem
	Checks []client.HealthCheck `json:"checks" doc:"The checks. Empty if the server requires a token and the request has none, or if the token is limited to pipelines."`
}

// healthz reports that the process is running.
func (a *API) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
}

// readyz reports whether the controller keeps up. The checks name pipelines, so two kinds of
// clients do not get them: those without a token on a server that requires one, and tokens that are
// limited to pipelines.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	h := a.health(r.Context())
	checks := h.Checks
	if who := whoOf(r.Context()); checks == nil || who.role < RoleViewer || !who.unlimited() {
		checks = []client.HealthCheck{}
	}
	if h.Ready {
		writeJSON(w, http.StatusOK, "application/json", client.Readiness{Status: "ready", Checks: checks})
		return
	}
	p := problem(http.StatusServiceUnavailable, notReady, "the controller is not ready")
	for _, c := range checks {
		if !c.OK {
			p.at(c.Name, c.Detail)
		}
	}
	if why := (Health{Checks: checks}).Why(); why != "" {
		p.Detail += ": " + why
	}
	p.place(r.Context())
	w.Header().Set("Retry-After", "5")
	writeJSON(w, p.Status, problemType, Unreadiness{Problem: *p, Checks: checks})
}

// checkStarted returns a Problem while the controller has not read its files. Health checks are
// answered meanwhile.
func (a *API) checkStarted(r *http.Request) *Problem {
	if a.starting == nil || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		return nil
	}
	if far := a.starting(r.Context()); far != "" {
		return problem(http.StatusServiceUnavailable, notReady, "the controller is starting: %s", far).with("Retry-After", "5")
	}
	return nil
}

// writeJSON writes v as the response.
func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // every type of this package has a JSON form
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have disconnected
}
