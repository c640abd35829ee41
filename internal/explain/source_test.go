package explain_test

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
)

const rowsSource = `
source: {id: loads, owner: ingest, format: json}
match: [{path: $.kind, equals: load}]
write: [{pipeline: orders, key: rows, fields: {count: {path: $.rows}}}]
`

// The terminal prints the reasons, and the dashboard shows them in parts: both name the source of a
// missing sensor.
func TestClosedRuleNamesItsSource(t *testing.T) {
	w := opened(t)
	_, err := w.Catalog.Apply(ctx, catalog.Files{
		Pipelines: []pipeline.Source{{File: "0.yaml", Data: []byte(orders)}},
		Sources:   []pipeline.Source{{File: "loads.yaml", Data: []byte(rowsSource)}},
	}, w.Now())
	w.Check(err)
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.Waiting, "source loads has received no event yet")
	if !slices.ContainsFunc(x.Said.Reasons, func(r reason.Reason) bool {
		return r.Code == "source-no-event" && r.Param("source") == "loads"
	}) {
		t.Errorf("the reasons in parts do not name the source: %v", x.Said.Reasons)
	}
}
