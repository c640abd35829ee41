package catalog_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
)

func TestFileGoneForAMomentKeepsItsContents(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.files["bad.yaml"] = "pipeline: {id: bad}\n"
	d.files["lost.yaml"] = "]no yaml["
	d.apply()
	emitted, before := d.emitted(), []int64{d.row("orders").Version, d.row("bad").Version}
	d.more.Gone = []string{"orders.yaml", "bad.yaml", "lost.yaml", "never.yaml"}
	d.files = map[string]string{}
	for range 2 { // the second time, the contents come from memory
		d.apply()
	}
	if diff := cmp.Diff(before, []int64{d.row("orders").Version, d.row("bad").Version}); diff != "" {
		t.Errorf("versions of the rows (-before +after):\n%s", diff)
	}
	if d.Current().Get("orders") == nil {
		t.Error("no longer active")
	}
	d.wantEvents(emitted...)

	d.more.Gone = nil
	d.apply()
	d.wantEvents(append(emitted, "CONFIG_REMOVED orders")...)
}

func TestFileThatReturnsCountsOnce(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	d.files["orders.yaml"] = orders + "dryRun: false\n"
	d.more.Gone = []string{"orders.yaml"}
	if report := d.apply(); len(report.Rejected) > 0 || len(report.Accepted) != 1 {
		t.Errorf("report %+v", report)
	}
}

func TestUnchangedEntryIsReused(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"], d.files["warned.yaml"] = orders, warned
	d.apply()
	before := d.Current().Get("warned")
	d.now = d.now.Add(time.Hour)
	d.files["orders.yaml"] = orders + "dryRun: false\n"
	d.apply()
	if d.Current().Get("warned") != before {
		t.Error("rebuilt")
	}
}

func TestRenamedFileIsNotRejected(t *testing.T) {
	for name, renamed := range map[string]string{"as it was": nightly, "with an edit": nightly + "dryRun: false\n"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.files["orders.yaml"], d.files["bad.yaml"] = nightly, "pipeline: {id: bad}\n"
			d.more.Calendars = []pipeline.Source{{File: "us.yaml", Data: []byte(holidays)}}
			d.apply()
			before := d.emitted()
			delete(d.files, "orders.yaml")
			delete(d.files, "bad.yaml")
			d.files["sales.yaml"], d.files["worse.yaml"] = renamed, "pipeline: {id: bad}\n"
			d.more.Calendars = []pipeline.Source{{File: "usa.yaml", Data: []byte(holidays)}, {File: "us.yaml", Data: []byte(holidays), Gone: true}}
			d.more.Gone = []string{"orders.yaml", "bad.yaml"}
			for range 2 {
				if report := d.apply(); len(report.Rejected) != 1 || report.Rejected[0] != "bad" {
					t.Errorf("rejected %v: %v", report.Rejected, report.Problems)
				}
			}
			for _, f := range d.Files() {
				if f.Name == "orders.yaml" || f.Name == "bad.yaml" {
					t.Errorf("%s is still listed", f.Name)
				}
			}
			d.more.Gone, d.more.Calendars = nil, d.more.Calendars[:1]
			d.apply()
			want := append(before, "CONFIG_REJECTED bad") // its problem is in another file
			if renamed != nightly {
				want = append(want, "CONFIG_ACCEPTED orders")
			}
			d.wantEvents(want...)
		})
	}
}

const (
	nightly  = "pipeline: {id: orders, owner: tests}\nschedule: {cron: \"0 8 * * *\", exclude: {calendar: us}}\n"
	holidays = "name: us\ndates: [2026-07-04]\n"
)
