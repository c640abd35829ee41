package catalog_test

import (
	"context"
	"errors"
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

// gated is a file whose gate reads one sensor.
func gated(key string) string {
	return "pipeline: {id: orders, owner: tests}\nvalidation: {rules: [{key: " + key + ", check: exists}]}\n"
}

// The file changes and changes back while another replica looks away.
func TestReplicaLearnsOfAVersionThatCameAndWent(t *testing.T) {
	for name, look := range map[string]func(d *desk) error{
		"refresh": func(d *desk) error { return d.Refresh(ctx, "orders") },
		"active":  func(d *desk) error { _, _, err := d.Active(ctx, "orders"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := replicas(t)
			for i, key := range []string{"first", "second", "first"} {
				a.files["orders.yaml"] = gated(key)
				a.apply()
				if i == 0 {
					b.active("orders")
				}
			}
			for range 2 { // nothing is left to learn
				if err := look(b); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.OlderReaders("orders", "second"); len(got) != 1 {
				t.Errorf("older readers of the second version's sensor: %v, want orders", got)
			}
		})
	}
}

// unreadable is a store that cannot read one version for a while.
type unreadable struct {
	*memory.Store
	version string
}

var errUnreadable = errors.New("the disk reports an error")

func (s *unreadable) Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error) {
	if version == s.version {
		return store.Config{}, errUnreadable
	}
	return s.Store.Config(ctx, id, version)
}

func TestOlderVersionThatCouldNotBeReadIsReadAgain(t *testing.T) {
	other := newDesk(t)
	for _, key := range []string{"first", "second"} {
		other.files["orders.yaml"] = gated(key)
		other.apply()
	}
	s := &unreadable{Store: other.store, version: other.row("orders").Older[0]}
	c := catalog.New(s, all.Kinds())
	if err := c.Load(ctx); !errors.Is(err, errUnreadable) {
		t.Fatalf("load: %v, want %v", err, errUnreadable)
	}
	s.version = ""
	if err := c.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if got := c.OlderReaders("orders", "first"); len(got) != 1 {
		t.Errorf("older readers of the first version's sensor: %v, want orders", got)
	}
}
