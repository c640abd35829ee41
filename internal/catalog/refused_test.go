package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

const goodSource = "source: {id: landed, owner: x, format: json}\nwrite: [{pipeline: orders, key: k, fields: {n: 1}}]\n"

// A rejected source file is reported once as long as it has the same errors, by however many
// processes, and again if it was corrected in between.
func TestRejectedSourceIsReportedOnce(t *testing.T) {
	s := memory.New()
	at := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	start := func() func(text string) *catalog.Catalog {
		c := catalog.New(s, nil)
		return func(text string) *catalog.Catalog {
			at = at.Add(48 * time.Hour)
			if _, err := c.Apply(t.Context(), catalog.Files{Sources: []pipeline.Source{{File: "s.yaml", Data: []byte(text)}}}, at); err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	reported := func() string {
		t.Helper()
		page, err := s.Events(t.Context(), store.EventQuery{Type: event.InfraFailure, Ascending: true})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range page.Items {
			all = append(all, string(e.Detail.Severity)+" "+e.Detail.Message)
		}
		return strings.Join(all, "\n")
	}
	bad := strings.Replace(goodSource, "json", "jsn", 1)
	const first = `critical s.yaml was rejected: s.yaml:1:40: source.format: unknown value "jsn"; did you mean "json"?; no version of the source is active, so its events are not read`
	var c *catalog.Catalog
	for range 3 {
		c = start()(bad)
	}
	if got := reported(); got != first {
		t.Errorf("three starts: %s", got)
	}
	if all := c.RefusedSources(); len(all) != 1 || all[0].ID != "landed" || all[0].Stays {
		t.Errorf("%+v", all)
	}
	c = start()(goodSource)
	if len(c.RefusedSources()) != 0 {
		t.Errorf("a good file is rejected: %v", c.RefusedSources())
	}
	for range 2 {
		c = start()(bad)
	}
	again := first + "\n" + strings.Replace(strings.Replace(first, "critical", "warning", 1), "no version of the source is active, so its events are not read", "the last good version of the source stays active", 1)
	if got := reported(); got != again {
		t.Errorf("after a good version:\n%s\nwant\n%s", got, again)
	}
	if all := c.RefusedSources(); len(all) != 1 || !all[0].Stays || c.Sources().Get("landed") == nil {
		t.Errorf("%+v", all)
	}
	if files := c.Files(); len(files) != 1 || !files[0].Refused || files[0].Version == "" || files[0].Accepted.IsZero() {
		t.Errorf("the file: %+v", files)
	}
}

// A rejected file whose pipeline is unknown is reported once as long as it has the same errors, however
// long that lasts and whatever else changes.
func TestRejectedFileOfAnUnknownPipelineIsReportedOnce(t *testing.T) {
	s := memory.New()
	log := audit.New(s, 365*24*time.Hour)
	at := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	reported := func(text string) (events, entries int) {
		t.Helper()
		c := catalog.New(s, nil)
		c.Audit(log, func(string) (string, string) { return "", "" })
		var files []pipeline.Source
		if text != "" {
			files = []pipeline.Source{{File: "p.yaml", Data: []byte(text)}}
		}
		for range 2 {
			at = at.Add(2 * store.CommitLife)
			if _, err := s.Trim(t.Context(), store.Retention{}, at); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Apply(t.Context(), catalog.Files{Pipelines: files}, at); err != nil {
				t.Fatal(err)
			}
		}
		page, err := s.Events(t.Context(), store.EventQuery{Limit: store.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			switch e.Type {
			case event.ConfigRejected:
				events++
			case event.Audit:
				entries++
			}
		}
		return events, entries
	}
	for i, step := range []struct {
		text string
		want int
	}{{"pipeline: [", 1}, {"pipeline: [", 1}, {"pipeline: {", 2}, {"", 2}, {"pipeline: {", 3}} {
		if events, entries := reported(step.text); events != step.want || entries != step.want {
			t.Errorf("step %d, %q: %d events and %d audit entries, want %d", i, step.text, events, entries, step.want)
		}
	}
}
