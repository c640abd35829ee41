//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The objects of requests. Tokens that are limited to ours-* see the first ones only.
var (
	own        = object{"own", "ours-ext", "2026-03-02"}     // a worker has claimed its run
	endedRun   = object{"ended", "ours-ext", "2026-03-01"}   // its attempt has ended
	working    = object{"working", "ours-job", "2026-03-02"} // its job is running
	otherRun   = object{"other", "ours-ext", "2026-03-03"}   // a worker has claimed its run, too
	missing    = object{"missing", "ours-none", "2026-03-02"}
	bare       = object{"without a job", "ours-bare", "2026-03-02"}
	daily      = object{"with a schedule", "ours-daily", "2026-03-02"}
	everything = object{"all", "", "2026-03-02"}
	foreign    = object{"foreign", "vault-ext", "2026-03-02"}
	nowhere    = object{"foreign and missing", "vault-none", "2026-03-02"}
	vaultIDs   = regexp.MustCompile(`vault-(ext|none|source)`)
)

// object is a run, or all pipelines if it has no pipeline.
type object struct{ name, pipeline, date string }

func (o object) hidden() bool { return strings.HasPrefix(o.pipeline, "vault-") }

// operation is one operation of openapi.json, and what docs/SECURITY.md says about it.
type operation struct {
	id, method, path string
	filters          bool // it has a query parameter pipeline
	grants           []grant
}

// grant is one entry of the table of operations: what the client needs, what the operation is about,
// and which pipelines it is limited to.
type grant struct{ needs, about, only string }

// The columns of the table, and those of its rows that are not roles.
const (
	aboutOne, aboutVisible, aboutAll = "one pipeline", "the visible ones", "all pipelines"

	needsNothing, needsPath, needsPermit, needsCallback = "nothing", "sensor, in the path", "permit", "callback token"
)

