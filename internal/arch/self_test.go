package arch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// imports makes a Go file that imports the given packages; ours are given by their folder.
func imports(paths ...string) []byte {
	var b strings.Builder
	b.WriteString("package p\n\n")
	for _, p := range paths {
		if layerOf(p) != "" || strings.HasPrefix(p, "internal/") {
			p = module + "/" + p
		}
		b.WriteString("import _ \"" + p + "\"\n")
	}
	return []byte(b.String())
}

// body makes a Go file with an import and a function body that uses it.
func body(imported, statement string) []byte {
	return []byte("package p\n\nimport " + imported + "\n\nfunc f() {\n" + statement + "\n}\n")
}

func TestEachRuleCanBeBroken(t *testing.T) {
	broken := map[string]struct {
		file string
		src  []byte
		want string // part of the one report
	}{
		"unlisted package":                 {"internal/helpers/a.go", imports("fmt"), "has no room"},
		"unlisted folder two levels deep":  {"internal/job/glue/sub/a.go", imports("fmt"), "has no room"},
		"import of an unlisted package":    {"internal/router/a.go", imports("internal/helpers"), "has no room"},
		"decider imports a later one":      {"internal/rule/a.go", imports("internal/pipeline"), "before them"},
		"document is not alone":            {"internal/document/a.go", imports("internal/period"), "stands on its own"},
		"period is not alone":              {"internal/period/a.go", imports("internal/document"), "stands on its own"},
		"decider imports a contract":       {"internal/pipeline/a.go", imports("internal/job"), "sees only decide"},
		"decider imports an adapter":       {"internal/pipeline/a.go", imports("internal/files"), "sees only decide"},
		"decider imports all job types":    {"internal/pipeline/a.go", imports("internal/job/all"), "sees only decide"},
		"contract imports its adapter":     {"internal/job/a.go", imports("internal/job/glue"), "sees only decide"},
		"handler imports an adapter":       {"internal/router/a.go", imports("internal/store/sqlite"), "of layer adapter"},
		"handler imports a host":           {"internal/router/a.go", imports("internal/engine"), "of layer host"},
		"handler imports the sinks":        {"internal/router/a.go", imports("internal/sink"), "only internal/notify"},
		"adapters of one contract":         {"internal/store/redis/a.go", imports("internal/store/memory"), "never import each other"},
		"adapters of two contracts":        {"internal/job/command/a.go", imports("internal/store/sqlite"), "never import each other"},
		"kit imports an adapter":           {"internal/job/rest/a.go", imports("internal/job/http"), "of layer adapter"},
		"handler imports a kit":            {"internal/router/a.go", imports("internal/job/rest"), "of layer kit"},
		"adapter imports a handler":        {"internal/evaluator/a.go", imports("internal/router"), "of layer handle"},
		"adapter imports a suite":          {"internal/store/redis/a.go", imports("internal/store/storetest"), "of layer suite"},
		"engine decides on rules":          {"internal/engine/a.go", imports("internal/rule"), "only waits"},
		"engine decides on schedules":      {"internal/engine/a.go", imports("internal/schedule"), "only waits"},
		"lambda decides on deadlines":      {"internal/awslambda/a.go", imports("internal/sla"), "only waits"},
		"lambda decides on reruns":         {"internal/awslambda/a.go", imports("internal/rerun"), "only waits"},
		"host imports a host":              {"internal/sim/a.go", imports("internal/engine"), "of layer host"},
		"host imports a face":              {"internal/engine/a.go", imports("internal/api"), "of layer face"},
		"client imports one of ours":       {"client/a.go", imports("internal/run"), "stands on its own"},
		"face imports an adapter":          {"internal/api/a.go", imports("internal/store/sqlite"), "of layer adapter"},
		"anything imports a command":       {"internal/api/a.go", imports("cmd/interlock"), "of layer command"},
		"AWS in a decider":                 {"internal/rule/a.go", imports("github.com/aws/aws-sdk-go-v2/aws"), "AWS SDK"},
		"AWS in another store":             {"internal/store/redis/a.go", imports("github.com/aws/aws-sdk-go-v2/aws"), "AWS SDK"},
		"AWS in the contract of jobs":      {"internal/job/a.go", imports("github.com/aws/aws-sdk-go-v2/aws"), "AWS SDK"},
		"decider reads files":              {"internal/pipeline/a.go", imports("os"), "may not import os"},
		"decider runs programs":            {"internal/pipeline/a.go", imports("os/exec"), "may not import os/exec"},
		"decider dials":                    {"internal/rule/a.go", imports("net"), "may not import net"},
		"decider speaks HTTP":              {"internal/rule/a.go", imports("net/http"), "may not import net/http"},
		"decider logs":                     {"internal/run/a.go", imports("log/slog"), "may not import log/slog"},
		"decider queries":                  {"internal/run/a.go", imports("database/sql"), "may not import database/sql"},
		"decider reads the clock":          {"internal/sla/a.go", body(`"time"`, "time.Now()"), "time.Now"},
		"decider reads a renamed clock":    {"internal/sla/a.go", body(`clock "time"`, "clock.Since(x)"), "time.Since"},
		"decider passes the clock on":      {"internal/sla/a.go", body(`"time"`, "now := time.Now\n_ = now"), "time.Now"},
		"decider counts down":              {"internal/sla/a.go", body(`"time"`, "_ = time.Until(x)"), "time.Until"},
		"decider sleeps":                   {"internal/sla/a.go", body(`"time"`, "time.Sleep(1)"), "time.Sleep"},
		"decider reads the machine's zone": {"internal/sla/a.go", body(`"time"`, "_ = x.In(time.Local)"), "time.Local"},
		"decider hides the clock":          {"internal/sla/a.go", body(`. "time"`, "Now()"), "with a dot"},
		"decider rolls dice":               {"internal/rerun/a.go", body(`"math/rand/v2"`, "_ = rand.IntN(3)"), "rand.IntN"},
		"decider starts a goroutine":       {"internal/rule/a.go", body(`"fmt"`, "go fmt.Println()"), "goroutines"},
		"decider starts a group":           {"internal/rule/a.go", body(`"sync"`, "var g sync.WaitGroup\ng.Go(f)"), "goroutines"},
		"test of a decider reads the time": {"internal/sla/a_test.go", body(`"time"`, "time.Now()"), "time.Now"},
		"test of a decider looks up":       {"internal/rule/a_test.go", imports("internal/pipeline"), "before them"},
		"test of a handler on SQLite":      {"internal/router/a_test.go", imports("internal/store/sqlite"), "of layer adapter"},
		"dials past the guard":             {"internal/sink/slack/a.go", body(`"net"`, `net.Dial("tcp", x)`), "may not use net.Dial"},
		"makes a dialer":                   {"internal/job/glue/a.go", body(`"net"`, "_ = net.Dialer{}"), "may not use net.Dialer"},
		"looks up by itself":               {"internal/evaluator/a.go", body(`"net"`, "net.LookupHost(x)"), "may not use net.LookupHost"},
		"uses everybody's client":          {"internal/evaluator/a.go", body(`"net/http"`, "http.DefaultClient.Do(r)"), "may not use net/http.DefaultClient"},
		"gets with everybody's client":     {"cmd/interlock/a.go", body(`web "net/http"`, "web.Get(x)"), "may not use net/http.Get"},
		"makes a client":                   {"internal/sink/webhook/a.go", body(`"net/http"`, "_ = &http.Client{}"), "may not use net/http.Client"},
		"makes a client by new":            {"internal/sink/webhook/a.go", body(`"net/http"`, "_ = new(http.Client)"), "may not use net/http.Client"},
		"declares a client":                {"internal/sink/webhook/a.go", body(`"net/http"`, "var c http.Client\n_ = c"), "may not use net/http.Client"},
		"makes a transport":                {"internal/api/a.go", body(`"net/http"`, "_ = &http.Transport{}"), "may not use net/http.Transport"},
		"dials with TLS":                   {"internal/sink/email/a.go", body(`"crypto/tls"`, "tls.Dial(a, b, c)"), "may not use crypto/tls.Dial"},
		"sends mail past the guard":        {"internal/sink/email/a.go", body(`"net/smtp"`, "smtp.SendMail(a)"), "may not use net/smtp.SendMail"},
		"hides a dialer":                   {"internal/evaluator/a.go", body(`. "net"`, "Dial(a, b)"), "with a dot"},
		"library nobody has looked at":     {"internal/archive/a.go", imports("example.com/new/driver"), "whether it connects"},
		"library in the wrong place":       {"internal/sink/webhook/a.go", imports("github.com/slack-go/slack"), "only internal/sink/slack may"},
		"AWS set up by a job type":         {"internal/job/glue/a.go", imports("github.com/aws/aws-sdk-go-v2/config"), "only internal/job/awsapi"},
		"file that is not Go":              {"internal/rule/a.go", []byte("pakcage rule"), "parse internal/rule/a.go"},
	}
	for name, c := range broken {
		t.Run(name, func(t *testing.T) {
			got := check(map[string][]byte{c.file: c.src})
			if len(got) != 1 || !strings.Contains(got[0], c.want) || !strings.Contains(got[0], c.file) {
				t.Errorf("want one report on %s that says %q, got %q", c.file, c.want, got)
			}
		})
	}
}

