package catalog_test

import (
	"strings"
	"testing"
	"time"

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
