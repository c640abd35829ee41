package document_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// farm is a file with a field of every sort.
type farm struct {
	Name    string                   `yaml:"name" required:"true" pattern:"^[a-z][a-z-]*$" hint:"use lower-case letters and dashes" doc:"What it is called."`
	Owner   owner                    `yaml:"owner" required:"true" doc:"Who runs it."`
	Open    bool                     `yaml:"open" default:"true"`
	Hectare float64                  `yaml:"hectare" above:"0" max:"1000"`
	Cows    int                      `yaml:"cows" min:"0" max:"10" default:"3"`
	Hens    uint8                    `yaml:"hens"`
	Milking document.Duration        `yaml:"milking" default:"12h" min:"1m" max:"1d"`
	Rest    *document.Duration       `yaml:"rest" above:"0s"`
	Mode    string                   `yaml:"mode" enum:"all,any" fold:"true" default:"all"`
	Soil    string                   `yaml:"soil" enum:"clay,sand,loam"`
	Days    []string                 `yaml:"days" minItems:"1" enum:"monday,tuesday" fold:"true"`
	Fields  []plot                   `yaml:"fields" doc:"Its plots."`
	Labels  map[string]string        `yaml:"labels"`
	Env     map[string]document.Text `yaml:"env"`
	Note    any                      `yaml:"note"`
	Gate    colour                   `yaml:"gate"`
	Call    *document.TextOrList     `yaml:"call"`
	Raw     document.Node            `yaml:"raw"`
	Tree    *branch                  `yaml:"tree"`
	Tenant  *owner                   `yaml:"tenant"`
	//lint:ignore U1000 it is there to be passed over
	hidden string
}

type owner struct {
	ID    string `yaml:"id" required:"true" doc:"A unique name."`
	Phone string `yaml:"phone" default:"none"`
}

type plot struct {
	Key  string `yaml:"key" required:"true"`
	Size int    `yaml:"size" min:"1" default:"1"`
}

type branch struct {
	Leaf  string    `yaml:"leaf"`
	Twigs []*branch `yaml:"twigs"`
}

type colour struct{ name string }

func (c *colour) UnmarshalText(text []byte) error {
	if string(text) != "red" && string(text) != "green" {
		return errors.New("no such colour; use red or green")
	}
	c.name = string(text)
	return nil
}

func (colour) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"red", "green"}}
}

const head = "name: hill\nowner: {id: ann}\n"

// problems are the problems of a file, as text, in order.
func problems(t *testing.T, src string, into any) []string {
	t.Helper()
	d, found := document.Parse("f.yaml", []byte(src))
	if (d == nil) != (len(found) > 0) {
		t.Fatalf("Parse gave document %v with problems %v", d != nil, found)
	}
	if d != nil {
		found = d.Decode(into)
	}
	var texts []string
	for _, p := range found {
		texts = append(texts, strings.TrimPrefix(p.String(), "f.yaml:"))
	}
	return texts
}

