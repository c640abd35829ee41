package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
)

// slowStore takes no commit of a pipeline until it is open.
type slowStore struct {
	store.Store
	open chan struct{}
}

func (s *slowStore) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if len(b.Configs) > 0 {
		<-s.open
	}
	return s.Store.Commit(ctx, b, now)
}

func TestHealthChecksSayHowFarTheStartIs(t *testing.T) {
	dir, err := os.MkdirTemp("", "il") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // only a test's directory
	path := filepath.Join(dir, "s")
	for i := range 3 {
		name := filepath.Join(dir, fmt.Sprintf("p%d.yaml", i))
		if err := os.WriteFile(name, fmt.Appendf(nil, "pipeline: {id: p%d, owner: tests}\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, problems := settings.Parse("interlock.yaml", []byte("listen: unix:"+path+"\ncallbackURL: http://127.0.0.1:1\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	file.Data = settings.Data{Dir: filepath.Join(dir, "data")}
	slow := &slowStore{open: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		c, err := newController(ctx, file, engine.Folders{Pipelines: []string{dir}}, surroundings{
			getenv: os.Getenv, logger: slog.New(slog.DiscardHandler), between: func(r records) records {
				slow.Store = r.Store
				r.Store = slow
				return r
			},
		})
		if err == nil {
			err = c.run(ctx)
		}
		ended <- err
	}()
	h := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", path)
	}}}
	get := func(at string) (int, string) {
		resp, err := h.Get("http://localhost" + at)
		if err != nil {
			return 0, ""
		}
		defer resp.Body.Close()
		var p struct{ Detail string }
		_ = json.NewDecoder(resp.Body).Decode(&p) // some answers have no detail
		return resp.StatusCode, p.Detail
	}
	until(t, "readyz says how many files are stored", func() bool {
		code, text := get("/readyz")
		return code == 503 && strings.Contains(text, "0 of 3 files stored")
	})
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("healthz is %d during the start", code)
	}
	asked := make(chan int, 1)
	go func() {
		code, _ := get("/api/v1/pipelines/p1")
		asked <- code
	}()
	close(slow.open)
	if code := <-asked; code != 200 {
		t.Errorf("a request during the start was answered %d", code)
	}
	until(t, "readyz is 200", func() bool { code, _ := get("/readyz"); return code == 200 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
