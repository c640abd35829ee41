package template_test

import (
	"strings"
	"testing"
	"text/template"

	ours "github.com/interlock-go/interlock/internal/template"
)

var data = map[string]any{
	"Type": "JOB_FAILED", "Severity": "warning", "Pipeline": "orders", "Message": `exit "3"`, "Count": 3, "Owner": "",
	"Why": []any{"a", "b", "c"}, "Detail": map[string]any{"exitCode": 3.0, "nested": map[string]any{"x": "y"}},
}

// Over maps, the output equals that of text/template.
func TestSameAsTheStandardLibrary(t *testing.T) {
	for _, text := range []string{
		"plain", "{{.Type}} of {{.Pipeline}}", "{{if .Owner}}x{{else}}none{{end}}", "{{if and .Type (eq .Severity \"warning\" \"critical\")}}yes{{end}}",
		"{{range .Why}}<{{.}}>{{end}}", "{{range $i, $w := .Why}}{{if $i}}, {{end}}{{$w}}{{end}}", "{{range .Detail.missing}}x{{else}}nothing{{end}}",
		"{{with .Detail}}{{.exitCode}} {{.nested.x}}{{end}}", "{{$p := .Pipeline}}{{with .Type}}{{$p}} {{$.Count}}{{end}}", "{{- .Type -}}  x  {{- /* c */ -}}",
		"{{len .Why}} {{index .Why 1}} {{index .Detail \"exitCode\"}}", "{{printf \"%s-%d\" .Pipeline .Count}}", "{{.Pipeline | printf \"%s!\" | len}}",
		"{{if gt .Count 2}}many{{end}}{{if lt .Count 2}}few{{end}}{{if not .Owner}}nobody{{end}}", "{{range .Why}}{{if eq . \"b\"}}{{continue}}{{end}}{{.}}{{end}}",
		"{{range .Why}}{{if eq . \"b\"}}{{break}}{{end}}{{.}}{{end}}", "{{$x := 1}}{{if true}}{{$x = 2}}{{end}}{{$x}}", "{{range $k, $v := .Detail.nested}}{{$k}}={{$v}}{{end}}",
		"{{if ne .Type \"x\"}}a{{else if .Owner}}b{{else}}c{{end}}", "{{or .Owner \"default\"}}", "{{(index .Why 0) | print}}",
	} {
		want := &strings.Builder{}
		if err := template.Must(template.New("").Parse(text)).Execute(want, data); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		parsed, err := ours.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := parsed.Render(data); err != nil || got != want.String() {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want.String())
		}
	}
}

func TestFunctionsForBodies(t *testing.T) {
	for text, want := range map[string]string{
		"{{json .Message}}":             `"exit \"3\""`,
		"{{upper .Type | lower}}":       "job_failed",
		"{{default \"–\" .Owner}}":      "–",
		"{{join \", \" .Why}}":          "a, b, c",
		"{{truncate 4 .Type}}":          "JOB…",
		"{{replace \"_\" \" \" .Type}}": "JOB FAILED",
		"{{json .Why}}":                 `["a","b","c"]`,
		"{{.Detail.nothing}}":           "",
	} {
		parsed, err := ours.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parsed.Render(data); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Pipline}}": "there is no field Pipline; there are ", "{{if}}": "missing value", "{{nothing .}}": "nothing",
		"{{range .Type}}{{end}}": "not a list", "{{define \"x\"}}{{end}}": "not supported", "{{.Type.x}}": "no field x", "{{truncate .Type}}": "number of characters",
	} {
		parsed, err := ours.Parse(text)
		if err == nil {
			_, err = parsed.Render(data)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
