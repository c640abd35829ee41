//go:build unix

package main

import (
	"fmt"
	"net/http"
	"strings"
)

// caller is one kind of client.
type caller struct {
	name    string
	role    string
	limited bool   // to ours-*
	invalid bool   // what it presents is wrong, so each of its requests is rejected
	secret  string // its bearer token
	cookie  string // its session
	cert    string // its certificate
	kind    string // needsPermit or needsCallback
	attempt object // that its permit or callback token is for
}

// sees reports whether the caller may see the pipelines of others.
func (c caller) sees() bool { return c.role != "" && !c.limited }

// strong reports whether the caller may change the pipelines of others.
func (c caller) strong() bool { return c.sees() && c.role != "viewer" }

// clients returns one client of each kind, those that may change least first.
func (m *matrix) clients() []caller {
	m.Helper()
	list := []caller{
		{name: "anonymous"},
		{name: "unknown token", secret: secretOf("nobody"), invalid: true},
		{name: "forged cookie", cookie: secretOf("session")},
		{name: "certificate without an entry", cert: "stranger"},
		{name: "permit", secret: m.permits[own], kind: needsPermit, attempt: own},
		{name: "permit of an ended attempt", secret: m.permits[endedRun], kind: needsPermit, attempt: endedRun},
		{name: "permit of another run", secret: m.permits[otherRun], kind: needsPermit, attempt: otherRun},
		{name: "forged permit", secret: strings.Replace(m.permits[own], "_1_", "_2_", 1), kind: needsPermit},
		{name: "permit as callback token", secret: strings.Replace(m.permits[own], "ilpm_", "ilcb_", 1), kind: needsCallback},
		{name: "callback token as permit", secret: strings.Replace(m.callback, "ilcb_", "ilpm_", 1), kind: needsPermit},
		{name: "callback token", secret: m.callback, kind: needsCallback, attempt: working},
		{name: "limited certificate", cert: "limited", role: "viewer", limited: true},
		{name: "session that was logged out", cookie: m.loggedOut("viewer")},
		{name: "limited session", cookie: m.login("limited-viewer"), role: "viewer", limited: true},
	}
	for _, role := range matrixRoles[:4] {
		list = append(list, caller{name: "limited " + role, secret: secretOf("limited-" + role), role: role, limited: true})
	}
	list = append(list, caller{name: "session", cookie: m.login("viewer"), role: "viewer"})
	for _, role := range matrixRoles {
		list = append(list, caller{name: role, secret: secretOf(role), role: role})
	}
	return append(list, caller{name: "certificate", cert: "cert", role: "operator"})
}

// login returns the cookie of a new session of a token.
func (m *matrix) login(token string) string {
	m.Helper()
	resp := m.do(caller{}, http.MethodPost, "/api/v1/session", fmt.Sprintf(`{"token":%q}`, secretOf(token)))
	resp.Body.Close()
	if len(resp.Cookies()) != 1 || !resp.Cookies()[0].Secure || !resp.Cookies()[0].HttpOnly {
		m.Fatalf("the login: %s %v", resp.Status, resp.Cookies())
	}
	return resp.Cookies()[0].Value
}

func (m *matrix) loggedOut(token string) string {
	m.Helper()
	cookie := m.login(token)
	if status, body := m.ask(caller{cookie: cookie}, http.MethodDelete, "/api/v1/session", ""); status != http.StatusNoContent {
		m.Fatalf("the logout: %d %s", status, body)
	}
	return cookie
}
