// Package document reads YAML files strictly: into Go types, with every problem of a file in one
// report, each at its line and column. It also builds the JSON Schema of the same types. It knows
// nothing about pipelines: packages describe their files as structs with tags (see Document.Decode)
// and checks that return Findings.
//
// A file goes through four steps, each in its own file: guard.go rejects input that would be costly
// to read, tree.go turns the library's syntax tree into nodes (aliases and merges resolved),
// decode.go fills Go values by the plan that plan.go made of their type, schema.go describes that
// plan as JSON Schema.
package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity is the severity of a problem. Errors make a file unusable, warnings do not.
type Severity string

// The severities, as they appear in reports.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is a problem at a path inside a value, before the position of the value is known.
type Finding struct {
	Path     string   // "evaluation.window", "rules[2].value"; "" is the value itself
	Message  string   // what is wrong, and what would be right
	Severity Severity // "" means Error
	Also     []string // other paths involved in the problem; the report adds their positions
	Key      bool     // it is about the key at Path, not about its value
}

// HasErrors reports whether a finding is an error.
func HasErrors(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity != Warning })
}

// Under moves findings about a value to the path of that value.
func Under(path string, findings []Finding) []Finding {
	moved := make([]Finding, len(findings))
	for i, f := range findings {
		f.Path = JoinPath(path, f.Path)
		f.Also = slices.Clone(f.Also)
		for j := range f.Also {
			f.Also[j] = JoinPath(path, f.Also[j])
		}
		moved[i] = f
	}
	return moved
}

// When returns f if something is wrong.
func When(wrong bool, f Finding) []Finding {
	if !wrong {
		return nil
	}
	return []Finding{f}
}

// Each moves the findings about each value of a list to its path: "path[0]".
func Each[T any](path string, list []T, check func(T) []Finding) []Finding {
	var findings []Finding
	for i, one := range list {
		findings = append(findings, Under(fmt.Sprintf("%s[%d]", path, i), check(one))...)
	}
	return findings
}

// Problem is a finding at its position in a file.
type Problem struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Path     string   `json:"path"`
	Message  string   `json:"message"`
	Severity Severity `json:"severity"`
}

// String returns "file:line:column: path: message".
func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Column, p.Path, p.Message)
}

// Failed reports whether a problem is an error.
func Failed(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error })
}

// MaxBytes is the maximum size of a file.
const MaxBytes = 1 << 20

// maxProblems is how many problems one report lists; the rest are counted in a last line.
const maxProblems = 100

// Document is a parsed file that knows the position of every value.
type Document struct {
	file     string
	root     *node
	repeated []Problem // found while parsing, reported by Decode with the rest
}

// Decode fills the struct that into points to and reports every problem: unknown keys (with "did
// you mean"), repeated keys, wrong types, values out of bounds, missing required keys. Fields that
// are wrong keep their default.
//
// The struct says what is right by its tags:
//
//	yaml:"name"           the key; a field without it is not part of the file, an embedded struct is taken as inlined
//	doc:"one sentence"    the description
//	required:"true"       must be there and not null; a required text must not be empty. A pointer to a struct with such
//	                      a field may be absent, but not null
//	unless:"other"        with required: may be absent or null if the field other is set
//	default:"5m"          a scalar, taken when the key is absent or null
//	min, max, above       inclusive bounds and an exclusive lower bound, of numbers and Durations
//	minItems:"1"          of lists and mappings
//	enum:"a,b"            the allowed texts; with fold:"true" in any case, stored as listed
//	pattern:"RE2"         with hint:"what is right, in words"
//
// On a list or mapping, bounds, enum and pattern are about each of its values. A type that
// implements encoding.TextUnmarshaler is written as text; one with DecodeNode(Node) []Finding reads
// itself. Both say what they accept with JSONSchema() *jsonschema.Schema.
func (d *Document) Decode(into any) []Problem {
	findings := d.Root().Decode(into)
	problems := slices.Clone(d.repeated)
	for i := range problems {
		problems[i].File = d.file
	}
	failed := len(problems) > 0 || HasErrors(findings)
	return limit(append(problems, d.resolveSome(findings)...), len(d.repeated)+len(findings), failed)
}

// Resolve adds positions to findings: that of the key or value at Path, or of its nearest existing
// parent. The problems are ordered by line and column; after the hundredth they are only counted.
func (d *Document) Resolve(findings ...Finding) []Problem {
	return limit(d.resolveSome(findings), len(findings), HasErrors(findings))
}

// resolveSome resolves more findings than are ever reported, but not an unlimited number.
func (d *Document) resolveSome(findings []Finding) []Problem {
	var problems []Problem
	for _, f := range findings[:min(len(findings), 10*maxProblems)] {
		problems = append(problems, d.resolve(f))
	}
	return problems
}

// limit sorts problems and replaces those after the hundredth with their count, which is an error
// only if one of all the problems is: a file with only warnings stays usable.
func limit(problems []Problem, all int, failed bool) []Problem {
	SortProblems(problems)
	if all <= maxProblems {
		return problems
	}
	last := problems[maxProblems-1]
	last.Path, last.Severity = "", Warning
	if failed {
		last.Severity = Error
	}
	last.Message = fmt.Sprintf("and %d more problems", all-maxProblems)
	return append(problems[:maxProblems:maxProblems], last)
}

func (d *Document) resolve(f Finding) Problem {
	p := Problem{File: d.file, Path: f.Path, Message: f.Message, Severity: cmp.Or(f.Severity, Error)}
	p.Line, p.Column = d.place(f.Path, f.Key)
	for _, also := range f.Also {
		line, column := d.Position(also)
		p.Message += fmt.Sprintf(" (see %s at %d:%d)", also, line, column)
	}
	return p
}

// SortProblems sorts problems by file, line and column, stably.
func SortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Has reports whether the file itself has a non-null value at path.
func (d *Document) Has(path string) bool { return d.Root().has(path) }

// Root returns the whole file as a node.
func (d *Document) Root() Node { return Node{d.root} }

// Position returns the line and column of the value at path, or of its nearest existing parent;
// both count from 1, columns in characters.
func (d *Document) Position(path string) (line, column int) { return d.place(path, false) }

// place returns the position of the key or the value at path. For a mapping or list in block style,
// and for a value that is not written at all, it is the position of the key, because that is the
// line a person looks for.
func (d *Document) place(path string, key bool) (line, column int) {
	at, found := d.root.lookup(path)
	if at.index {
		return at.value.place()
	}
	if at.key.line == 0 {
		return 1, 1
	}
	if key || !found || at.value.block || at.value.implicit {
		return at.key.place()
	}
	return at.value.place()
}

// SourceLine returns line n of a file's text, counted from 1, without its newline (and byte order
// mark); "" if there is none.
func SourceLine(source string, n int) string {
	for line := range strings.Lines(strings.TrimPrefix(source, "\ufeff")) {
		if n--; n == 0 {
			return strings.TrimRight(line, "\r\n")
		}
	}
	return ""
}