func TestEveryProblemHasItsPlaceAndSaysWhatWouldBeRight(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"unknown key, near":    {head + "cow: 1\n", `3:1: cow: unknown key "cow"; did you mean "cows"?`},
		"unknown key, case":    {head + "Cows: 1\n", `3:1: Cows: unknown key "Cows"; did you mean "cows"?`},
		"unknown key, far":     {"name: hill\nowner: {id: ann, zzzzz: 1}\n", `2:18: owner.zzzzz: unknown key "zzzzz"; use one of id, phone`},
		"unknown, quoted path": {head + "a b: 1\n", `3:1: ["a b"]: unknown key "a b"; use one of ` + strings.Join(farmKeys, ", ")},
		"missing at top":       {"owner: {id: ann}\n", `1:1: name: is required: use lower-case letters and dashes`},
		"missing below":        {"name: hill\nowner:\n  phone: x\n", `2:1: owner.id: is required: A unique name`},
		"missing in item":      {head + "fields:\n  - key: a\n  - size: 2\n", `5:5: fields[1].key: is required`},
		"null is missing":      {"name: hill\nowner:\n  id: ~\n", `3:7: owner.id: is required: A unique name`},
		"emptied section":      {head + "tenant:\n", `3:1: tenant.id: is required: A unique name`},
		"nothing is missing":   {"name: hill\nowner:\n  id:\n", `3:3: owner.id: is required: A unique name`},
		"empty is missing":     {"name: hill\nowner:\n  id: ''\n", `3:7: owner.id: must not be empty: A unique name`},
		"section missing":      {"name: hill\n", `1:1: owner: is required: Who runs it`},
		"section empty":        {"name: hill\nowner:\n", `2:1: owner: is required: Who runs it`},
		"repeated":             {head + "cows: 1\ncows: 2\n", `4:1: cows: repeated key "cows"; first at 3:1`},
		"repeated below":       {head + "fields:\n- key: a\n  size: 1\n  size: 2\n", `6:3: fields[0].size: repeated key "size"; first at 5:3`},
		"repeated in brackets": {head + "labels: {a: x, b: y, a: z}\n", `3:22: labels.a: repeated key "a"; first at 3:10`},
		"repeated in any":      {head + "note: {a: {b: 1, b: 2}}\n", `3:18: note.a.b: repeated key "b"; first at 3:12`},
		"repeated as quoted":   {head + "labels: {a: x, \"a\": z}\n", `3:16: labels.a: repeated key "a"; first at 3:10`},
		"pattern":              {"name: Hill\nowner: {id: ann}\n", `1:7: name: "Hill" is not allowed; use lower-case letters and dashes`},
		"text, number":         {"name: 5\nowner: {id: ann}\n", `1:7: name: "5" is not allowed; use lower-case letters and dashes`},
		"text, bool":           {head + "soil: true\n", `3:7: soil: unknown value "true"; use one of clay, sand, loam`},
		"text, list":           {head + "soil: [a]\n", `3:7: soil: expected text, found a list`},
		"text, block mapping":  {head + "soil:\n  a: b\n", `3:1: soil: expected text, found a mapping`},
		"bool, text":           {head + "open: yes\n", `3:7: open: expected true or false, found the text "yes"`},
		"bool, number":         {head + "open: 1\n", `3:7: open: expected true or false, found the number 1`},
		"int, text":            {head + "cows: \"5\"\n", `3:7: cows: expected a whole number, found the text "5"`},
		"int, float":           {head + "cows: 1.5\n", `3:7: cows: expected a whole number, found the number 1.5`},
		"int, above":           {head + "cows: 11\n", `3:7: cows: is 11; must be from 0 to 10`},
		"int, below":           {head + "cows: -1\n", `3:7: cows: is -1; must be from 0 to 10`},
		"int, huge":            {head + "cows: 99999999999999999999\n", `3:7: cows: is 99999999999999999999; must be from 0 to 10`},
		"uint8, huge":          {head + "hens: 256\n", `3:7: hens: 256 is out of range`},
		"uint8, negative":      {head + "hens: -1\n", `3:7: hens: -1 is out of range`},
		"float, text":          {head + "hectare: many\n", `3:10: hectare: expected a number, found the text "many"`},
		"float, zero":          {head + "hectare: 0\n", `3:10: hectare: is 0; must be above 0 and at most 1000`},
		"float, infinite":      {head + "hectare: .inf\n", `3:10: hectare: .inf is not a finite number`},
		"any, not a number":    {head + "note: [1, .nan]\n", `3:11: note[1]: .nan is not a finite number`},
		"duration, no unit":    {head + "milking: 60\n", `3:10: milking: 60 has no unit; write a duration such as 60s or 60m`},
		"duration, nonsense":   {head + "milking: soon\n", `3:10: milking: "soon" is not a duration; write one such as 30s, 5m, 1h30m or 2d`},
		"duration, negative":   {head + "milking: -5m\n", `3:10: milking: "-5m" is negative; write a duration such as 30s, 5m, 1h30m or 2d`},
		"duration, short":      {head + "milking: 1s\n", `3:10: milking: is 1s; must be from 1m to 1d`},
		"duration, zero":       {head + "rest: 0s\n", `3:7: rest: is 0s; must be above 0s`},
		"duration, list":       {head + "rest: [1]\n", `3:7: rest: expected a duration such as 30s, 5m, 1h30m or 2d, found a list`},
		"enum, near":           {head + "soil: caly\n", `3:7: soil: unknown value "caly"; did you mean "clay"?`},
		"enum, other case":     {head + "soil: Clay\n", `3:7: soil: unknown value "Clay"; did you mean "clay"?`},
		"enum, far":            {head + "soil: x\n", `3:7: soil: unknown value "x"; use one of clay, sand, loam`},
		"enum in list":         {head + "days: [Monday, tuesdy]\n", `3:16: days[1]: unknown value "tuesdy"; did you mean "tuesday"?`},
		"empty list":           {head + "days: []\n", `3:7: days: is empty; must have at least one item`},
		"list, text":           {head + "days: monday\n", `3:7: days: expected a list, found the text "monday"`},
		"list, empty item":     {head + "days:\n- monday\n-\n", `5:1: days[1]: expected text, found nothing`},
		"map, list":            {head + "labels: [a]\n", `3:9: labels: expected a mapping, found a list`},
		"map, number":          {head + "labels:\n  a b: 1\n", `4:8: labels["a b"]: expected text, found the number 1; write "1"`},
		"map, null":            {head + "labels:\n  a:\n", `4:3: labels.a: expected text, found nothing`},
		"struct, text":         {"name: hill\nowner: ann\n", `2:8: owner: expected a mapping, found the text "ann"`},
		"own type":             {head + "gate: blue\n", `3:7: gate: no such colour; use red or green`},
		"own type, number":     {head + "gate: 1\n", `3:7: gate: no such colour; use red or green`},
		"text or list":         {head + "call: {a: 1}\n", `3:7: call: expected a text or a list of texts, found a mapping`},
		"text or list, item":   {head + "call: [a, [b]]\n", `3:11: call[1]: expected a text, found a list`},
		"recursive":            {head + "tree:\n  twigs:\n  - leaf: a\n  - twigs: [{leef: b}]\n", `6:14: tree.twigs[1].twigs[0].leef: unknown key "leef"; did you mean "leaf"?`},
		"empty branch":         {head + "tree: {twigs: [~]}\n", `3:16: tree.twigs[0]: expected a value, found nothing`},
		"wide characters":      {head + "labels: {ключ: значение, ü: 1}\n", `3:29: labels["ü"]: expected text, found the number 1; write "1"`},
		"carriage returns":     {"name: hill\r\nowner:\r\n  id: ann\r\n  phon: 1\r\n", `4:3: owner.phon: unknown key "phon"; did you mean "phone"?`},
		"byte order mark":      {"\ufeffname: hill\nowner: {id: ann}\ncow: 1\n", `3:1: cow: unknown key "cow"; did you mean "cows"?`},
		"mark on line one":     {"\ufeffnama: hill\nname: hill\nowner: {id: ann}\n", `1:1: nama: unknown key "nama"; did you mean "name"?`},
		"alias at its place":   {"name: hill\nowner: &o {id: ann}\nsoil: *o\n", `3:7: soil: expected text, found a mapping`},
		"merged key":           {"name: hill\nowner: &o {id: ann}\ntree:\n  <<: *o\n", `2:12: tree.id: unknown key "id"; use one of leaf, twigs`},
		"repeated merge":       {"name: hill\nowner: &o {id: ann}\nlabels:\n  <<: *o\n  <<: *o\n", `5:3: labels["<<"]: repeated key "<<"; first at 4:3`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tt.want}, problems(t, tt.src, new(farm))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

var farmKeys = strings.Fields("name owner open hectare cows hens milking rest mode soil days fields labels env note gate call raw tree tenant")

func TestAllProblemsOfAFileAreInOneReportInOrder(t *testing.T) {
	src := "tree:\n  leef: x\ncows: 11\nfields:\n- size: 0\n- key: a\n  key: b\nopen: on\nmilking: 1\n"
	want := []string{
		`1:1: name: is required: use lower-case letters and dashes`,
		`1:1: owner: is required: Who runs it`,
		`2:3: tree.leef: unknown key "leef"; did you mean "leaf"?`,
		`3:7: cows: is 11; must be from 0 to 10`,
		`5:3: fields[0].key: is required`,
		`5:9: fields[0].size: is 0; must be at least 1`,
		`7:3: fields[1].key: repeated key "key"; first at 6:3`,
		`8:7: open: expected true or false, found the text "on"`,
		`9:10: milking: 1 has no unit; write a duration such as 1s or 1m`,
	}
	if diff := cmp.Diff(want, problems(t, src, new(farm))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPastAHundredProblemsAreOnlyCounted(t *testing.T) {
	var src strings.Builder
	src.WriteString(head)
	for i := range 150 {
		fmt.Fprintf(&src, "x%d: 1\n", i)
	}
	got := problems(t, src.String(), new(farm))
	if len(got) != 101 || got[100] != "102:1: and 50 more problems" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	if !strings.HasPrefix(got[99], "102:1: x99: unknown key") {
		t.Errorf("the hundredth is %q", got[99])
	}
}

func TestAGoodFileFillsEveryField(t *testing.T) {
	src := head + `open: false
hectare: 1e2
cows: 010
hens: 0xff
milking: 1d
rest: 1.5h
mode: ANY
soil: loam
days: [MONDAY]
fields:
- key: a
- {key: "5", size: 2}
labels: {200: ok, true: 'yes', "a.b": |
  two
  lines
}
env: {PORT: 8080, ON: true, RATE: 1.50, NAME: x}
note: [1, 2.5, text, ~, true, {k: v}, 1_000, 99999999999999999999]
gate: green
call: [sleep, 5]
raw: {x: 1}
tree: {twigs: [{leaf: a}]}
`
	src = strings.ReplaceAll(src, "\"a.b\": |\n  two\n  lines\n}", "\"a.b\": \"two\\nlines\"}")
	var got farm
	if found := problems(t, src, &got); found != nil {
		t.Fatalf("%q", found)
	}
	rest := document.Duration(90 * 60 * 1e9)
	want := farm{
		Name: "hill", Owner: owner{ID: "ann", Phone: "none"}, Hectare: 100, Cows: 10, Hens: 255,
		Milking: document.Duration(24 * 3600 * 1e9), Rest: &rest, Mode: "any", Soil: "loam", Days: []string{"monday"},
		Fields: []plot{{"a", 1}, {"5", 2}},
		Labels: map[string]string{"200": "ok", "true": "yes", "a.b": "two\nlines"},
		Env:    map[string]document.Text{"PORT": "8080", "ON": "true", "RATE": "1.50", "NAME": "x"},
		Note:   []any{int64(1), 2.5, "text", nil, true, map[string]any{"k": "v"}, "1_000", 1e20},
		Gate:   colour{"green"}, Call: &document.TextOrList{Values: []string{"sleep", "5"}},
		Tree: &branch{Twigs: []*branch{{Leaf: "a"}}},
	}
	raw := got.Raw
	got.Raw = document.Node{}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(farm{}, colour{}, document.Node{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(map[string]any{"x": int64(1)}), raw.Value()); diff != "" {
		t.Errorf("raw (-want +got):\n%s", diff)
	}
}

func TestAbsentAndNullFieldsHaveTheirDefaults(t *testing.T) {
	for _, src := range []string{head, head + "cows:\nmilking: ~\nmode: null\nopen:\ndays:\ntree:\nnote:\ncall:\n"} {
		var got farm
		if found := problems(t, src, &got); found != nil {
			t.Fatalf("%q", found)
		}
		want := farm{
			Name: "hill", Owner: owner{ID: "ann", Phone: "none"}, Open: true, Cows: 3, Mode: "all",
			Milking: document.Duration(12 * 3600 * 1e9),
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(farm{}, colour{}, document.Node{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestAWrongFieldKeepsItsDefault(t *testing.T) {
	var got farm
	problems(t, head+"cows: 11\nmilking: 1s\nmode: none\nopen: maybe\nrest: 0s\ncall: {}\n", &got)
	if got.Rest != nil || got.Call != nil {
		t.Errorf("a wrong value is not nil: %v, %v", got.Rest, got.Call)
	}
	if got.Cows != 3 || got.Milking.String() != "12h" || got.Mode != "all" || !got.Open {
		t.Errorf("got %+v", got)
	}
}

func TestDefaultsReachIntoAbsentStructs(t *testing.T) {
	type inner struct {
		Wait  document.Duration  `yaml:"wait" default:"1m"`
		Limit *document.Duration `yaml:"limit" default:"2m"`
	}
	type base struct {
		Region string `yaml:"region" default:"here"`
	}
	type file struct {
		Inner inner `yaml:"inner"`
		base
		Name string `yaml:"name"`
	}
	var a, b file
	if found := problems(t, "name: x\n", &a); found != nil {
		t.Fatalf("%q", found)
	}
	problems(t, "name: x\nregion: there\n", &b)
	if a.Inner.Wait.String() != "1m" || a.Inner.Limit.String() != "2m" || a.Region != "here" || b.Region != "there" {
		t.Errorf("got %+v and %+v", a, b)
	}
	if a.Inner.Limit == b.Inner.Limit {
		t.Error("two files share one default")
	}
}
