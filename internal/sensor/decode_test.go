package sensor_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/sensor"
)

func TestDecodeKeepsEachKindOfValue(t *testing.T) {
	got, err := sensor.Decode([]byte(` {"text":"a","yes":true,"none":null,"int":9223372036854775807,"min":-9223372036854775808,` +
		`"big":9223372036854775808,"exp":1e3,"frac":0.5,"list":[1,"x",[]],"map":{"in":{"n":1}}} `))
	if err != nil {
		t.Fatal(err)
	}
	want := sensor.Fields{
		"text": "a", "yes": true, "none": nil, "int": int64(math.MaxInt64), "min": int64(math.MinInt64),
		"big": float64(1 << 63), "exp": 1000.0, "frac": 0.5,
		"list": []any{int64(1), "x", []any{}}, "map": map[string]any{"in": map[string]any{"n": int64(1)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRejectsNonObjects(t *testing.T) {
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	for name, tc := range map[string]struct{ data, says string }{
		"nothing":          {"", "data is empty"},
		"blanks":           {" \n", "data is empty"},
		"a list":           {"[1]", "data is a list"},
		"text":             {`"x"`, "data is text"},
		"a number":         {"1", "data is a number"},
		"null":             {"null", "data is null"},
		"a bool":           {"true", "data is true or false"},
		"garbage":          {"nope", "not JSON"},
		"cut":              {`{"a":`, "ends in the middle"},
		"cut in a text":    {`{"a":"b`, "ends in the middle"},
		"cut in a list":    {`{"a":[1,`, "ends in the middle"},
		"no JSON":          {"{a: 1}", "not JSON: at byte 1"},
		"trailing comma":   {`{"a":1,}`, "not JSON"},
		"comma in a list":  {`{"a":[1,]}`, "not JSON"},
		"wrong brace":      {`{"a":[1}`, "not JSON"},
		"two objects":      {`{}{}`, "unexpected data after"},
		"garbage behind":   {`{} x`, "unexpected data after"},
		"a NaN":            {`{"a":NaN}`, "not JSON"},
		"overflow":         {`{"a":{"b":[1e400]}}`, `field "a.b": "1e400" is not a number that fits`},
		"twice":            {`{"a":1,"b":{"c":1,"c":2}}`, `field "b.c" twice`},
		"twice by escape":  {`{"a":1,"\u0061":1}`, `field "a" twice`},
		"no UTF-8":         {"{\"a\":\"\xff\"}", "not valid UTF-8"},
		"a raw NUL":        {"{\"a\":\"\x00\"}", "not JSON"},
		"nested lists":     {`{"a":` + deep("[", "]", 32) + `}`, "deeper than 32"},
		"nested objects":   {strings.Repeat(`{"a":`, 32) + "{}" + strings.Repeat("}", 32), "deeper than 32"},
		"endless brackets": {`{"a":` + strings.Repeat("[", 60000), "deeper than 32"},
		"too large":        {`{"a":"` + strings.Repeat("x", sensor.MaxBytes) + `"}`, "at most 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sensor.Decode([]byte(tc.data))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, %v; want an error that says %q", got, err, tc.says)
			}
		})
	}
}

func TestDecodeAcceptsTheLargestAllowed(t *testing.T) {
	data := `{"a":"` + strings.Repeat("x", sensor.MaxBytes-8) + `"}`
	if _, err := sensor.Decode([]byte(data)); err != nil {
		t.Errorf("%d bytes: %v", len(data), err)
	}
	for _, nested := range []string{
		strings.Repeat(`{"a":`, 31) + "{}" + strings.Repeat("}", 31),
		`{"a":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`,
	} {
		fields, err := sensor.Decode([]byte(nested))
		if err != nil {
			t.Errorf("32 levels: %v", err)
		}
		if _, err := sensor.Normalize(fields); err != nil {
			t.Errorf("32 levels: %v", err)
		}
	}
}

func TestNormalizeConvertsForeignTypes(t *testing.T) {
	at := time.Date(2026, 3, 3, 7, 0, 0, 5000, time.UTC)
	got, err := sensor.Normalize(map[string]any{
		"int": 1, "i8": int8(-1), "i16": int16(2), "i32": int32(3), "i64": int64(4),
		"u": uint(5), "u8": uint8(6), "u16": uint16(7), "u32": uint32(8), "u64": uint64(math.MaxUint64),
		"f32": float32(0.5), "f64": 1.5, "num": json.Number("12"), "real": json.Number("1.5"), "at": at,
		"list": []any{1, map[any]any{"x": 2}}, "fields": sensor.Fields{"y": nil}, "yes": true, "text": "t",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"int": int64(1), "i8": int64(-1), "i16": int64(2), "i32": int64(3), "i64": int64(4),
		"u": int64(5), "u8": int64(6), "u16": int64(7), "u32": int64(8), "u64": float64(1 << 64),
		"f32": 0.5, "f64": 1.5, "num": int64(12), "real": 1.5, "at": "2026-03-03T07:00:00.000005Z",
		"list": []any{int64(1), map[string]any{"x": int64(2)}}, "fields": map[string]any{"y": nil}, "yes": true, "text": "t",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNormalizeRejectsUnsupportedValues(t *testing.T) {
	loop, object, named := []any{nil}, map[string]any{}, map[any]any{}
	loop[0], object["o"], named["n"] = loop, object, named
	for name, tc := range map[string]struct {
		value any
		says  string
	}{
		"a struct":                 {struct{}{}, "cannot contain a struct"},
		"a channel":                {map[string]any{"c": make(chan int)}, `field "c": a reading cannot contain`},
		"NaN":                      {math.NaN(), "not a finite number"},
		"infinity":                 {[]any{math.Inf(-1)}, "not a finite number"},
		"overflow":                 {json.Number("1e999"), "fits into 64 bits"},
		"no UTF-8":                 {"\xff", "not valid UTF-8"},
		"a number key":             {map[any]any{1: 2}, "names must be text"},
		"a loop":                   {loop, "deeper than 32"},
		"an object in itself":      {object, "deeper than 32"},
		"another kind in itself":   {named, "deeper than 32"},
		"no UTF-8 in another kind": {map[any]any{"x": "\xff"}, `field "x": text`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sensor.Normalize(tc.value)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, %v; want an error that says %q", got, err, tc.says)
			}
		})
	}
}

// FuzzDecode compares with encoding/json: what Decode accepts is JSON with the same meaning, and
// what it rejects breaks one of the limits.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"b":[true,null,"x"],"c":{"d":1e3}}`, `{"a":1,"a":2}`, `{"a":[1,]}`, `[{}]`, `{"a":1e999}`, "{\"\\ud800\":\"\xff\"}",
		`{"date":"2026-03-03","hour":7}`, `{"n":9223372036854775808}`, `{"a":-0}`, strings.Repeat(`{"a":`, 40),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := sensor.Decode(data)
		var want map[string]any
		refused := json.Unmarshal(data, &want)
		if err != nil {
			if limit := regexp.MustCompile(`twice|deeper|at most|UTF-8|fits`); refused == nil && want != nil && !limit.MatchString(err.Error()) {
				t.Fatalf("rejected %q: %v", data, err)
			}
			return
		}
		if refused != nil || want == nil {
			t.Fatalf("accepted %q, which is not an object: %v", data, refused)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("decoded %q, which is not JSON: %v", data, err)
		}
		var again map[string]any
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, again); diff != "" {
			t.Fatalf("decoded %q differently: %s", data, diff)
		}
		if back, err := sensor.Decode(text); len(text) <= sensor.MaxBytes && (err != nil || !sensor.SameData(got, back)) {
			t.Fatalf("own output %q differs: %v", text, err)
		}
	})
}
