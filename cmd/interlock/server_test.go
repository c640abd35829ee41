package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/settings"
)

// TestMain lets the test binary run as a command keeper, like the real binary, for controllers
// inside the test process.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == command.KeeperArg {
		os.Exit(command.Keep())
	}
	if guards(os.Args[1:]) {
		return
	}
	// A shell that starts tests in the background makes them, and all programs they start, ignore
	// interrupts.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	os.Exit(m.Run())
}

// site is the configuration of a controller in a test.
type site struct {
	pipelines map[string]string // text by file name
	sources   map[string]string // likewise; there is no directory if it is empty
	config    string            // additional lines of the server's file
	env       map[string]string // the server's environment
	data      string            // the data directory; a new one if ""
	breaking  *breaking         // wraps the controller's store, if set
}

// service is a controller that runs in the test process.
type service struct {
	t         *testing.T
	c         *controller
	address   string
	data      string
	pipelines string            // the directory of the pipeline files
	env       map[string]string // of the commands that connect to it
	breaking  *breaking
	stop      func()
}

// serve starts a controller that stops when the test ends.
func serve(t *testing.T, p site) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{t: t, data: p.data, pipelines: filepath.Join(dir, "pipelines"), breaking: p.breaking}
	if s.data == "" {
		s.data = filepath.Join(dir, "data")
	}
	if err := os.Mkdir(s.pipelines, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range p.pipelines {
		s.write(name, text)
	}
	file, problems := settings.Parse("interlock.yaml", []byte("listen: 127.0.0.1:0\n"+p.config))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	file.Data = settings.Data{Dir: s.data, Reserve: 1 << 20}
	folders := engine.Folders{Pipelines: []string{s.pipelines}}
	if p.sources != nil {
		folders.Sources = []string{filepath.Join(dir, "sources")}
		if err := os.Mkdir(folders.Sources[0], 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range p.sources {
			s.write("../sources/"+name, text)
		}
	}
	s.start(file, folders, p.env)
	return s
}

// serveStarter serves the project that init wrote to the current directory, as `interlock serve`
// would, on any free address.
func serveStarter(t *testing.T) *service {
	t.Helper()
	a := &app{stderr: io.Discard}
	file, err := a.serverFile("", a.printProblem)
	if err != nil {
		t.Fatal(err)
	}
	flags := serveFlags{listen: "127.0.0.1:0"}
	folders := flags.override(&file)
	s := &service{t: t, data: file.Data.Dir, pipelines: folders.Pipelines[0]}
	s.start(file, folders, nil)
	return s
}

func (s *service) start(file settings.File, folders engine.Folders, env map[string]string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	getenv := func(name string) string {
		if value, ok := env[name]; ok {
			return value
		}
		return os.Getenv(name)
	}
	c, err := newController(ctx, file, folders, surroundings{getenv: getenv, logger: slog.New(slog.DiscardHandler), between: s.between})
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	s.c, s.address = c, c.address()
	s.env = map[string]string{"INTERLOCK_SERVER": s.address, "USER": "ann"}
	done := make(chan error, 1)
	go func() { done <- c.run(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("stop the controller: %v", err)
		}
		s.stop = func() {}
	}
	s.t.Cleanup(func() { s.stop() })
}

// between wraps the store in breaking, if set.
func (s *service) between(r records) records {
	if b := s.breaking; b != nil {
		b.Store = r.Store
		r.Store, r.trouble, r.probe = b, b.trouble, func(context.Context) error { return b.trouble() }
	}
	return r
}

// write creates or replaces a pipeline file. The service sees all of it or nothing.
func (s *service) write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.pipelines, name)
	if err := os.WriteFile(file+".part", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(file+".part", file); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command that connects to the service.
func (s *service) run(args ...string) result { return call{args: args, env: s.env}.run() }

// must is like run, but fails the test unless the command exits with that code.
func (s *service) must(code int, args ...string) result {
	s.t.Helper()
	got := s.run(args...)
	if got.code != code {
		s.t.Fatalf("interlock %s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), got.code, code, got.stdout, got.stderr)
	}
	return got
}

// patience is the timeout for everything that a controller should do at once, on a busy machine.
const patience = 2 * time.Minute

// until waits until true returns true.
func (s *service) until(what string, true func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !true() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("timed out waiting for: %s\n%s", what, s.run("events", "--limit", "100").stdout)
		}
	}
}

// settled waits until the controller has handled everything it was sent: no change is pending, and
// each open run waits for something outside the controller, both before and after the check for
// pending changes.
func (s *service) settled() {
	s.t.Helper()
	s.until("the controller is idle", func() bool {
		before := s.runs()
		idle := s.c.engine.Health(context.Background(), time.Minute).FeedBacklog == 0
		after := s.runs()
		return idle && cmp.Equal(before, after) && !slices.ContainsFunc(after, func(r client.Run) bool { return !quiet(r) })
	})
}

// runs returns all runs.
func (s *service) runs() []client.Run {
	s.t.Helper()
	page, err := s.client().Runs(context.Background(), client.RunQuery{Paging: client.Paging{Limit: client.MaxPage}})
	if err != nil {
		s.t.Fatal(err)
	}
	return page.Items
}

func quiet(r client.Run) bool {
	switch r.Status {
	case client.Completed, client.FailedFinal, client.ValidationExhausted, client.Cancelled:
		return true
	case client.Pending:
		return r.LastEvaluation != nil && r.NextEvaluation != nil && r.NextEvaluation.After(*r.LastEvaluation) && r.NextEvaluation.After(time.Now())
	case client.Running:
		return r.Handle == nil || *r.Handle == ""
	case client.Triggering, client.Failed, client.JobPollExhausted:
	}
	return false
}

func (s *service) client(options ...client.Option) *client.Client {
	s.t.Helper()
	c, err := client.New(s.address, options...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// reaches waits until a run has a status.
func (s *service) reaches(run string, want client.Status) client.RunDetail {
	s.t.Helper()
	key, err := client.ParseRunKey(run)
	if err != nil {
		s.t.Fatal(err)
	}
	var got client.RunDetail
	s.until(fmt.Sprintf("%s is %s", run, want), func() bool {
		got, err = s.client().Run(context.Background(), key)
		return err == nil && got.Status == want
	})
	return got
}

// fetch requests a path of the API without the client package.
func (s *service) fetch(path string) any {
	s.t.Helper()
	resp, err := http.Get(s.address + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %s %v", path, resp.Status, data, err)
	}
	return parsed(s.t, string(data))
}

// parsed decodes a JSON text.
func parsed(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("not one JSON value: %s", text)
	}
	return v
}

// in reports whether text contains all parts.
func in(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
