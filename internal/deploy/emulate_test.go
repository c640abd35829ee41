package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// emulated is an AWS on this machine: moto, and in front of it what moto lacks. A call of a function
// runs the program of the zip file that Terraform uploaded, in the environment that it set.
type emulated struct {
	*httptest.Server
	t  testing.TB
	mu sync.Mutex
	of map[string]*uploaded // by region and name

	reader map[string]string // by id of an event source mapping: the function, with its alias
}

// uploaded is a function as Terraform has created it.
type uploaded struct {
	Code        struct{ ZipFile []byte }
	Environment struct{ Variables map[string]string }

	DeadLetterConfig json.RawMessage
	KMSKeyArn        string
}

// newEmulated starts moto, or skips the test where it is not installed.
func newEmulated(t testing.TB) *emulated {
	t.Helper()
	name, err := exec.LookPath("moto_server")
	if err != nil {
		t.Skip("moto_server is not on the PATH: pip install 'moto[server]==5.2.5'")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address := free.Addr().String()
	check(t, free.Close())
	host, port, err := net.SplitHostPort(address)
	check(t, err)
	server := exec.Command(name, "-H", host, "-p", port)
	check(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	to := &url.URL{Scheme: "http", Host: address}
	until(t, "moto answers", func() bool {
		answer, err := http.Post(to.String()+"/moto-api/config", "application/json", strings.NewReader(`{"lambda": {"use_docker": false}}`))
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode < 300
	})
	e := &emulated{t: t, of: map[string]*uploaded{}, reader: map[string]string{}}
	behind := httputil.NewSingleHostReverseProxy(to)
	behind.ModifyResponse = e.complete
	e.Server = httptest.NewServer(e.before(behind))
	t.Cleanup(e.Close)
	return e
}

// until waits for a condition, for a minute at most.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if holds() {
			return
		}
		<-tick.C
	}
	t.Fatalf("%s: not within a minute", what)
}

var (
	functionPath = regexp.MustCompile(`^/2015-03-31/functions(?:/([^/]+)(?:/(invocations|code|configuration))?)?$`)
	credential   = regexp.MustCompile(`Credential=[^/]+/[0-9]+/([a-z0-9-]+)/`)
)

// lacking is what Terraform asks Step Functions and moto does not know.
var lacking = map[string]string{
	"ValidateStateMachineDefinition": `{"result": "OK", "diagnostics": []}`,
	"ListStateMachineVersions":       `{"stateMachineVersions": []}`,
}

// before answers what moto does not, and hands everything else to it.
func (e *emulated) before(moto http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if answer := lacking[operation]; answer != "" {
			fmt.Fprint(w, answer)
			return
		}
		if found := functionPath.FindStringSubmatch(r.URL.Path); found != nil && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
			region := regionOf(r)
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if found[2] == "invocations" {
				name, _, _ := strings.Cut(found[1], ":") // the alias
				e.invoke(w, region, name, body)
				return
			}
			e.upload(region, found[1], body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		if strings.HasPrefix(r.URL.Path, "/2015-03-31/event-source-mappings") && r.Body != nil {
			body, _ := io.ReadAll(r.Body) // a cut request is no JSON
			var in struct{ FunctionName string }
			if json.Unmarshal(body, &in) == nil {
				r.Header.Set(readerHeader, in.FunctionName)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		r.Header.Del("Accept-Encoding")
		moto.ServeHTTP(w, r)
	})
}

// complete adds to moto's answers what AWS would have kept, so that a second plan sees no change:
// where failed calls of a function go, its key, and the alias that reads a stream. AWS also writes
// JSON without spaces.
func (e *emulated) complete(answer *http.Response) error {
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	r := answer.Request
	switch {
	case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetQueueAttributes"):
		body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte(`\": `), []byte(`\":`)), []byte(`\", \"`), []byte(`\",\"`))
	case functionPath.MatchString(r.URL.Path) && r.Method == http.MethodGet:
		body = e.withSettings(r, body)
	case strings.HasPrefix(r.URL.Path, "/2015-03-31/event-source-mappings"):
		body = e.withAlias(r, body)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// withSettings adds DeadLetterConfig and KMSKeyArn to the configuration of a function.
func (e *emulated) withSettings(r *http.Request, body []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.of[regionOf(r)+"/"+functionPath.FindStringSubmatch(r.URL.Path)[1]]
	var whole map[string]any
	if f == nil || json.Unmarshal(body, &whole) != nil {
		return body
	}
	settings, nested := whole["Configuration"].(map[string]any)
	if !nested {
		settings = whole
	}
	settings["KMSKeyArn"] = f.KMSKeyArn
	if len(f.DeadLetterConfig) > 0 {
		settings["DeadLetterConfig"] = f.DeadLetterConfig
	}
	body, _ = json.Marshal(whole) // it was JSON
	return body
}

// withAlias remembers which alias a mapping was created for.
func (e *emulated) withAlias(r *http.Request, body []byte) []byte {
	var m map[string]any
	if json.Unmarshal(body, &m) != nil || m["UUID"] == nil {
		return body
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	id := fmt.Sprint(m["UUID"])
	if asked := r.Header.Get(readerHeader); asked != "" {
		e.reader[id] = asked
	}
	if name := e.reader[id]; name != "" {
		m["FunctionArn"] = name
	}
	body, _ = json.Marshal(m) // it was JSON
	return body
}

// readerHeader carries the function of a new mapping to withAlias.
const readerHeader = "X-Reader"

func regionOf(r *http.Request) string {
	return credential.FindStringSubmatch(r.Header.Get("Authorization"))[1]
}

// upload remembers the code and the environment of a function.
func (e *emulated) upload(region, name string, body []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var in struct {
		FunctionName string
		ZipFile      []byte
		uploaded
	}
	if err := json.Unmarshal(body, &in); err != nil {
		e.t.Errorf("a function that is no JSON: %v", err)
	}
	key := region + "/" + in.FunctionName + name
	f := e.of[key]
	if f == nil {
		f = &uploaded{}
		e.of[key] = f
	}
	if code := append(in.Code.ZipFile, in.ZipFile...); len(code) > 0 {
		f.Code.ZipFile = code
	}
	// Terraform sends only the settings that change.
	if in.Environment.Variables != nil {
		f.Environment = in.Environment
	}
	if in.DeadLetterConfig != nil {
		f.DeadLetterConfig = in.DeadLetterConfig
	}
	if in.KMSKeyArn != "" {
		f.KMSKeyArn = in.KMSKeyArn
	}
}
