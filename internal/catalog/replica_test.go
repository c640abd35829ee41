package catalog_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// replicas returns two desks on one store, each with its own files.
func replicas(t *testing.T) (a, b *desk) {
	a, b = newDesk(t), newDesk(t)
	b.store = a.store
	b.Catalog = catalog.New(b.store, all.Kinds())
	a.Share(nil)
	b.Share(nil)
	return a, b
}

// agreed returns replicas that have accepted the same file.
func agreed(t *testing.T) (a, b *desk) {
	t.Helper()
	a, b = replicas(t)
	a.files["orders.yaml"], b.files["orders.yaml"] = orders, orders
	a.apply()
	b.apply()
	return a, b
}

// comesBack restarts a replica.
func (d *desk) comesBack() {
	d.t.Helper()
	seen := d.Seen()
	d.Catalog = d.restarted()
	d.Share(seen)
}

// modified sets the modification time of a replica's files.
func (d *desk) modified(at time.Time) {
	d.more.Modified = map[string]time.Time{}
	for name := range d.files {
		d.more.Modified[name] = at
	}
}

func (d *desk) active(id pipeline.ID) string {
	d.t.Helper()
	if err := d.Load(ctx); err != nil {
		d.t.Fatal(err)
	}
	if e := d.Current().Get(id); e != nil {
		return e.Version
	}
	return ""
}

func (d *desk) differs(ids ...pipeline.ID) {
	d.t.Helper()
	var got []pipeline.ID
	for _, x := range d.Differences() {
		got = append(got, x.ID)
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		d.t.Errorf("files that differ (-want +got):\n%s", diff)
	}
}

func TestReplicaStoresTheChangesItSaw(t *testing.T) {
	a, b := agreed(t)
	b.differs()
	a.files["orders.yaml"] = orders + "# two\n"
	a.apply()
	second := a.active("orders")
	for range 2 { // however often it scans its files
		b.apply()
	}
	if got := b.active("orders"); got != second {
		t.Errorf("version %s is active, want %s: the other replica's file has not changed", got, second)
	}
	b.differs("orders")
	b.files["orders.yaml"] = orders + "# three\n"
	b.apply()
	if got := a.active("orders"); got == second {
		t.Error("the newest change did not win")
	}
	a.differs("orders")
	b.differs()
	a.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_ACCEPTED orders", "CONFIG_ACCEPTED orders")
}

func TestReplicaThatWasAwayRestoresNoOlderFile(t *testing.T) {
	a, b := agreed(t)
	a.files["orders.yaml"] = orders + "# two\n"
	a.apply()
	b.comesBack()
	b.apply()
	b.differs("orders")
	b.files["orders.yaml"] = orders + "# edited while it was away\n"
	b.comesBack()
	b.apply()
	b.differs()
	a.apply()
	a.differs("orders")
}

func TestNewReplicaStoresOnlyNewerFiles(t *testing.T) {
	a, b := replicas(t)
	a.files["orders.yaml"] = orders
	a.apply()
	first := a.active("orders")
	b.files["orders.yaml"] = orders + "# old\n"
	b.modified(morning)
	b.apply()
	if got := a.active("orders"); got != first {
		t.Errorf("a new replica with an older file activated version %s", got)
	}
	b.differs("orders")
	c := newDesk(t)
	c.store, c.Catalog = a.store, a.restarted()
	c.Share(nil)
	c.files["orders.yaml"] = orders + "# new\n"
	c.files["rows.yaml"] = "pipeline: {id: rows, owner: tests}\n"
	c.modified(a.now.Add(time.Second))
	c.apply()
	c.differs()
	if got := a.active("orders"); got == first {
		t.Error("a newer file is not active")
	}
}

func TestOnlyTheReplicaThatSawTheFileDisappearRemovesIt(t *testing.T) {
	a, b := replicas(t)
	a.files["orders.yaml"] = orders
	a.apply()
	b.apply() // it never had the file
	b.differs("orders")
	if a.active("orders") == "" {
		t.Fatal("a replica without the file removed the pipeline")
	}
	delete(a.files, "orders.yaml")
	a.comesBack() // the file was deleted while the replica was down
	a.apply()
	b.apply()
	a.differs()
	b.differs()
	b.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REMOVED orders")
}

func TestFileLostByOneReplicaIsADifference(t *testing.T) {
	a, b := agreed(t)
	delete(a.files, "orders.yaml")
	a.apply()
	b.apply()
	if got := b.active("orders"); got != "" {
		t.Errorf("version %s is active although its file is gone", got)
	}
	b.differs("orders")
}

func TestRejectedFileIsNotFixedByAnotherReplicasFile(t *testing.T) {
	a, b := agreed(t)
	a.files["orders.yaml"] = "pipeline: {id: orders}\n"
	a.apply()
	b.apply()
	if a.row("orders").Problem == "" {
		t.Error("the problem is gone although the file still has it")
	}
	a.differs("orders")
	a.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REJECTED orders")
}

// An editor replaces a file by removing it first.
func TestFileThatComesBackHasNotChanged(t *testing.T) {
	a, b := agreed(t)
	a.files["orders.yaml"] = orders + "# two\n"
	a.apply()
	second := a.active("orders")
	delete(b.files, "orders.yaml")
	b.more.Gone = []string{"orders.yaml"}
	b.apply()
	b.files["orders.yaml"], b.more.Gone = orders, nil
	b.apply()
	if got := a.active("orders"); got != second {
		t.Errorf("version %s is active, want %s", got, second)
	}
	b.differs("orders")
}
