package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// writeProblems prints each problem of set with its source line and a caret under its column.
func writeProblems(w io.Writer, set *pipeline.Set, s style) {
	for _, p := range set.Problems {
		writeProblem(w, p, set.Line(p.File, p.Line), s)
	}
}

func writeProblem(w io.Writer, p document.Problem, line string, s style) {
	caret := s.red
	if p.Severity == document.Warning {
		caret = s.yellow
	}
	fmt.Fprintln(w, problemLine(p, s))
	fmt.Fprint(w, snippet(line, p.Line, p.Column, s.dim, caret))
}

// problemLine returns "file:line:column: path: message", with "warning" after the position of a
// warning.
func problemLine(p document.Problem, s style) string {
	line := s.bold(printable(fmt.Sprintf("%s:%d:%d:", p.File, p.Line, p.Column)))
	if p.Severity == document.Warning {
		line += " " + s.yellow("warning:")
	}
	if p.Path != "" {
		line += " " + printable(p.Path) + ":"
	}
	return line + " " + printable(p.Message)
}

// snippetRunes is how much of a long source line is shown.
const snippetRunes = 120

// snippet returns a source line with its number, and below it a caret under the column, which
// counts characters. The caret line repeats tabs and wide characters, so that the caret is in the
// right place on any terminal. It returns "" if there is no such line.
func snippet(line string, number, column int, gutter, caret func(string) string) string {
	if strings.TrimSpace(line) == "" || column < 1 {
		return ""
	}
	text := []rune(printable(strings.TrimRight(line, "\r")))
	at := min(column-1, len(text))
	text, at = around(text, at)
	var pad strings.Builder
	for _, r := range text[:at] {
		if r == '\t' {
			pad.WriteByte('\t')
			continue
		}
		pad.WriteString(strings.Repeat(" ", runeCells(r)))
	}
	label := fmt.Sprintf("%5d", number)
	return fmt.Sprintf("%s %s\n%s %s%s\n",
		gutter(label+" |"), string(text), gutter(strings.Repeat(" ", len(label))+" |"), pad.String(), caret("^"))
}

// around cuts a long line to the part near at, and returns the new position of at.
func around(text []rune, at int) ([]rune, int) {
	if len(text) <= snippetRunes {
		return text, at
	}
	from := max(0, min(at-snippetRunes/2, len(text)-snippetRunes))
	to := from + snippetRunes
	cut := slices.Clone(text[from:to])
	if from > 0 {
		cut[0] = '…'
	}
	if to < len(text) {
		cut[len(cut)-1] = '…'
	}
	return cut, at - from
}

// writeJSON prints v as indented JSON, with <, > and & unescaped.
func writeJSON(w io.Writer, v any) error {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapedJSON(plain.String()))
	return err
}

// escapedJSON returns the same JSON text without characters that could move the cursor or reverse the
// writing direction: they are escaped.
func escapedJSON(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r != '\n' && deceives(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// writeAnnotations prints problems as GitHub workflow commands, which appear next to the lines of a
// pull request.
func writeAnnotations(w io.Writer, problems []document.Problem) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, p := range problems {
		title := cmp.Or(p.Path, "interlock validate")
		fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n",
			p.Severity, printable(property.Replace(p.File)), p.Line, p.Column, printable(property.Replace(title)), printable(data.Replace(p.Message)))
	}
}

// summary summarises a report in one line: "3 errors and 1 warning in 2 of 5 files".
func summary(problems []document.Problem, files int) string {
	affected := map[string]bool{}
	for _, p := range problems {
		affected[p.File] = true
	}
	var found []string
	errs := errorCount(problems)
	if errs > 0 {
		found = append(found, plural(errs, "error"))
	}
	if warnings := len(problems) - errs; warnings > 0 {
		found = append(found, plural(warnings, "warning"))
	}
	switch {
	case len(found) == 0:
		return plural(files, "file") + ", no problems"
	case files == 1:
		return strings.Join(found, " and ") + " in 1 file"
	default:
		return fmt.Sprintf("%s in %d of %d files", strings.Join(found, " and "), len(affected), files)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
