package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/interlock-go/interlock/internal/api"
)

// description is api/openapi.json; it validates every response that a test gets.
var description = sync.OnceValues(func() (*judge, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI()))
	if err != nil {
		return nil, err
	}
	j := &judge{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	j.paths = doc.(map[string]any)["paths"].(map[string]any)
	return j, j.compiler.AddResource("openapi.json", doc)
})

type judge struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	paths    map[string]any
	schemas  map[string]*jsonschema.Schema
}

// template returns the described path that matches a request's path: the one with the most fixed
// parts.
func (j *judge) template(path string) string {
	parts := strings.Split(path, "/")
	best, fixed := "", -1
	for _, t := range slices.Sorted(maps.Keys(j.paths)) {
		names := strings.Split(t, "/")
		if len(names) != len(parts) {
			continue
		}
		n := 0
		for i, name := range names {
			if name == parts[i] {
				n++
			} else if !strings.HasPrefix(name, "{") {
				n = -1 << 10
			}
		}
		if n > fixed {
			best, fixed = t, n
		}
	}
	return best
}

// check returns an error if a response does not match the description.
func (j *judge) check(method, path string, status int, contentType string, body []byte) error {
	template := j.template(path)
	described, _ := j.paths[template].(map[string]any)
	operation, _ := described[strings.ToLower(method)].(map[string]any)
	if operation == nil {
		return nil // no body
	}
	responses := operation["responses"].(map[string]any)
	which := fmt.Sprint(status)
	if responses[which] == nil {
		which = "default"
	}
	media, _, _ := strings.Cut(contentType, ";")
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace
	at := fmt.Sprintf("openapi.json#/paths/%s/%s/responses/%s/content/%s/schema", escape(template), strings.ToLower(method), which, escape(media))
	schema, err := j.schema(at)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (j *judge) schema(at string) (*jsonschema.Schema, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.schemas[at]; s != nil {
		return s, nil
	}
	s, err := j.compiler.Compile(at)
	j.schemas[at] = s
	return s, err
}

// judged fails the test unless a response matches the description.
func (r reply) judged(method, path string) reply {
	r.Helper()
	path, _, _ = strings.Cut(path, "?")
	kind := r.header.Get("Content-Type")
	if !strings.Contains(kind, "json") || len(r.body) == 0 {
		return r
	}
	j, err := description()
	r.Check(err)
	if err := j.check(method, path, r.status, kind, r.body); err != nil {
		r.Errorf("%s %s does not match the description: %v\n%s", method, path, err, r.body)
	}
	return r
}

func TestCheckedInDescriptionIsFresh(t *testing.T) {
	file, err := os.ReadFile("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, api.OpenAPI()) {
		t.Error("api/openapi.json does not match the Go types; run make generate")
	}
}

func TestDescriptionIsServed(t *testing.T) {
	w := newWorld(t)
	got := w.get("/openapi.json")
	if got.status != 200 || !bytes.Equal(got.body, api.OpenAPI()) {
		t.Errorf("got %d %.200s", got.status, got.body)
	}
}

func TestEveryPathOfTheContractIsDescribed(t *testing.T) {
	var doc struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(api.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("openapi is %q", doc.OpenAPI)
	}
	const run = "/api/v1/runs/{pipeline}/{schedule}/{date}"
	for path, methods := range map[string]string{
		"/api/v1/pipelines/{id}/sensors/{key}": "put get", "/api/v1/sensors": "post", "/api/v1/pipelines": "get", "/api/v1/pipelines/{id}": "get",
		"/api/v1/pipelines/{id}/gate": "get", "/api/v1/pipelines/{id}/explain": "get", "/api/v1/pipelines/{id}/pause": "post",
		"/api/v1/pipelines/{id}/resume": "post", "/api/v1/runs": "get post", run: "get", run + "/reruns": "post", run + "/cancel": "post",
		run + "/job": "post", "/api/v1/deadlines": "get", "/api/v1/events": "get", "/api/v1/events/stream": "get", "/api/v1/timeline": "get",
		"/api/v1/silences": "get post", "/api/v1/silences/{silence}": "delete", "/api/v1/alerts/routes": "get", "/api/v1/alerts/dead": "get",
		"/api/v1/alerts/dead/retry": "post", "/api/v1/alerts/test": "post",
		"/healthz": "get", "/readyz": "get", "/metrics": "get", "/openapi.json": "get",
	} {
		for _, method := range strings.Fields(methods) {
			if doc.Paths[path][method] == nil {
				t.Errorf("%s %s is not described", method, path)
			}
		}
	}
}

// described has the parts of an operation that the tests below need.
type described struct {
	OperationID string                `json:"operationId"`
	Description string                `json:"description"`
	Tags        []string              `json:"tags"`
	Security    []map[string][]string `json:"security"`
	RequestBody struct {
		Content map[string]struct {
			Example json.RawMessage `json:"example"`
		} `json:"content"`
	} `json:"requestBody"`
}

// operations lists the operations by method and path.
func operations(t *testing.T) (servers []struct{ URL string }, tags map[string]bool, all map[string]described) {
	t.Helper()
	var doc struct {
		Servers []struct{ URL string }
		Tags    []struct{ Name, Description string }
		Paths   map[string]map[string]described
	}
	if err := json.Unmarshal(api.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	tags, all = map[string]bool{}, map[string]described{}
	for _, tag := range doc.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			all[strings.ToUpper(method)+" "+path] = op
		}
	}
	return doc.Servers, tags, all
}