func TestWhatTheDesignAllowsPasses(t *testing.T) {
	allowed := map[string][]byte{
		"internal/document/a.go":             imports("encoding/json", "github.com/goccy/go-yaml"),
		"internal/pipeline/a.go":             imports("internal/document", "internal/rule", "internal/sla", "net/url", "net/netip"),
		"internal/pipeline/load.go":          body(`"sync"`, "var g sync.WaitGroup\ng.Go(f)\ngo f()"),
		"internal/pipeline/examples_test.go": imports("internal/pipeline", "internal/job/all", "os"),
		"internal/rule/a_test.go":            body(`"sync"`, "go f()"),
		"internal/rerun/a.go":                body(`"math/rand/v2"`, "_ = rand.New(rand.NewPCG(1, 2))"),
		"internal/lifecycle/a.go":            body(`"time"`, "_ = time.Hour\n_ = x.Now()"),
		"internal/store/a.go":                imports("internal/run", "internal/event"),
		"internal/store/storetest/a.go":      imports("internal/store", "internal/run"),
		"internal/store/dynamo/a.go":         imports("internal/store", "github.com/aws/aws-sdk-go-v2/aws", "os"),
		"internal/store/dynamo/a_test.go":    imports("internal/store/dynamo", "internal/store/storetest"),
		"internal/job/glue/a.go":             imports("internal/job", "internal/document", "github.com/aws/aws-sdk-go-v2/aws"),
		"internal/job/all/a.go":              imports("internal/job", "internal/job/glue", "internal/job/http"),
		"internal/files/a.go":                imports("internal/pipeline", "os"),
		"internal/sink/webhook/a.go":         body(`"net/http"`, "var c *http.Client\nvar t *http.Transport\nc.Do(http.NewRequest(a, b, nil))"),
		"internal/sink/webhook/a_test.go":    body(`"net/http"`, "http.Get(x)"),
		"internal/sink/email/a.go":           body(`"crypto/tls"`, "tls.Client(conn, &tls.Config{})"),
		"internal/egress/a.go":               body(`"net"`, "_ = net.Dialer{}"),
		"client/a.go":                        body(`"net/http"`, "_ = &http.Client{}"),
		"internal/orchestrator/a.go":         imports("internal/lifecycle", "internal/rule", "internal/store", "internal/job"),
		"internal/orchestrator/a_test.go":    imports("internal/store/memory"),
		"internal/engine/a.go":               imports("internal/lifecycle", "internal/router", "internal/store/sqlite", "time"),
		"internal/api/a.go":                  imports("internal/store", "internal/engine", "net/http"),
		"cmd/interlock/main.go":              imports("internal/api", "internal/files", "internal/job/all", "internal/rule"),
		"cmd/lambda/watchdog/main.go":        imports("internal/awslambda"),
		"internal/event/eventdoc/main.go":    imports("internal/event", "os"),
		"bench/main.go":                      imports("internal/rule", "internal/files", "os"),
	}
	if diff := cmp.Diff([]string(nil), check(allowed)); diff != "" {
		t.Errorf("refused what the design allows (-want +got):\n%s", diff)
	}
}

