package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// folder returns a desk whose files are in one folder, with that many pipelines p0, p1, … active.
func folder(t *testing.T, n int) *desk {
	t.Helper()
	d := newDesk(t)
	d.more.Folders = []string{"./pipelines"}
	for i := range n {
		d.files[fmt.Sprintf("pipelines/p%d.yaml", i)] = fmt.Sprintf("pipeline: {id: p%d, owner: tests}\n", i)
	}
	d.apply()
	return d
}

// lose deletes that many files for good.
func (d *desk) lose(n int) {
	for i := range n {
		delete(d.files, fmt.Sprintf("pipelines/p%d.yaml", i))
	}
}

// alarms lists the events about folders, as "STATE: message".
func (d *desk) alarms() []string {
	d.t.Helper()
	events, err := d.store.EventsAfter(ctx, 0, 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	var all []string
	for _, e := range events {
		if alarm, ok := e.Event.Detail.Extra.(event.Alarm); ok {
			all = append(all, alarm.State+": "+e.Event.Detail.Message)
		}
	}
	return all
}

func TestFolderThatLosesMostOfItsFilesRemovesNothing(t *testing.T) {
	for _, c := range []struct {
		files, gone int
		held        bool
	}{
		{1, 1, true}, {2, 2, true}, {4, 4, true}, // empty
		{2, 1, false}, {3, 2, false}, // few
		{4, 2, false}, {4, 3, true}, {9, 4, false}, {9, 5, true},
	} {
		d := folder(t, c.files)
		d.lose(c.gone)
		removed := d.apply().Removed
		if (len(removed) == 0) != c.held || !c.held && len(removed) != c.gone {
			t.Errorf("%d of %d files gone: removed %v", c.gone, c.files, removed)
		}
		if troubles := d.Troubles(); (len(troubles) == 1) != c.held {
			t.Errorf("%d of %d files gone: troubles %+v", c.gone, c.files, troubles)
		}
	}
}

func TestLastFilesOfAFolderCanBeRemoved(t *testing.T) {
	for _, c := range []struct {
		files int
		held  bool
	}{{1, false}, {3, false}, {4, true}} {
		d := folder(t, c.files)
		d.more.Same = d.more.Folders
		d.lose(c.files)
		if removed := d.apply().Removed; (len(removed) == 0) != c.held || (len(d.Troubles()) == 1) != c.held {
			t.Errorf("all of %d files gone: removed %v, troubles %+v", c.files, removed, d.Troubles())
		}
	}
}

func TestLostFilesAreReportedOnceAndCountAgainWhenTheyAreBack(t *testing.T) {
	d := folder(t, 5)
	whole := map[string]string{}
	for name, text := range d.files {
		whole[name] = text
	}
	emitted := d.emitted()
	d.lose(4)
	for range 3 {
		d.apply()
	}
	lost := "ALARM: 4 of 5 pipeline files in ./pipelines are missing; nothing is removed until they are back, or `interlock config accept-removal` accepts it"
	if diff := cmp.Diff([]string{lost}, d.alarms()); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
	trouble, there := d.TroubleOf("p0")
	if !there || !trouble.Lost || d.Current().Get("p0") == nil {
		t.Errorf("p0: %+v, active %v", trouble, d.Current().Get("p0"))
	}
	if _, there := d.TroubleOf("p4"); there {
		t.Error("p4 is in trouble although its file exists")
	}
	var missing []string
	for _, f := range d.Files() {
		if f.Missing != "" {
			missing = append(missing, f.Name)
		}
	}
	if diff := cmp.Diff([]string{"pipelines/p0.yaml", "pipelines/p1.yaml", "pipelines/p2.yaml", "pipelines/p3.yaml"}, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}

	d.files = whole
	d.apply()
	if len(d.Troubles()) != 0 {
		t.Errorf("troubles %+v", d.Troubles())
	}
	if diff := cmp.Diff([]string{lost, "OK: the files in ./pipelines are back"}, d.alarms()); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
	d.wantEvents(append(emitted, "INFRA_ALARM", "INFRA_ALARM")...)
}

func TestLostFilesStayLostHoweverManyFilesAreAdded(t *testing.T) {
	d := folder(t, 5)
	d.lose(4)
	d.apply()
	for i := range 20 {
		d.files[fmt.Sprintf("pipelines/n%d.yaml", i)] = fmt.Sprintf("pipeline: {id: n%d, owner: tests}\n", i)
	}
	for range 2 {
		if report := d.apply(); len(report.Removed) > 0 {
			t.Errorf("removed %v", report.Removed)
		}
	}
}

func TestFilesDeletedOneByOneAreLostTogether(t *testing.T) {
	for _, n := range []int{2, 6} {
		d := folder(t, n)
		d.lose(n)
		d.more.Gone = nil
		for i := 1; i < n; i++ { // p0 has been gone for long enough, the others have not
			d.more.Gone = append(d.more.Gone, fmt.Sprintf("pipelines/p%d.yaml", i))
		}
		if report := d.apply(); len(report.Removed) > 0 || len(d.alarms()) > 0 {
			t.Errorf("%d files: removed %v, alarms %v", n, report.Removed, d.alarms())
		}
		d.more.Gone = nil
		d.apply()
		if troubles := d.Troubles(); len(troubles) != 1 || len(troubles[0].Pipelines) != n {
			t.Errorf("%d files: troubles %+v", n, troubles)
		}
	}
}

func TestMovedFilesAreNotLost(t *testing.T) {
	d := folder(t, 6)
	moved := map[string]string{}
	for name, text := range d.files {
		moved[strings.Replace(name, "pipelines/", "pipelines/sales/", 1)] = text
	}
	d.files = moved
	d.apply()
	if len(d.Troubles()) > 0 || len(d.Current().All()) != 6 {
		t.Errorf("troubles %+v, %d active", d.Troubles(), len(d.Current().All()))
	}
}

func TestPipelinesRenamedInPlaceAreNotLost(t *testing.T) {
	d := folder(t, 6)
	for name, text := range d.files {
		d.files[name] = strings.Replace(text, "id: p", "id: q", 1)
	}
	if report := d.apply(); len(report.Removed) != 6 || len(d.Troubles()) > 0 {
		t.Errorf("removed %v, troubles %+v", report.Removed, d.Troubles())
	}
}

func TestEmptyFolderAtStartRemovesNothing(t *testing.T) {
	d := folder(t, 2)
	d.Catalog = d.restarted()
	d.lose(2)
	if report := d.apply(); len(report.Removed) > 0 || len(d.Troubles()) != 1 {
		t.Errorf("removed %v, troubles %+v", report.Removed, d.Troubles())
	}
}

func TestAcceptedRemovalRemovesWhatWasLost(t *testing.T) {
	for _, shared := range []bool{false, true} {
		d := newDesk(t)
		if shared {
			d.Share(nil)
		}
		d.more.Folders = []string{"pipelines"}
		for i := range 5 {
			d.files[fmt.Sprintf("pipelines/p%d.yaml", i)] = fmt.Sprintf("pipeline: {id: p%d, owner: tests}\n", i)
		}
		d.apply()
		if _, err := d.AcceptRemoval(ctx, "ann", "moved", d.now); !errors.Is(err, catalog.ErrNothingLost) {
			t.Errorf("nothing lost: %v", err)
		}
		d.lose(4)
		d.apply()
		ids, err := d.AcceptRemoval(ctx, "ann", "they moved to the other team", d.now)
		if want := []pipeline.ID{"p0", "p1", "p2", "p3"}; err != nil || !slices.Equal(ids, want) {
			t.Errorf("removed %v, %v", ids, err)
		}
		if len(d.Troubles()) > 0 || len(d.Current().All()) != 1 || d.row("p0").RemovedAt.IsZero() {
			t.Errorf("troubles %+v, %d active", d.Troubles(), len(d.Current().All()))
		}
		if alarms := d.alarms(); len(alarms) != 2 || alarms[1] != "OK: ann accepted the removal of 4 pipelines of pipelines: they moved to the other team" {
			t.Errorf("alarms %q", alarms)
		}
		if report := d.apply(); len(report.Removed)+len(report.Accepted) > 0 {
			t.Errorf("afterwards %+v", report)
		}
		if shared && len(d.Seen()) != 1 {
			t.Errorf("seen %v", d.Seen())
		}
	}
}

func TestFolderThatCannotBeReadIsReportedOnce(t *testing.T) {
	d := folder(t, 2)
	d.files["elsewhere/other.yaml"] = orders
	d.more.Folders = append(d.more.Folders, "elsewhere")
	d.apply()
	cause := errors.New("read ./pipelines: no such file or directory")
	began := d.now
	for range 2 {
		if err := d.Unreadable(ctx, "./pipelines", cause, d.now); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(time.Minute)
	}
	if trouble, there := d.TroubleOf("p1"); !there || trouble.Lost || !trouble.Since.Equal(began) || !strings.Contains(trouble.Message, cause.Error()) {
		t.Errorf("p1: %+v", trouble)
	}
	if _, there := d.TroubleOf("orders"); there {
		t.Error("a pipeline of another folder is in trouble")
	}
	for range 2 {
		if err := d.Unreadable(ctx, "", nil, d.now); err != nil {
			t.Fatal(err)
		}
	}
	if alarms := d.alarms(); len(alarms) != 2 || alarms[1] != "OK: the files in ./pipelines can be read again" || len(d.Troubles()) > 0 {
		t.Errorf("alarms %q, troubles %+v", alarms, d.Troubles())
	}
}
