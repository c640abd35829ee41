package document

import (
	"errors"
	"strings"
)

// Words returns a program and its arguments: the list as written, or the text split as a shell would, without any
// other shell processing: blanks separate words, quotes and backslashes keep them together. A variable such as
// ${DATE} is kept unchanged, including an escaping backslash, because it is filled in later; so a value containing a
// blank stays one word.
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
