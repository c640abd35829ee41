package catalog_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFileThatIsGoneForAMomentCountsAsItWas(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.files["bad.yaml"] = "pipeline: {id: bad}\n"
	d.files["lost.yaml"] = "]no yaml["
	d.apply()
	told, before := d.told(), []int64{d.row("orders").Version, d.row("bad").Version}
	d.more.Gone = []string{"orders.yaml", "bad.yaml", "lost.yaml", "never.yaml"}
	d.files = map[string]string{}
	for range 2 { // it is also remembered what was only remembered
		d.apply()
	}
	if diff := cmp.Diff(before, []int64{d.row("orders").Version, d.row("bad").Version}); diff != "" {
		t.Errorf("versions of the rows (-before +after):\n%s", diff)
	}
	if d.Current().Get("orders") == nil {
		t.Error("no longer in force")
	}
	d.wantTold(told...)

	d.more.Gone = nil
	d.apply()
	d.wantTold(append(told, "CONFIG_REMOVED orders")...)
}

func TestFileThatIsGoneAndBackCountsOnce(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	d.files["orders.yaml"] = orders + "dryRun: false\n"
	d.more.Gone = []string{"orders.yaml"}
	if report := d.apply(); len(report.Rejected) > 0 || len(report.Accepted) != 1 {
		t.Errorf("report %+v", report)
	}
}

func TestEntryThatDidNotChangeStaysTheSame(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"], d.files["warned.yaml"] = orders, warned
	d.apply()
	before := d.Current().Get("warned")
	d.now = d.now.Add(time.Hour)
	d.files["orders.yaml"] = orders + "dryRun: false\n"
	d.apply()
	if d.Current().Get("warned") != before {
		t.Error("made anew")
	}
}
