package api

import (
	"fmt"
	"io"

	"github.com/interlock-go/interlock/internal/source"
)

// errTooDeep is the error of reading a body that is nested too deeply.
var errTooDeep = fmt.Errorf("the body is nested deeper than %d levels", source.MaxDepth)

// shallow reads a JSON body, and fails once that is nested too deeply. What reads JSON would need
// time and memory for it, and could not store it.
type shallow struct {
	io.ReadCloser
	depth           int
	quoted, escaped bool
}

func (s *shallow) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	for _, c := range p[:n] {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		case c == '"':
			s.quoted = true
		case c == '{', c == '[':
			s.depth++
		case c == '}', c == ']':
			s.depth--
		}
		if s.depth > source.MaxDepth {
			return 0, errTooDeep
		}
	}
	return n, err
}
