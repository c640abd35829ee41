package catalog_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// guard ends what would otherwise wait forever; no test depends on how long it is.
const guard = time.Minute

// stuck is a store that answers one call late: the next list of pipelines or the next commit.
type stuck struct {
	*memory.Store
	list, commit chan struct{} // closed to let the call end; nil: it is not late
	began        chan struct{}
}

func (s *stuck) Pipelines(ctx context.Context) ([]store.Pipeline, error) {
	rows, err := s.Store.Pipelines(ctx)
	s.wait(&s.list)
	return rows, err
}

func (s *stuck) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	s.wait(&s.commit)
	return s.Store.Commit(ctx, b, now)
}

func (s *stuck) wait(until *chan struct{}) {
	if end := *until; end != nil {
		*until = nil
		close(s.began)
		<-end
	}
}

// inTime fails the test if do waits.
func inTime(t *testing.T, what string, do func() error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(guard):
		t.Fatalf("%s waits", what)
	}
}

func TestRefreshDoesNotWaitForASlowStoreOfOthers(t *testing.T) {
	const gold = "pipeline: {id: gold, owner: tests}\n"
	for name, busy := range map[string]func(s *stuck, c *catalog.Catalog, end chan struct{}) error{
		"a reload": func(s *stuck, c *catalog.Catalog, end chan struct{}) error {
			s.list = end
			return c.Refresh(ctx, "orders")
		},
		"files being stored": func(s *stuck, c *catalog.Catalog, end chan struct{}) error {
			s.commit = end
			files := catalog.Files{Pipelines: []pipeline.Source{
				{File: "orders.yaml", Data: []byte("pipeline: {id: orders, owner: two}\n")}, {File: "gold.yaml", Data: []byte(gold)},
			}}
			_, err := c.Apply(ctx, files, morning.Add(time.Hour))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := newDesk(t) // another replica, which stores versions
			write := func(owner string) {
				other.files["orders.yaml"] = "pipeline: {id: orders, owner: " + owner + "}\n"
				other.files["silver.yaml"] = "pipeline: {id: silver, owner: " + owner + "}\n"
				other.apply()
			}
			write("one")
			s := &stuck{Store: other.store, began: make(chan struct{})}
			c := catalog.New(s, all.Kinds())
			c.Share(nil)
			if err := c.Load(ctx); err != nil {
				t.Fatal(err)
			}
			if name == "a reload" {
				write("two")
			}
			end, ended := make(chan struct{}), make(chan error, 1)
			go func() { ended <- busy(s, c, end) }()
			<-s.began
			write("three")
			version := other.row("silver").Config
			inTime(t, "the refresh of silver", func() error { return c.Refresh(ctx, "silver") })
			inTime(t, "the entry of silver", func() error { _, _, err := c.Active(ctx, "silver"); return err })
			if e := c.Current().Get("silver"); e == nil || e.Version != version {
				t.Errorf("silver is %+v, want version %s", e, version)
			}
			close(end)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if e := c.Current().Get("silver"); e == nil || e.Version != version {
				t.Errorf("silver is %+v after the slow call, want version %s", e, version)
			}
			if err := c.Refresh(ctx, "orders"); err != nil {
				t.Error(err)
			}
			if e, want := c.Current().Get("orders"), other.row("orders").Config; e == nil || e.Version != want {
				t.Errorf("orders is %+v, want version %s", e, want)
			}
		})
	}
}
