package document

import (
	"errors"
	"strings"
)

// ErrUnclosed means that a text has a "${" without its "}".
var ErrUnclosed = errors.New(`"${" is not closed by "}"; write \${ for a literal one`)

// Fill returns text with each ${NAME} replaced by value(NAME). Values are not filled again, and \${ becomes a literal
// ${. The error is ErrUnclosed or that of value.
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
