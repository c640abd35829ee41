package deploy

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
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
				e.invoke(w, region, found[1], body)
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
// where failed calls of a function go, and the alias that reads a stream. AWS also writes JSON
// without spaces.
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
		body = e.withDeadLetters(r, body)
	case strings.HasPrefix(r.URL.Path, "/2015-03-31/event-source-mappings"):
		body = e.withAlias(r, body)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// withDeadLetters adds DeadLetterConfig to the configuration of a function.
func (e *emulated) withDeadLetters(r *http.Request, body []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.of[regionOf(r)+"/"+functionPath.FindStringSubmatch(r.URL.Path)[1]]
	if f == nil || len(f.DeadLetterConfig) == 0 {
		return body
	}
	return bytes.Replace(body, []byte(`"FunctionName":`), append(append([]byte(`"DeadLetterConfig": `), f.DeadLetterConfig...), `, "FunctionName":`...), 1)
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
	if in.Environment.Variables != nil {
		f.Environment, f.DeadLetterConfig = in.Environment, in.DeadLetterConfig
	}
}

// invoke runs a function for one call, as Lambda does.
func (e *emulated) invoke(w http.ResponseWriter, region, name string, call []byte) {
	e.mu.Lock()
	f := e.of[region+"/"+name]
	e.mu.Unlock()
	if f == nil {
		http.Error(w, `{"Type": "User", "Message": "no such function"}`, http.StatusNotFound)
		return
	}
	answer, err := f.run(e.t, region, e.URL, call)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer, _ = json.Marshal(map[string]string{"errorMessage": err.Error()})
	}
	_, _ = w.Write(answer) // Terraform reports a cut answer
}

// run starts the program in the zip file, gives it one call through the runtime API and returns its
// answer.
func (u *uploaded) run(t testing.TB, region, aws string, call []byte) ([]byte, error) {
	program, err := u.unzip(t.TempDir())
	if err != nil {
		return nil, err
	}
	answers, asked := make(chan []byte, 1), make(chan struct{}, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/invocation/next") {
			body, _ := io.ReadAll(r.Body) // a cut answer is no JSON
			w.WriteHeader(http.StatusAccepted)
			answers <- body
			return
		}
		select {
		case asked <- struct{}{}:
		default:
			<-r.Context().Done() // there is no second call
			return
		}
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:"+region+":123456789012:function:f")
		_, _ = w.Write(call)
	}))
	defer api.Close()
	cmd := exec.Command(program)
	cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + api.Listener.Addr().String(), "AWS_ENDPOINT_URL=" + aws, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}
	for name, value := range u.Environment.Variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case body := <-answers:
		err := cmd.Process.Kill()
		<-ended
		return body, err
	case err := <-ended:
		return nil, fmt.Errorf("the function ended: %w: %s", err, said.String())
	}
}

func (u *uploaded) unzip(dir string) (string, error) {
	z, err := zip.NewReader(bytes.NewReader(u.Code.ZipFile), int64(len(u.Code.ZipFile)))
	if err != nil {
		return "", err
	}
	from, err := z.Open("bootstrap")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "bootstrap")
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return name, errors.Join(err, to.Close())
}
