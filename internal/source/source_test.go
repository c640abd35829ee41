package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/source"
)

const landed = `source: {id: orders-landed, owner: ingest, format: cloudevents}
match:
  - {path: $.type, equals: com.example.orders.landed}
  - {path: $.subject, matches: '^orders/(?P<day>\d{4}-\d{2}-\d{2})$'}
write:
  - {pipeline: orders, key: landed, period: "${day}", fields: {complete: true, count: {path: $.data.rows}}}
`

func load(t *testing.T, texts ...string) *source.Loaded {
	t.Helper()
	var files []pipeline.Source
	for i, text := range texts {
		files = append(files, pipeline.Source{File: fmt.Sprintf("sources/%d.yaml", i), Data: []byte(text)})
	}
	return source.Load(files, source.Options{
		Pipelines: func(id pipeline.ID) bool { return id == "orders" }, Names: func() []string { return []string{"orders"} }, Unknown: document.Error,
	})
}

func mustLoad(t *testing.T, texts ...string) *source.Set {
	t.Helper()
	loaded := load(t, texts...)
	if len(loaded.Problems) > 0 {
		t.Fatal(loaded.Problems)
	}
	return source.NewSet(loaded.Definitions)
}

func event(t *testing.T, text string) map[string]any {
	t.Helper()
	e, err := source.DecodeEvent([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// show lists the readings of an event, one per line.
func show(all []source.Mapped) string {
	var lines []string
	for _, m := range all {
		for _, w := range m.Writes {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", w.Pipeline, w.Key, w.Period, sensor.Literal(map[string]any(w.Fields)))))
		}
		for _, p := range m.Problems {
			lines = append(lines, p.String())
		}
	}
	return strings.Join(lines, "\n")
}

func TestEventBecomesTheReadingsOfItsSource(t *testing.T) {
	set := mustLoad(t, landed)
	for _, c := range []struct{ event, want string }{
		{`{"type":"com.example.orders.landed","subject":"orders/2026-03-03","data":{"rows":1200}}`, `orders landed 2026-03-03 {"complete":true,"count":1200}`},
		{`{"type":"com.example.orders.landed","subject":"orders/2026-03-03","data":{}}`, `orders landed 2026-03-03 {"complete":true}`},
		{`{"type":"com.example.orders.landed","subject":"orders/2026-03-03","data":{"rows":null}}`, `orders landed 2026-03-03 {"complete":true,"count":null}`},
		{`{"type":"com.example.orders.landed","subject":"orders/2026-13-03","data":{"rows":1}}`, `source orders-landed, write[0]: nothing is written: the period cannot be read: period "2026-13-03": month 13`},
		{`{"type":"com.example.orders.landed","subject":"returns/2026-03-03"}`, ``},
		{`{"type":"com.example.orders.landed"}`, ``},
		{`{"type":"other","subject":"orders/2026-03-03"}`, ``},
		{`{"type":["com.example.orders.landed"],"subject":"orders/2026-03-03"}`, ``},
	} {
		got := show(set.Map(source.CloudEvents, event(t, c.event)))
		if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\n got %s\nwant %s", c.event, got, c.want)
		}
	}
	if got := set.Map(source.OpenLineage, event(t, `{"type":"com.example.orders.landed","subject":"orders/2026-03-03"}`)); got != nil {
		t.Errorf("a CloudEvents source accepts OpenLineage: %v", got)
	}
}

func TestConditionsAndVariables(t *testing.T) {
	set := mustLoad(t, `
source: {id: many, owner: x, format: json}
match:
  - {path: $.kind, in: [a, 1, true]}
  - {path: $.gone, exists: false}
  - {path: $.there, exists: true}
  - {path: '$.files[*].name', matches: '^(?P<table>\w+)-(?P<day>\d+)(?P<rest>x)?'}
write:
  - {pipeline: orders, key: "land/${table}", period: "${day}", ttl: 2h, fields: {file: "${table} of ${day}${rest}", price: '\${5}', rows: {path: '$.files[*].rows'}}}
  - {pipeline: orders, key: dated, fields: {date: {path: $.date}, n: 1}}
`)
	for _, c := range []struct{ event, want string }{
		{
			`{"kind":1.0,"there":null,"files":[{"name":"!"},{"name":"eu-20260303","rows":7}],"date":"2026-03-04"}`,
			"orders land/eu 2026-03-03 {\"file\":\"eu of 20260303\",\"price\":\"${5}\",\"rows\":7}\norders dated 2026-03-04 {\"date\":\"2026-03-04\",\"n\":1}",
		},
		{
			`{"kind":true,"there":0,"files":[{"name":"eu-20260303","rows":7},{"rows":8}]}`,
			"orders land/eu 2026-03-03 {\"file\":\"eu of 20260303\",\"price\":\"${5}\"}\norders dated {\"n\":1}\n" +
				"source many, write[0]: field rows is left out: $[\"files\"][*][\"rows\"] finds 2 values; make the path match exactly one",
		},
		{`{"kind":"1","there":0,"files":[{"name":"eu-20260303"}]}`, ""},
		{`{"kind":"a","there":0,"gone":null,"files":[{"name":"eu-20260303"}]}`, ""},
		{`{"kind":"a","files":[{"name":"eu-20260303"}]}`, ""},
	} {
		if got := show(set.Map(source.JSON, event(t, c.event))); strings.ReplaceAll(got, "  ", " ") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.event, got, c.want)
		}
	}
}