func TestReportsComeInOrderOfPathWithTheirLine(t *testing.T) {
	got := check(map[string][]byte{
		"internal/sla/b.go": imports("os"),
		"internal/sla/a.go": imports("fmt", "os", "log"),
	})
	want := []string{
		"internal/sla/a.go:4: internal/sla decides and may not import os: take what it needs as a value",
		"internal/sla/a.go:5: internal/sla decides and may not import log: take what it needs as a value",
		"internal/sla/b.go:3: internal/sla decides and may not import os: take what it needs as a value",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryListedRoomHasKnownNeighbours(t *testing.T) {
	for dir, l := range rooms {
		if mayImport[l] == nil {
			t.Errorf("%s has layer %q, for which mayImport has no line", dir, l)
		}
		if orderOf(dir) >= 0 {
			t.Errorf("%s is both a deciding package and of layer %s", dir, l)
		}
	}
	for _, u := range unseen {
		for _, dir := range append(append([]string(nil), u.from...), u.to...) {
			if layerOf(dir) == "" {
				t.Errorf("a rule names %s, which has no room", dir)
			}
		}
	}
	for dir := range mayConnect {
		if layerOf(dir) == "" {
			t.Errorf("mayConnect names %s, which has no room", dir)
		}
	}
	for library, l := range foreign {
		for _, dir := range l.rooms {
			if layerOf(dir) == "" {
				t.Errorf("%s names %s, which has no room", library, dir)
			}
		}
	}
	for _, dir := range awsRooms {
		if layerOf(dir) == "" {
			t.Errorf("the AWS rule names %s, which has no room", dir)
		}
	}
}