// documented returns the table of operations in docs/SECURITY.md.
func documented(t *testing.T) map[string][]grant {
	t.Helper()
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{aboutOne, aboutVisible, aboutAll}
	head := "| Needs | About " + strings.Join(columns, " | About ") + " |\n"
	_, table, found := strings.Cut(string(text), head)
	if !found {
		t.Fatalf("docs/SECURITY.md has no table %q", head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	grants := map[string][]grant{}
	for _, row := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		for i, about := range columns {
			for _, name := range regexp.MustCompile("`([a-z-]+)`(?: \\(([a-z ]+)\\))?").FindAllStringSubmatch(cells[i+1], -1) {
				grants[name[1]] = append(grants[name[1]], grant{strings.TrimSpace(cells[0]), about, name[2]})
			}
		}
	}
	return grants
}

// operations returns all operations of the server's own description, reads first and those that end
// a run last.
func (m *matrix) operations() []operation {
	m.Helper()
	var described struct {
		Paths map[string]map[string]struct {
			ID         string                  `json:"operationId"`
			Parameters []struct{ Name string } `json:"parameters"`
		} `json:"paths"`
	}
	status, body := m.ask(caller{}, http.MethodGet, "/openapi.json", "")
	if err := json.Unmarshal([]byte(body), &described); err != nil || status != http.StatusOK {
		m.Fatalf("the description: %d %v", status, err)
	}
	var list []operation
	grants := documented(m.T)
	for path, methods := range described.Paths {
		for method, d := range methods {
			op := operation{id: d.ID, method: strings.ToUpper(method), path: path, grants: grants[d.ID]}
			for _, p := range d.Parameters {
				op.filters = op.filters || p.Name == "pipeline" && !strings.Contains(path, "{pipeline}")
			}
			if len(op.grants) == 0 {
				m.Errorf("docs/SECURITY.md does not say which role may use %s", op.id)
			}
			delete(grants, op.id)
			list = append(list, op)
		}
	}
	for name := range grants {
		m.Errorf("docs/SECURITY.md lists the operation %s, which does not exist", name)
	}
	slices.SortFunc(list, func(a, b operation) int {
		return strings.Compare(a.order()+a.id, b.order()+b.id)
	})
	return list
}

func (op operation) order() string {
	switch {
	case op.id == "report" || op.id == "cancel":
		return "3"
	case op.method == http.MethodGet || op.method == http.MethodHead:
		return "1"
	}
	return "2"
}

// takes reports whether a request of the operation can name that object.
func (op operation) takes(o object) bool {
	about := func(what string) bool {
		return slices.ContainsFunc(op.grants, func(g grant) bool { return g.about == what })
	}
	switch o.name {
	case "all":
		return (about(aboutAll) || about(aboutVisible)) && !strings.Contains(op.path, "{source}")
	case "own", "foreign":
		return about(aboutOne) || about(aboutVisible) && op.filters || strings.Contains(op.path, "{source}")
	}
	return about(aboutOne)
}

// ruling is what the documentation says about a request.
type ruling string

const (
	allowed ruling = "allowed" // neither 401 nor 403
	denied  ruling = "denied"  // 401 or 403
	over    ruling = "over"    // 409: the attempt has ended
	unknown ruling = "unknown" // 404, as if there were nothing: the path has a token
)

// want returns the documented ruling about a request.
func (op operation) want(c caller, o object) ruling {
	if c.invalid && !op.inPath() {
		return denied
	}
	for _, g := range op.grants {
		if v := g.want(c, o, op); v != denied && v != unknown {
			return v
		}
	}
	if op.inPath() {
		return unknown
	}
	return denied
}

func (op operation) inPath() bool { return strings.Contains(op.path, "{token}") }

func (g grant) want(c caller, o object, op operation) ruling {
	switch g.needs {
	case needsNothing:
		return allowed
	case needsPermit, needsCallback:
		switch {
		case c.kind != g.needs || c.attempt != o:
			return denied
		case o == endedRun:
			return over
		}
		return allowed
	case needsPath:
		if c.role != "sensor" || c.secret == "" || c.limited && o.hidden() && g.about == aboutOne {
			return unknown
		}
		return allowed
	}
	without := g.only == "a pipeline without a job" && (o == own || o == foreign || o == daily) || g.only == "a pipeline without a schedule" && o == daily
	if without || !includes(c.role, g.needs) || c.limited && g.about == aboutAll || c.limited && o.hidden() && (g.about == aboutOne || op.filters) {
		return denied
	}
	return allowed
}

// includes reports whether a role may do what needs the other: each includes the roles above it, except
// that a runner cannot write readings.
func includes(role, needs string) bool {
	roles := []string{"viewer", "sensor", "runner", "operator", "admin"}
	has, wants := slices.Index(roles, role), slices.Index(roles, needs)
	return has >= 0 && wants >= 0 && has >= wants && !(role == "runner" && needs == "sensor")
}

// is reports whether an answer is what v says.
func (v ruling) is(status int) bool {
	switch v {
	case denied:
		return status == http.StatusUnauthorized || status == http.StatusForbidden
	case over:
		return status == http.StatusConflict
	case unknown:
		return status == http.StatusNotFound
	}
	return status != http.StatusUnauthorized && status != http.StatusForbidden && status < http.StatusInternalServerError
}

// TestMatrixOfAccess sends each operation of the API, as each kind of client, about its own pipelines,
// those of others, missing ones and all, and compares the answers with docs/SECURITY.md. No answer to
// a limited client names a pipeline of others or shows whether one exists, and none of its requests
// changes them.
func TestMatrixOfAccess(t *testing.T) {
	m := newMatrix(t)
	operations := m.operations()
	before, compared, sent := m.foreignState(), false, 0
	for _, c := range m.clients() {
		if c.strong() && !compared {
			if after := m.foreignState(); after != before {
				t.Errorf("pipelines of others have changed\nfrom %s\nto   %s", before, after)
			}
			compared = true
		}
		for _, op := range operations {
			objects := slices.DeleteFunc([]object{own, everything, foreign, missing, nowhere, bare, daily, endedRun, otherRun, working}, func(o object) bool {
				ofJobs := o == working || o == endedRun || o == otherRun
				return !op.takes(o) || ofJobs && c.kind == ""
			})
			for _, o := range objects {
				m.judge(c, op, o)
				sent++
			}
		}
		m.outside(c)
	}
	if m.names < 15 {
		t.Errorf("only %d answers to clients that see all pipelines name those of others: the test looks at too little", m.names)
	}
	t.Logf("%d requests", sent)
}

// judge sends one request and compares its answer with the documentation.
func (m *matrix) judge(c caller, op operation, o object) {
	m.Helper()
	status, body := m.request(c, op, o)
	if want := op.want(c, o); !want.is(status) {
		m.Errorf("%s, %s of %s: want %s, got %d %.300s", c.name, op.id, o.name, want, status, body)
	}
	if c.sees() {
		if strings.Contains(body, "vault") {
			m.names++
		}
		return
	}
	if o.hidden() { // the answer may repeat the name that the request has
		body = vaultIDs.ReplaceAllString(body, "ID")
	}
	if strings.Contains(body, "vault") {
		m.Errorf("%s, %s of %s: the answer names pipelines of others: %.2000s", c.name, op.id, o.name, body)
	}
	if o == foreign && op.takes(nowhere) {
		if _, other := m.request(c, op, nowhere); anonymised(body) != anonymised(other) {
			m.Errorf("%s, %s: the answer shows whether a pipeline of others exists:\n%s\n%s", c.name, op.id, body, other)
		}
	}
}

var requestIDs = regexp.MustCompile(`"requestId":"[^"]*"`)

func anonymised(body string) string {
	return requestIDs.ReplaceAllString(vaultIDs.ReplaceAllString(body, "ID"), "")
}

// outside requests paths that no operation has. None shows a client what it may not see.
func (m *matrix) outside(c caller) {
	m.Helper()
	for _, path := range []string{
		"/", "/index.html", "/runs/vault-ext", "/pipelines", "/assets/none.js", "/debug/pprof/", "/debug/vars", "/metrics/", "/readyz/", "/ping", "/in", "/.git/config",
		"/api", "/api/v1", "/api/v1/", "/api/v1/none", "/api/v2/runs", "/api/v1/runs/", "//api/v1/runs", "/api//v1/runs", "/api/v1/../v1/runs", "/x/../api/v1/runs",
		"/API/v1/runs", "/%61pi/v1/runs", "/api%2Fv1%2Fruns", "/api/v1/pipelines/ours-ext%2F..%2Fvault-ext", "/api/v1/runs;x=1", "/api/v1/runs?pipeline=ours-ext&pipeline=vault-ext",
		"/api/v1/events/stream?pipeline=vault-ext", "/api/v1/pipelines/VAULT-EXT", "/api/v1/pipelines/vault-ext%00",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodTrace} {
			status, body := m.ask(c, method, path, "")
			body = vaultIDs.ReplaceAllString(strings.ToLower(body), "ID")
			if !c.sees() && strings.Contains(body, "vault") || c.role == "" && strings.Contains(body, "ours-ext") && !strings.Contains(path, "ours") ||
				strings.Contains(body, "goroutine") || status >= http.StatusInternalServerError && status != http.StatusNotImplemented {
				m.Errorf("%s, %s %s: %d %.300s", c.name, method, path, status, body)
			}
		}
	}
}
