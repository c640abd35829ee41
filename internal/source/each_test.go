package source_test

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/source"
)

// record is a record of an S3 event notification. The key is URL-encoded.
func record(key string, size int) string {
	return fmt.Sprintf(`{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-west-1","eventTime":"2026-03-04T01:02:03.456Z","eventName":"ObjectCreated:Put",`+
		`"s3":{"s3SchemaVersion":"1.0","bucket":{"name":"lake"},"object":{"key":%q,"size":%d,"sequencer":"0A"}}}`, key, size)
}

func records(all ...string) string { return `{"Records":[` + strings.Join(all, ",") + `]}` }

// bySNS wraps a text in a notification of SNS.
func bySNS(text string) string {
	return fmt.Sprintf(`{"Type":"Notification","MessageId":"m1","TopicArn":"arn:aws:sns:eu-west-1:1:lake","Message":%q,"Timestamp":"2026-03-04T01:02:04Z"}`, text)
}

// bySQS wraps bodies in the event that a function gets from a queue.
func bySQS(bodies ...string) string {
	var all []string
	for i, body := range bodies {
		all = append(all, fmt.Sprintf(`{"messageId":"q%d","body":%q,"eventSource":"aws:sqs"}`, i, body))
	}
	return records(all...)
}

const objects = `source: {id: objects, owner: x, format: json}
each: %s
match: [{path: $.s3.object.key, decode: url, matches: '^orders/(?P<day>[^/]+)/(?P<file>.*)$'}]
write: [{pipeline: orders, key: landed, period: "${day}", fields: {file: "${file}", size: {path: $.s3.object.size}}}]
`

func objectsFrom(t *testing.T, each string) *source.Definition {
	t.Helper()
	return mustLoad(t, fmt.Sprintf(objects, each)).Get("objects")
}

func mapped(t *testing.T, d *source.Definition, text string) string {
	t.Helper()
	m, ok := d.Map(event(t, text))
	if !ok {
		return ""
	}
	return show([]source.Mapped{m})
}