// The period of lineage never comes from the time at which an event was sent.
func TestEventTimeIsNotAPeriod(t *testing.T) {
	loaded := load(t, `source: {id: a, owner: x, format: openlineage}
match: [{path: "$['eventTime']", matches: '^(?P<day>[0-9-]+)T'}]
write: [{pipeline: orders, key: k, period: "${day}", fields: {n: 1}}]
`, `source: {id: b, owner: x, format: openlineage}
match: [{path: $.job.name, equals: j}]
write: [{pipeline: orders, key: k, fields: {date: {path: $.eventTime}}}]
`, `source: {id: c, owner: x, format: cloudevents}
match: [{path: $.time, matches: '^(?P<day>[0-9-]+)T'}]
write: [{pipeline: orders, key: k, period: "${day}", fields: {n: 1}}]
`)
	var got []string
	for _, p := range loaded.Problems {
		got = append(got, fmt.Sprintf("%s:%d:%d %s %s %.40s", p.File, p.Line, p.Column, p.Path, p.Severity, p.Message))
	}
	want := []string{
		"sources/0.yaml:3:44 write[0].period error eventTime is when the event was sent, no",
		"sources/1.yaml:3:58 write[0].fields.date.path error eventTime is when the event was sent, no",
		"sources/2.yaml:3:44 write[0].period warning time is when the event happened, so late",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesAreReportedAtTheirPosition(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(landed, "equals:", "equal:", 1):                                                         `match[0].equal: unknown key "equal"; did you mean "equals"?`,
		strings.Replace(landed, "${day}", "${dya}", 1):                                                          `write[0].period: unknown variable ${dya}; did you mean ${day}?`,
		strings.Replace(landed, "$.data.rows", "data.rows", 1):                                                  `write[0].fields.count.path: "data.rows" is not a JSONPath (RFC 9535)`,
		strings.Replace(landed, "pipeline: orders", "pipeline: ordes", 1):                                       `write[0].pipeline: there is no pipeline "ordes"; did you mean "orders"?`,
		strings.Replace(landed, `"${day}"`, `2026-03-03`, 1):                                                    `write[0].period: the period 2026-03-03 would apply to every event`,
		strings.Replace(landed, "key: landed", "key: run/orders", 1):                                            `write[0].key: sensor key "run/orders"`,
		strings.Replace(landed, `(?P<day>`, `(?P<day`, 1):                                                       `match[1].matches: invalid named capture`,
		strings.Replace(landed, "format: cloudevents", "format: cloudevent", 1):                                 `source.format: unknown value "cloudevent"; did you mean "cloudevents"?`,
		strings.Replace(landed, "complete: true", "complete: [1]", 1):                                           `write[0].fields.complete: expected a text, a number, true, false or {path: $…}, found a list`,
		strings.Replace(landed, "equals: com", "exists: true, equals: com", 1):                                  `match[0]: the condition has several of equals, in, matches, exists`,
		strings.Replace(landed, "equals: com.example.orders.landed", "in: []", 1):                               `match[0].in: is empty; must have at least one`,
		strings.Replace(landed, ", equals: com.example.orders.landed", "", 1):                                   `match[0]: the condition has no check`,
		"source: {id: a, owner: x, format: openlineage}\nwrite: [{pipeline: orders, key: k, fields: {n: 1}}]\n": `source.format: a source of format openlineage needs match`,
		"source: {id: a, owner: x, format: json}\nmatch: []\n":                                                  `write: `,
	} {
		loaded := load(t, text)
		if len(loaded.Refused) != 1 || !strings.Contains(fmt.Sprint(loaded.Problems), want) {
			t.Errorf("want %s\n got %v", want, loaded.Problems)
		}
	}
}

// A bad file never affects a good one; two files with the same id are both rejected.
func TestFilesAreReadIndependently(t *testing.T) {
	other := strings.Replace(landed, "orders-landed", "other", 1)
	loaded := load(t, landed, "source: [", other, landed)
	if len(loaded.Definitions) != 1 || loaded.Definitions[0].ID != "other" {
		t.Errorf("read %v", loaded.Definitions)
	}
	if got := fmt.Sprint(loaded.Refused); got != "[{sources/0.yaml orders-landed} {sources/1.yaml } {sources/3.yaml orders-landed}]" {
		t.Errorf("refused %s", got)
	}
}

// Sources are indexed by the text that the fewest share, with the same result as trying each of
// them.
func TestIndexFindsTheSameAsTryingEach(t *testing.T) {
	var texts []string
	for i := range 30 {
		texts = append(texts, fmt.Sprintf(`source: {id: s%d, owner: x, format: cloudevents}
match: [{path: $.type, equals: t%d}, {path: $.subject, matches: '^a%d'}, {path: $.x, in: [p, q%d]}]
write: [{pipeline: orders, key: k%d, fields: {n: 1}}]
`, i, i%3, i%5, i%7, i))
	}
	texts = append(texts, "source: {id: all, owner: x, format: cloudevents}\nmatch: [{path: $.type, exists: true}]\nwrite: [{pipeline: orders, key: all, fields: {n: 1}}]\n")
	loaded := load(t, texts...)
	set := source.NewSet(loaded.Definitions)
	for _, text := range []string{`{"type":"t1","subject":"a1","x":"p"}`, `{"type":"t1","subject":"a1","x":"q1"}`, `{"type":"t2","x":"p"}`, `{"x":"p"}`} {
		e := event(t, text)
		var want []source.Mapped
		for _, d := range set.All() {
			if m, ok := d.Map(e); ok {
				want = append(want, m)
			}
		}
		if got := set.Map(source.CloudEvents, e); show(got) != show(want) {
			t.Errorf("%s:\n got %s\nwant %s", text, show(got), show(want))
		}
	}
}

func TestSchemaAcceptsTheExample(t *testing.T) {
	s := source.Schema()
	if s.Properties["source"] == nil || s.Properties["match"] == nil || s.Properties["write"] == nil || len(s.Required) == 0 {
		t.Errorf("the schema lacks keys: %v", s.Properties)
	}
}
