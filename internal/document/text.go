package document

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Text is a string that may also be written as a number or true or false; it keeps the text of the
// file.
type Text string

// EachText calls visit with each text in a decoded value, in order, and its path.
func EachText(value any, path string, visit func(path, text string)) {
	switch v := value.(type) {
	case string:
		visit(path, v)
	case []any:
		for i, item := range v {
			EachText(item, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			EachText(v[key], KeyPath(path, key), visit)
		}
	}
}

// Strings converts texts to strings.
func Strings(texts []Text) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = string(t)
	}
	return list
}

// DecodeNode accepts any scalar except null.
func (t *Text) DecodeNode(n Node) []Finding {
	if n.Kind() == Null || n.Kind() > String {
		return []Finding{{Message: "expected a text, found " + n.Describe()}}
	}
	*t = Text(n.Text())
	return nil
}

func (Text) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
}

// TextOrList is one text or a list of texts.
type TextOrList struct {
	Values []string
	IsText bool // written as one text, which is the only value
}

func (t *TextOrList) DecodeNode(n Node) []Finding {
	if n.Kind() != List {
		var text Text
		if findings := text.DecodeNode(n); len(findings) > 0 {
			return []Finding{{Message: "expected a text or a list of texts, found " + n.Describe()}}
		}
		*t = TextOrList{Values: []string{string(text)}, IsText: true}
		return nil
	}
	var findings []Finding
	read := TextOrList{Values: []string{}}
	for i, item := range n.Items() {
		var text Text
		findings = append(findings, Under(fmt.Sprintf("[%d]", i), text.DecodeNode(item))...)
		read.Values = append(read.Values, string(text))
	}
	if len(findings) == 0 {
		*t = read
	}
	return findings
}

func (TextOrList) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		Text("").JSONSchema(),
		{Type: "array", Items: Text("").JSONSchema()},
	}}
}

// Words returns a program and its arguments: the list as written, or the text split as a shell
// would, without any other shell processing: blanks separate words, quotes and backslashes keep
// them together. A variable such as ${DATE} is kept unchanged, including an escaping backslash,
// because it is filled in later; so a value containing a blank stays one word.
func (t TextOrList) Words() ([]string, error) {
	if !t.IsText {
		return t.Values, nil
	}
	s := splitter{rest: strings.Join(t.Values, " ")}
	for s.rest != "" && s.err == nil {
		s.next()
	}
	s.endWord()
	return s.words, s.err
}

type splitter struct {
	rest  string
	words []string
	word  strings.Builder
	open  bool // a word has begun, possibly with empty quotes
	err   error
}

func (s *splitter) endWord() {
	if s.open {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.open = false
}

// take moves the next n bytes into the word.
func (s *splitter) take(n int) {
	s.open = true
	s.word.WriteString(s.rest[:n])
	s.rest = s.rest[n:]
}

// takeOne moves the next byte, or a whole variable, into the word.
func (s *splitter) takeOne() {
	if strings.HasPrefix(s.rest, "${") {
		s.take(max(1, strings.IndexByte(s.rest, '}')+1))
		return
	}
	s.take(1)
}

func (s *splitter) skip(n int) { s.rest = s.rest[n:] }

func (s *splitter) next() {
	switch s.rest[0] {
	case ' ', '\t', '\r', '\n':
		s.skip(1)
		s.endWord()
	case '\'':
		s.singleQuoted()
	case '"':
		s.doubleQuoted()
	case '\\':
		s.escaped()
	default:
		s.takeOne()
	}
}

func (s *splitter) singleQuoted() {
	end := strings.IndexByte(s.rest[1:], '\'')
	if end < 0 {
		s.err = errors.New("a single quote (') is never closed; close it, or write a list of words")
		return
	}
	s.skip(1)
	s.take(end)
	s.skip(1)
}

func (s *splitter) doubleQuoted() {
	s.skip(1)
	s.open = true
	for s.rest != "" {
		switch {
		case s.rest[0] == '"':
			s.skip(1)
			return
		case s.rest[0] == '\\' && len(s.rest) > 1 && strings.IndexByte(`"\$`, s.rest[1]) >= 0:
			s.escaped()
		default:
			s.takeOne()
		}
	}
	s.err = errors.New(`a double quote (") is never closed; close it, or write a list of words`)
}

func (s *splitter) escaped() {
	switch {
	case strings.HasPrefix(s.rest, `\${`):
		s.take(len(`\${`))
	case len(s.rest) == 1:
		s.err = errors.New(`ends in a backslash, which escapes nothing; write \\ for a backslash`)
	default:
		s.skip(1)
		s.take(1)
	}
}

// ErrUnclosed means that a text has a "${" without its "}".
var ErrUnclosed = errors.New(`"${" is not closed by "}"; write \${ for a literal one`)

// Fill returns text with each ${NAME} replaced by value(NAME). Values are not filled again, and \${
// becomes a literal ${. The error is ErrUnclosed or that of value.
func Fill(text string, value func(name string) (string, error)) (string, error) {
	var filled strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			filled.WriteString(text)
			return filled.String(), nil
		}
		if literal, escaped := strings.CutSuffix(before, `\`); escaped {
			filled.WriteString(literal + "${")
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", ErrUnclosed
		}
		put, err := value(name)
		if err != nil {
			return "", err
		}
		filled.WriteString(before + put)
		text = rest
	}
}