// The same records, as S3 itself, SNS and a queue deliver them.
func TestEachSplitsAMessage(t *testing.T) {
	two := records(record("orders/2026-03-03/a+b%C3%BC.csv", 1), record("returns/x", 2), record("orders/2026-03-04/c.csv", 3))
	const want = `orders landed 2026-03-03 {"file":"a bü.csv","size":1}` + "\n" + `orders landed 2026-03-04 {"file":"c.csv","size":3}`
	const fromSNS = `[{path: $.Message, decode: json}, '$.Records[*]']`
	const fromQueue = `['$.Records[*]', {path: $.body, decode: json}, {path: $.Message, decode: json}, '$.Records[*]']`
	for name, c := range map[string]struct{ each, message, want string }{
		"itself":             {`$.Records[*]`, two, want},
		"whole message":      {`'$$.Records[*]'`, two, want},
		"SNS":                {fromSNS, bySNS(two), want},
		"SNS, a test event":  {fromSNS, bySNS(`{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"lake"}`), ""},
		"SNS, not JSON":      {fromSNS, bySNS("hello"), `source objects: an element is left out: each[0]: cannot decode "hello" as json: it is not JSON`},
		"SQS and SNS":        {fromQueue, bySQS(bySNS(two)), want},
		"SQS, one bad body":  {fromQueue, bySQS(bySNS(records(record("orders/2026-03-03/a", 1))), "{"), `orders landed 2026-03-03 {"file":"a","size":1}` + "\n" + `source objects: an element is left out: each[1]: cannot decode "{" as json: it is not JSON`},
		"nothing":            {fromQueue, `{"hello": 1}`, ""},
		"a bad period":       {`$.Records[*]`, records(record("orders/monday/a", 1), record("orders/2026-03-04/c.csv", 3)), `orders landed 2026-03-04 {"file":"c.csv","size":3}` + "\n" + `source objects, write[0]: element 0: nothing is written: the period cannot be read`},
		"a bad encoding":     {`$.Records[*]`, records(record("orders/%zz", 1)), `source objects: element 0: nothing is written: match[0]: cannot decode "orders/%zz" as url: it is not percent-encoded UTF-8`},
		"a key without text": {`$.Records[*]`, `{"Records":[{"s3":{"object":{"key":5}}}]}`, `source objects: element 0: nothing is written: match[0]: cannot decode 5 as url: it is not text`},
	} {
		if got := mapped(t, objectsFrom(t, c.each), c.message); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// A message that the conditions on the whole of it exclude is not split.
func TestTwoDollarsReadTheWholeMessage(t *testing.T) {
	set := mustLoad(t, `source: {id: cells, owner: x, format: cloudevents}
each: {path: $.data, decode: [base64, json]}
match: [{path: $$.type, equals: cells}, {path: $.day, exists: true}]
write:
  - {pipeline: orders, key: {path: $.key}, period: {path: $.day}, fields: {id: {path: $$.id}, n: {path: $.n, decode: [base64]}}}
`)
	for data, want := range map[string]string{
		"!":  `source cells: an element is left out: each[0]: cannot decode "!" as base64: it is not base64`,
		"_w": `source cells: an element is left out: each[0]: cannot decode "_w" as base64: the result is not UTF-8 text`,
		"eyJkYXkiOjIwMjYwMzAzLCJrZXkiOiJhL2IiLCJuIjoiWFFcdTAwM2RcdTAwM2QifQ":                              `orders a/b 2026-03-03 {"id":"1","n":"]"}`,
		base64.StdEncoding.EncodeToString([]byte(`{"day":"2026-03-03","key":[1]}`)):                       `source cells, write[0]: element 0: nothing is written: $["key"] finds [1], which is not text`,
		base64.StdEncoding.EncodeToString([]byte(`{"day":"2026-03-03"}`)):                                 `source cells, write[0]: element 0: nothing is written: $["key"] finds nothing`,
		base64.RawURLEncoding.EncodeToString([]byte(`{"day":"2026-03-03T10:00:00","key":"i","x":"?>?"}`)): `source cells, write[0]: element 0: nothing is written: the period cannot be read: "2026-03-03T10:00:00" is an instant without a time zone`,
		base64.RawURLEncoding.EncodeToString([]byte(`{"day":"2026-03-03","key":"i","n":"not base64"}`)):   `orders i 2026-03-03 {"id":"1"}` + "\n" + `source cells, write[0]: element 0: field n is left out: cannot decode "not base64" as base64`,
	} {
		got := show(set.Map(source.CloudEvents, event(t, fmt.Sprintf(`{"type":"cells","id":"1","data":%q}`, data))))
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", data, got, want)
		}
	}
	if got := set.Map(source.CloudEvents, event(t, `{"type":"other","id":"1","data":"!"}`)); got != nil {
		t.Errorf("another type: %s", show(got))
	}
}

func TestInstantIsKeptForThePipelinesSlice(t *testing.T) {
	d := mustLoad(t, `source: {id: at, owner: x, format: json}
write: [{pipeline: orders, key: k, period: {path: $.at}, fields: {n: 1}}]
`).Get("at")
	for at, want := range map[string]string{
		"2026-03-03T23:30:00Z": "2026-03-03T23:30:00Z", "2026-03-03T23:30:00.5-05:00": "2026-03-04T04:30:00.5Z",
		"2026-03-03 23:30:00+0100": "2026-03-03T22:30:00Z", "2026-03-03T23:30Z": "2026-03-03T23:30:00Z", "2026-03-03T23:30": "",
	} {
		m, ok := d.Map(event(t, fmt.Sprintf(`{"at":%q}`, at)))
		if !ok || len(m.Writes) != 1 {
			t.Errorf("%s: %v", at, m.Problems)
			continue
		}
		got := ""
		if w := m.Writes[0]; !w.Instant.IsZero() {
			got = w.Instant.Format("2006-01-02T15:04:05.999Z07:00")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

func TestMessageHasBounds(t *testing.T) {
	d := objectsFrom(t, `$.Records[*]`)
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, record(fmt.Sprintf("orders/2026-03-03/%d", i), i))
		}
		return records(all...)
	}
	m, _ := d.Map(event(t, many(1000)))
	if len(m.Writes) != 1000 || m.Over != "" {
		t.Errorf("%d readings, %s", len(m.Writes), m.Over)
	}
	if m, _ := d.Map(event(t, many(1001))); m.Over != "the message gives more than 1000 readings" {
		t.Errorf("1001 records: %q", m.Over)
	}
	if m, _ := d.Map(event(t, `{"Records":[`+strings.Repeat("1,", 10_000)+`1]}`)); m.Over != "the message has more than 10000 elements" {
		t.Errorf("10001 elements: %q", m.Over)
	}
	bad := strings.ReplaceAll(many(100), "2026-03-03", "someday")
	if m, _ := d.Map(event(t, bad)); len(m.Problems) != 21 || m.Problems[20].Message != "80 more problems" {
		t.Errorf("%d problems, the last: %v", len(m.Problems), m.Problems[len(m.Problems)-1])
	}
}

// The members of an object have no order, so their readings are identified by their content.
func TestElementKeepsItsIdentity(t *testing.T) {
	d := mustLoad(t, `source: {id: s, owner: x, format: json}
each: $.files.*
write: [{pipeline: orders, key: k, fields: {n: {path: $.n}}}]
`).Get("s")
	entries := func(text string) map[string]bool {
		m, _ := d.Map(event(t, text))
		all := map[string]bool{}
		for _, w := range m.Writes {
			all[w.Entry] = true
		}
		return all
	}
	one, other := entries(`{"files":{"a":{"n":1},"b":{"n":1},"c":{"n":2}}}`), entries(`{"files":{"c":{"n":1},"b":{"n":2},"a":{"n":1}}}`)
	if len(one) != 3 {
		t.Errorf("%d entries", len(one))
	}
	for entry := range one {
		if !other[entry] {
			t.Errorf("%q is missing", entry)
		}
	}
	for range 20 {
		if got := mapped(t, d, `{"files":{"a":{"n":1},"b":{"n":2},"c":{"n":3}}}`); strings.ReplaceAll(got, "  ", " ") != "orders k {\"n\":1}\norders k {\"n\":2}\norders k {\"n\":3}" {
			t.Fatalf("order: %s", got)
		}
	}
}

func TestDeepDataIsAProblemOfItsField(t *testing.T) {
	d := mustLoad(t, `source: {id: s, owner: x, format: json}
write: [{pipeline: orders, key: k, fields: {deep: {path: $.deep}, n: 1}}]
`).Get("s")
	nested := func(n int) string { return `{"deep":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	if got := mapped(t, d, nested(31)); strings.Contains(got, "left out") {
		t.Errorf("31 levels: %s", got)
	}
	if got := mapped(t, d, nested(32)); !strings.Contains(got, `field deep is left out: $["deep"] finds a value that a reading cannot hold: data is nested deeper than 32 levels`) {
		t.Errorf("32 levels: %s", got)
	}
	if _, err := source.DecodeEvent([]byte(nested(99))); err != nil {
		t.Errorf("100 levels: %v", err)
	}
	if _, err := source.DecodeEvent([]byte(nested(100))); err == nil {
		t.Error("101 levels are accepted")
	}
}

func TestMistakesInPathsSayHowToWriteThem(t *testing.T) {
	const file = "source: {id: s, owner: x, format: json}\neach: %s\nmatch: [{path: %s, exists: true}]\nwrite: [{pipeline: orders, key: k, fields: {n: 1}}]\n"
	for path, want := range map[string]string{
		"$.detail-type":     "write $['detail-type']",
		"$$.detail-type":    "write $$['detail-type']",
		"$.a.detail-type.b": "write $.a['detail-type'].b",
		"$..detail-type[0]": "write $..['detail-type'][0]",
		"detail.x":          "write $.detail.x",
		"$.a['b c'].d-e":    "write $.a['b c']['d-e']",
		"$.aws:region":      "write $['aws:region']",
		"$.a[":              "is not a JSONPath",
		`$["a-b"].c-d[0,1]`: `write $["a-b"]['c-d'][0,1]`,
	} {
		quoted := strconv.Quote(path)
		for _, text := range []string{fmt.Sprintf(file, "$", quoted), fmt.Sprintf(file, quoted, "$.x")} {
			if loaded := load(t, text); len(loaded.Refused) != 1 || !strings.Contains(fmt.Sprint(loaded.Problems), want) {
				t.Errorf("%s: %v, want %s", path, loaded.Problems, want)
			}
		}
	}
	for each, want := range map[string]string{
		"[]":                               "each: is empty",
		"[$.a, $$.b]":                      "each[1]: a step selects from what the one before gave",
		"[$.a, {path: $.b, decode: jsn}]":  `each[1].decode: unknown value "jsn"; did you mean "json"?`,
		"{path: $.b, decode: [url, gzip]}": `each.decode[1]: expected url, base64 or json, found`,
		"{pth: $.b}":                       `each.pth: unknown key "pth"; did you mean "path"?`,
		"[$.a, [$.b]]":                     "each[1]: expected a path or {path: $…, decode: …}, found a list",
	} {
		if loaded := load(t, fmt.Sprintf(file, each, "$.x")); len(loaded.Refused) != 1 || !strings.Contains(fmt.Sprint(loaded.Problems), want) {
			t.Errorf("want %s, got %v", want, loaded.Problems)
		}
	}
}
