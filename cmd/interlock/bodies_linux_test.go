package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
)

var floodAll = flag.Bool("flood", false, "TestFloodOfBodies floods every route, with 200 clients, and asserts how long others wait")

const (
	floodGrowth = 256 << 10 // kB of memory above that of the idle server
	floodWait   = time.Second
)

const floodConfig = `auth:
  tokens:
    - {name: ops, role: operator, tokenEnv: OPS_TOKEN}
    - {name: flood, role: sensor, tokenEnv: FLOOD_TOKEN}
    - {name: other, role: sensor, tokenEnv: OTHER_TOKEN}
sources: [./sources]
`

const floodSources = `source: {id: queue, owner: tests, format: json}
each: {path: $.text, decode: json}
match: [{path: $.x, exists: true}]
write: [{pipeline: orders, key: flooded, fields: {x: {path: $.x}}}]
`

// flood is a server with clients that send the largest bodies they can.
type flood struct {
	*daemon
	clients int
	permit  string
	written int             // readings of another client
	waits   []time.Duration // how long each took
}

// door is a route, as one kind of client uses it.
type door struct{ method, path, token string }

// TestFloodOfBodies sends the worst bodies to a server from many clients at once, with and without
// a token. The server's memory stays bounded, nobody else's reading is lost, and a job that sends
// heartbeats stays alive.
func TestFloodOfBodies(t *testing.T) {
	g := newGround(t, builtBinary(t), floodConfig)
	g.env = append(g.env, "OPS_TOKEN=ops-0123456789abcdef", "FLOOD_TOKEN=flood-0123456789abcdef", "OTHER_TOKEN=other-0123456789abcdef")
	g.token = "ops-0123456789abcdef"
	g.pipeline("orders", "")
	g.pipeline("nightly", "job: {type: external, config: {heartbeat: 2m}}\n")
	if err := os.Mkdir(g.path("sources"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.write("sources/queue.yaml", floodSources)
	f := &flood{daemon: g.start(), clients: 50}
	if *floodAll {
		f.clients = 200
	}
	f.claim()
	for range 50 {
		f.other()
	}
	f.Logf("without a flood, the slowest of %d readings took %s", f.written, slices.Max(f.waits))
	f.waits = nil
	idle := f.memory("VmRSS:")
	f.resetPeak()
	other := f.others()
	for _, d := range f.doors() {
		f.attack(d)
	}
	if *floodAll {
		f.attackSlowly()
	}
	other()
	if grown := f.memory("VmHWM:") - idle; grown > floodGrowth {
		t.Errorf("the memory grew from %d kB by %d kB; at most %d kB are allowed", idle, grown, floodGrowth)
	} else {
		t.Logf("the memory grew from %d kB by %d kB", idle, grown)
	}
}

// claim opens a run and claims it, as a worker does.
func (f *flood) claim() {
	f.Helper()
	until(f.T, "the run", func() bool {
		_, err := f.api.Trigger(f.Context(), client.TriggerRequest{Pipeline: "nightly", Date: "2026-03-02"})
		return err == nil
	})
	key, err := client.ParseRunKey("nightly/manual/2026-03-02")
	if err != nil {
		f.Fatal(err)
	}
	until(f.T, "the claim", func() bool {
		c, err := f.api.Claim(f.Context(), key, "worker-1")
		f.permit = c.Permit
		return err == nil
	})
}

// memory returns a figure of the server's memory in kB.
func (f *flood) memory(name string) int {
	f.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.cmd.Process.Pid))
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name); found {
			n, _ := strconv.Atoi(strings.Fields(rest)[0]) // the kernel writes numbers
			return n
		}
	}
	f.Fatalf("no %s in %s", name, text)
	return 0
}

// resetPeak makes VmHWM start anew. It is not allowed everywhere; the peak of the start then counts.
func (f *flood) resetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", f.cmd.Process.Pid), []byte("5"), 0)
}

// other writes a reading as another client, and sends a heartbeat of a worker. It returns whether
// both were accepted.
func (f *flood) other() bool {
	began := time.Now()
	reading := door{"PUT", "/api/v1/pipelines/orders/sensors/steady", "other-0123456789abcdef"}
	status, text := f.send(reading, strings.NewReader(fmt.Sprintf(`{"n":%d}`, f.written+1)), "")
	f.waits = append(f.waits, time.Since(began))
	if status != http.StatusOK {
		f.Errorf("a reading of another client was answered with %d %s", status, text)
		return false
	}
	f.written++
	beat := door{"POST", "/api/v1/runs/nightly/manual/2026-03-02/heartbeat", f.permit}
	if status, text = f.send(beat, strings.NewReader(`{"output":"`+strings.Repeat("x", 30_000)+`"}`), ""); status != http.StatusOK {
		f.Errorf("a heartbeat was answered with %d %s", status, text)
		return false
	}
	return true
}

// others does that until the function that it returns is called. That fails the test if a reading
// took too long, or is lost.
func (f *flood) others() (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for accepted := true; accepted; {
			select {
			case <-stop:
				return
			default:
				accepted = f.other()
			}
		}
	}()
	return func() {
		close(stop)
		<-done
		got, err := f.api.Sensor(f.Context(), "orders", "steady", "")
		if err != nil || fmt.Sprint(got.Data["n"]) != strconv.Itoa(f.written) {
			f.Errorf("%d readings were acknowledged, and the server has %v: %v", f.written, got.Data, err)
		}
		slowest := slices.Max(f.waits)
		f.Logf("%d readings, the slowest took %s", len(f.waits), slowest)
		if *floodAll && slowest > floodWait {
			f.Errorf("a reading took %s", slowest)
		}
	}
}

var floodClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}, Timeout: time.Minute}

// send sends a request and returns the answer; 0 if the server closed the connection before it had
// read the body.
func (f *flood) send(d door, body io.Reader, encoding string) (int, string) {
	r, err := http.NewRequest(d.method, f.url+d.path, body)
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	if d.token != "" {
		r.Header.Set("Authorization", "Bearer "+d.token)
	}
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	answer, err := floodClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 500)) // for the message only
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, string(text)
}

// doors returns the routes to attack: all that have a body, with the client that may do most, and
// the ones that anyone can reach.
func (f *flood) doors() []door {
	f.Helper()
	some := []door{
		{"POST", "/api/v1/session", ""},
		{"POST", "/api/v1/runs/nightly/manual/2026-03-02/job", "ilcb_1_other_AAAA"},
		{"POST", "/api/v1/sensors", "flood-0123456789abcdef"},
		{"POST", "/api/v1/ingest/queue", "flood-0123456789abcdef"},
	}
	if !*floodAll {
		return some
	}
	var described struct {
		Paths map[string]map[string]struct {
			RequestBody json.RawMessage `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(api.OpenAPI(), &described); err != nil {
		f.Fatal(err)
	}
	paths := strings.NewReplacer("{id}", "orders", "{pipeline}", "orders", "{schedule}", "manual", "{date}", "2026-03-04",
		"{key}", "wide", "{token}", "flood-0123456789abcdef", "{source}", "queue", "{silence}", "s-1", "{signal}", "0")
	all := append(some, door{"POST", "/api/v1/runs/nightly/manual/2026-03-02/job", f.permit}, door{"POST", "/api/v1/runs/nightly/manual/2026-03-02/heartbeat", f.permit})
	for path, operations := range described.Paths {
		for method, op := range operations {
			if op.RequestBody != nil {
				all = append(all, door{strings.ToUpper(method), paths.Replace(path), ""}, door{strings.ToUpper(method), paths.Replace(path), f.token})
			}
		}
	}
	return all
}

// worst returns bodies of which each costs the most in one way.
func worst() (plain, packed [][]byte) {
	list := func(of string, n int) string { return "[" + strings.TrimSuffix(strings.Repeat(of, n), ",") + "]" }
	for _, size := range []int{4 << 10, 64 << 10, 512 << 10, 1 << 20} {
		plain = append(plain, []byte(list("[],", (size-2)/3)), []byte(list(`{"a":1},`, (size-2)/8)))
	}
	text := func(n int) []byte {
		inner, _ := json.Marshal(`{"x":1,"y":` + list(`{"a":1},`, n) + `}`) // a string has a JSON form
		return fmt.Appendf(nil, `{"text":%s}`, inner)
	}
	plain = append(plain, []byte(list(`{"a":1},`, 49_900)), []byte(list("[],", 99_900)), []byte(`{"a":`+list("1,", 32_000)+`}`), text(12_000), text(60_000),
		[]byte(`{"text":"`+strings.Repeat("x", 1<<20-100)+`"}`))
	for _, body := range []string{list(`{"a":1},`, 49_900), `{"text":"` + strings.Repeat("x", 8<<20-100) + `"}`, strings.Repeat(" ", 8<<20), list(`{"a":1},`, 1<<20-1)} {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write([]byte(body)) // to memory
		_ = w.Close()
		packed = append(packed, out.Bytes())
	}
	return plain, packed
}

var worstBodies = sync.OnceValue(func() [2][][]byte {
	plain, packed := worst()
	return [2][][]byte{plain, packed}
})

// attack sends the worst bodies to a door, from all clients at once.
func (f *flood) attack(d door) {
	f.Helper()
	plain, packed := worstBodies()[0], worstBodies()[1]
	seen := map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range f.clients {
		wg.Go(func() {
			body, encoding := plain[i%len(plain)], ""
			if n := i % (len(plain) + len(packed)); n >= len(plain) {
				body, encoding = packed[n-len(plain)], "gzip"
			}
			status, text := f.send(d, bytes.NewReader(body), encoding)
			mu.Lock()
			defer mu.Unlock()
			if seen[status]++; status == http.StatusInternalServerError {
				f.Errorf("%s %s: %s", d.method, d.path, text)
			}
		})
	}
	wg.Wait()
	f.Logf("%s %s (%.5s): %v, peak %d kB", d.method, d.path, d.token, seen, f.memory("VmHWM:"))
}

// attackSlowly opens connections that send most of a body and then nothing. They must not keep the
// budget: another client's batch is accepted within the time that a body may take.
func (f *flood) attackSlowly() {
	f.Helper()
	u, err := url.Parse(f.url)
	if err != nil {
		f.Fatal(err)
	}
	for range f.clients {
		conn, err := (&net.Dialer{}).DialContext(f.Context(), "tcp", u.Host)
		if err != nil {
			f.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/v1/sensors HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer flood-0123456789abcdef\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n[%s", strings.Repeat(" ", 900_000))
	}
	ctx, cancel := context.WithTimeout(f.Context(), 15*time.Second)
	defer cancel()
	batch := `[{"pipeline":"orders","key":"batch","data":{"x":"` + strings.Repeat("x", 60_000) + `"}},{"pipeline":"orders","key":"batch2","data":{"x":"` + strings.Repeat("x", 60_000) + `"}}]`
	for {
		status, text := f.send(door{"POST", "/api/v1/sensors", "other-0123456789abcdef"}, strings.NewReader(batch), "")
		if status == http.StatusOK {
			return
		}
		if ctx.Err() != nil {
			f.Fatalf("slow clients keep the batch of another out: %d %s", status, text)
		}
	}
}
