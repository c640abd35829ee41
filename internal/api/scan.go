package api

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/source"
)

// The limits on the values in the JSON of a request body: objects, lists, texts, numbers and others,
// without the names of fields.
const (
	maxValues     = source.MaxValues
	maxFewValues  = 1000 // in a request about one run or pipeline
	maxBodyLevels = source.MaxDepth
)

// errTooDeep is the error of a body that is nested too deeply. Decoding it would need time and
// memory, and the result could not be stored.
var errTooDeep = fmt.Errorf("the body is nested deeper than %d levels", maxBodyLevels)

// tooWide is the error of a body with more values than this.
type tooWide int

func (most tooWide) Error() string {
	return fmt.Sprintf("the body has more than %d values; send fewer in one request", int(most))
}

// scan counts the levels and values of JSON as it arrives, so that a body can be rejected before it
// is decoded. Text that is not JSON gives some count, and never fewer values than a decoder finds
// before it stops.
type scan struct {
	depth   int
	tokens  int // values and names
	names   int
	objects int
	text    int // bytes inside quotes

	quoted, escaped, literal bool
}

// values returns how many values there were.
func (s *scan) values() int { return s.tokens - s.names }

// add counts the next bytes of a body that may have at most this many values.
func (s *scan) add(p []byte, most int) error {
	for _, c := range p {
		if s.quoted {
			s.inText(c)
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n', ',':
			s.literal = false
		case ':':
			s.names++
			s.literal = false
		case '}', ']':
			s.depth--
			s.literal = false
		case '"':
			s.tokens++
			s.quoted, s.literal = true, false
		case '{', '[':
			s.tokens++
			s.literal = false
			if c == '{' {
				s.objects++
			}
			if s.depth++; s.depth > maxBodyLevels {
				return errTooDeep
			}
		default:
			if !s.literal {
				s.tokens++
			}
			s.literal = true
		}
	}
	if s.values() > most {
		return tooWide(most)
	}
	return nil
}

// inText counts a byte inside quotes.
func (s *scan) inText(c byte) {
	s.text++
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.quoted = false
	}
}
