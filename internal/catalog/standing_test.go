package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
)

const (
	afterOrders = "pipeline: {id: gold, owner: tests}\nschedule: {after: [orders]}\n"
	fromOrders  = "pipeline: {id: gold, owner: tests}\nvalidation: {rules: [{key: ready, check: exists, from: orders}]}\n"
)

func TestUnreadableFileDoesNotRejectFilesThatReferToIt(t *testing.T) {
	for name, gold := range map[string]string{"after": afterOrders, "from": fromOrders} {
		for _, bad := range []string{"]no yaml[", "pipeline: {owner: tests}\n"} {
			t.Run(name+" "+bad, func(t *testing.T) {
				d := newDesk(t)
				d.files["orders.yaml"], d.files["gold.yaml"] = orders, gold
				d.apply()
				d.files["orders.yaml"] = bad
				if report := d.apply(); !cmp.Equal(report.Rejected, []pipeline.ID{"orders"}) {
					t.Errorf("rejected %v, want orders alone: %v", report.Rejected, report.Problems)
				}
				d.Catalog = d.restarted()
				d.files["gold.yaml"] += "dryRun: false\n"
				if report := d.apply(); !cmp.Equal(report.Accepted, []pipeline.ID{"gold"}) || d.row("gold").Problem != "" {
					t.Errorf("an edit meanwhile: accepted %v, problem %q", report.Accepted, d.row("gold").Problem)
				}
				d.wantEvents("CONFIG_ACCEPTED gold", "CONFIG_ACCEPTED orders", "CONFIG_REJECTED orders", "CONFIG_ACCEPTED gold")
			})
		}
	}
}

func TestFirstFilesNeedTheFilesTheyReferTo(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"], d.files["gold.yaml"] = "]no yaml[", afterOrders
	if report := d.apply(); !cmp.Equal(report.Rejected, []pipeline.ID{"gold"}) {
		t.Errorf("report %+v", report)
	}
	if problem := d.row("gold").Problem; !strings.Contains(problem, "it may be in orders.yaml, which cannot be read") {
		t.Errorf("problem %q does not name the file", problem)
	}
	d.files["orders.yaml"] = orders
	if report := d.apply(); !cmp.Equal(report.Accepted, []pipeline.ID{"gold", "orders"}) {
		t.Errorf("report %+v", report)
	}
}

func TestUnreadableFileLeavesTheLastGoodVersionActive(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"], d.files["gold.yaml"] = orders, afterOrders
	d.apply()
	good := d.row("orders").Config
	delete(d.files, "orders.yaml")
	d.more.Pipelines = []pipeline.Source{{File: "orders.yaml", Unread: "permission denied"}}
	for range 2 { // reported once
		if report := d.apply(); !cmp.Equal(report.Rejected, []pipeline.ID{"orders"}) || len(report.Removed) > 0 {
			t.Errorf("report %+v", report)
		}
	}
	if row := d.row("orders"); row.Config != good || row.Problem != "orders.yaml:1:1: cannot be read: permission denied" {
		t.Errorf("row %+v", row)
	}
	emitted := []string{"CONFIG_ACCEPTED gold", "CONFIG_ACCEPTED orders", "CONFIG_REJECTED orders"}
	d.wantEvents(emitted...)

	d.more.Pipelines, d.more.Gone = nil, []string{"orders.yaml"}
	d.apply()
	d.wantEvents(emitted...) // a file that has just disappeared keeps its contents

	d.more.Gone, d.files["orders.yaml"] = nil, orders
	d.apply()
	if row := d.row("orders"); row.Problem != "" {
		t.Errorf("readable, but still degraded: %s", row.Problem)
	}
	d.wantEvents(emitted...)
}

func TestUnreadableCalendarIsReportedWhereItIsUsed(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders + "schedule: {cron: '@daily', exclude: {calendar: holidays}}\n"
	d.files["other.yaml"] = "pipeline: {id: other, owner: tests}\n"
	d.more.Calendars = []pipeline.Source{{File: "holidays.yaml", Data: []byte("name: holidays\ndates: [2026-12-25]\n")}}
	d.apply()
	d.more.Calendars = []pipeline.Source{{File: "holidays.yaml", Unread: "permission denied"}}
	report := d.apply()
	if !cmp.Equal(report.Rejected, []pipeline.ID{"orders"}) || d.Current().Get("orders") == nil {
		t.Errorf("report %+v", report)
	}
	if problem := d.row("orders").Problem; !strings.Contains(problem, "holidays.yaml has errors and may define it") {
		t.Errorf("problem %q", problem)
	}
}