func TestDescriptionHasServersSecurityTagsAndExamples(t *testing.T) {
	servers, tags, all := operations(t)
	if len(servers) == 0 {
		t.Error("no servers")
	}
	ids := map[string]string{}
	for at, op := range all {
		if ids[op.OperationID] != "" {
			t.Errorf("%s and %s are both named %s", at, ids[op.OperationID], op.OperationID)
		}
		ids[op.OperationID] = at
		if len(op.Security) != 1 || !strings.Contains(op.Description, "Needs ") || strings.Contains(op.Description, "role none") {
			t.Errorf("%s does not say what it needs: %q, %v", at, op.Description, op.Security)
		}
		for _, tag := range op.Tags {
			if !tags[tag] {
				t.Errorf("%s has the tag %s, which is not described", at, tag)
			}
		}
		for media, content := range op.RequestBody.Content {
			if strings.HasSuffix(media, "/json") && content.Example == nil {
				t.Errorf("%s has no example of its body", at)
			}
		}
	}
}

func TestBodyExamplesMatchTheirSchemas(t *testing.T) {
	j, err := description()
	if err != nil {
		t.Fatal(err)
	}
	_, _, all := operations(t)
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace
	for at, op := range all {
		method, path, _ := strings.Cut(at, " ")
		for media, content := range op.RequestBody.Content {
			if content.Example == nil {
				continue
			}
			schema, err := j.schema(fmt.Sprintf("openapi.json#/paths/%s/%s/requestBody/content/%s/schema", escape(path), strings.ToLower(method), escape(media)))
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content.Example))
			if err == nil {
				err = schema.Validate(value)
			}
			if err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
	problem, err := j.schema("openapi.json#/components/schemas/Problem")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas struct{ Problem struct{ Examples []any } }
		}
	}
	if err := json.Unmarshal(api.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, example := range doc.Components.Schemas.Problem.Examples {
		if err := problem.Validate(example); err != nil {
			t.Error(err)
		}
	}
}

// TestDescribedRolesMatchTheServer calls every operation with a token of each role, and without a
// token.
func TestDescribedRolesMatchTheServer(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) {
		for r := api.RoleViewer; r <= api.RoleAdmin; r++ {
			d.Settings.Tokens = append(d.Settings.Tokens, api.Token{Name: r.String(), Role: r, Secret: r.String() + "-0123456789"})
		}
	})
	fill := strings.NewReplacer("{id}", "orders", "{pipeline}", "orders", "{key}", "landed", "{schedule}", "manual", "{date}", "2026-03-03",
		"{version}", "none", "{silence}", "none", "{source}", "none")
	_, _, all := operations(t)
	for at, op := range all {
		method, path, _ := strings.Cut(at, " ")
		if strings.HasPrefix(path, "/ping/") || strings.HasPrefix(path, "/in/") {
			continue // their token is in the path
		}
		body := bytes.ReplaceAll(op.RequestBody.Content["application/json"].Example, []byte("TOKEN"), []byte("viewer-0123456789"))
		call := func(token string) (int, string) {
			r, err := http.NewRequestWithContext(t.Context(), method, w.server.URL+fill.Replace(path), bytes.NewReader(body))
			w.Check(err)
			r.Header.Set("Content-Type", "application/json")
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			answer, err := transport.RoundTrip(r)
			w.Check(err)
			defer answer.Body.Close()
			var problem struct{ Detail string }
			if answer.StatusCode == http.StatusForbidden {
				w.Check(json.NewDecoder(answer.Body).Decode(&problem))
			}
			return answer.StatusCode, problem.Detail
		}
		status, _ := call("")
		if public := len(op.Security[0]) == 0; public == (status == http.StatusUnauthorized) {
			t.Errorf("%s without a token: %d, described as %v", at, status, op.Security)
		}
		_, rest, ok := strings.Cut(op.Description, "Needs the role ")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		needed, err := api.ParseRole(name)
		w.Check(err)
		for r := api.RoleViewer; r <= api.RoleAdmin; r++ {
			status, detail := call(r.String() + "-0123456789")
			rejected := status == http.StatusForbidden && strings.Contains(detail, "this needs the role "+name)
			if may := r >= needed && !(r == api.RoleRunner && needed == api.RoleSensor); may == rejected {
				t.Errorf("%s needs the role %s; with %s: %d %s", at, name, r, status, detail)
			}
		}
	}
}
