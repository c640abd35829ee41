package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// The limits keep a hostile file from costing more than a moment: the library's parser takes
// quadratic time in nesting and in the length of a mapping, and stores the path of every node.
const (
	maxMarks  = 100_000 // characters that may begin a token, before scanning
	maxTokens = 20_000  // tokens, before parsing
	maxDepth  = 100     // nested lists and mappings
	maxKey    = 1_024   // characters of a key, which is YAML's own limit
	maxPaths  = 1 << 27 // upper bound of what all paths take together
	maxNodes  = 100_000 // nodes with every alias expanded
)

// prepare checks the bytes and returns the text to scan: without a byte order mark, with lines
// ending in \n.
func prepare(file string, src []byte) (string, *Problem) {
	if len(src) > MaxBytes {
		return "", problemAt(file, 1, 1, fmt.Sprintf("the file is too large; at most %d MiB are allowed", MaxBytes>>20))
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if p := checkCharacters(file, src); p != nil {
		return "", p
	}
	text := string(src)
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	if marks := countMarks(text); marks > maxMarks {
		return "", problemAt(file, 1, 1, fmt.Sprintf("the file is too complex: it has %d brackets, colons and other indicators; at most %d are allowed", marks, maxMarks))
	}
	return text, nil
}

// checkCharacters reports the position of the first character that YAML does not allow.
func checkCharacters(file string, src []byte) *Problem {
	for i := 0; i < len(src); {
		b := src[i]
		if b >= ' ' && b < 0x7f || b == '\n' || b == '\t' || b == '\r' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		message := ""
		switch {
		case r == utf8.RuneError && size <= 1:
			message = fmt.Sprintf("byte 0x%02x is not UTF-8 text; save the file as UTF-8", b)
		case b == 0:
			message = "a NUL byte; a YAML file is text (saved as UTF-16?)"
		case b < ' ' || b == 0x7f:
			message = fmt.Sprintf("control character U+%04X; write it as \"\\x%02x\" in double quotes", b, b)
		}
		if message != "" {
			before := strings.ReplaceAll(string(src[:i]), "\r\n", "\n")
			line := 1 + strings.Count(before, "\n")
			column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
			return problemAt(file, line, column, message)
		}
		i += size
	}
	return nil
}

// countMarks returns an upper bound of the number of tokens, so that scanning cannot use much
// memory.
func countMarks(text string) int {
	marks := 0
	for _, mark := range "[]{},:-?&*!|>#%\"'" {
		marks += strings.Count(text, string(mark))
	}
	return marks
}

// checkTokens bounds the work of parsing: the number of tokens, the nesting, and the length of
// paths.
func checkTokens(file string, tokens token.Tokens) *Problem {
	var g nesting
	count, longest := 0, 0
	for i, t := range tokens {
		if t.Type == token.CommentType {
			continue
		}
		if count++; count > maxTokens {
			return problemAt(file, t.Position.Line, t.Position.Column, fmt.Sprintf("the file is too complex: it has more than %d keys and values", maxTokens))
		}
		key := i+1 < len(tokens) && tokens[i+1].Type == token.MappingValueType
		if size := len(t.Value); key && size > longest {
			if size > maxKey {
				return problemAt(file, t.Position.Line, t.Position.Column, fmt.Sprintf("a key has %d bytes; at most %d are allowed", size, maxKey))
			}
			longest = size
		}
		if g.enter(t, key); g.depth() > maxDepth {
			return problemAt(file, t.Position.Line, t.Position.Column, fmt.Sprintf("nested too deeply; at most %d levels are allowed", maxDepth))
		}
	}
	if g.deepest*longest*count > maxPaths {
		return problemAt(file, 1, 1, "the file is too complex: many long keys are nested deeply")
	}
	return nil
}

// nesting tracks the depth of tokens: by brackets, and outside of them by the columns at which
// entries begin.
type nesting struct {
	brackets int
	columns  []int
	deepest  int
}

func (g *nesting) depth() int { return g.brackets + len(g.columns) }

func (g *nesting) enter(t *token.Token, key bool) {
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		g.brackets++
	case token.SequenceEndType, token.MappingEndType:
		g.brackets = max(0, g.brackets-1)
	case token.SequenceEntryType, token.MappingKeyType:
		g.indent(t.Position.Column)
	default:
		if key {
			g.indent(t.Position.Column)
		}
	}
	g.deepest = max(g.deepest, g.depth())
}

func (g *nesting) indent(column int) {
	if g.brackets > 0 {
		return
	}
	keep, _ := slices.BinarySearch(g.columns, column)
	g.columns = append(g.columns[:keep], column)
}

func problemAt(file string, line, column int, message string) *Problem {
	return &Problem{File: file, Line: line, Column: column, Message: message, Severity: Error}
}
