package sensor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// plain decodes JSON as producers usually write it: without escapes in strings. It gives up on everything else,
// including errors, and leaves it to decoder, which explains them. It exists because every sensor write is decoded,
// and the tokens of encoding/json cost several times as much.
type plain struct {
	text []byte // valid UTF-8
	at   int
}

// decodePlain decodes data that is exactly one object.
func decodePlain(data []byte) (Fields, bool) {
	p := plain{text: data}
	if p.next() != '{' {
		return nil, false
	}
	fields, ok := p.object(1)
	p.blanks()
	return fields, ok && p.at == len(data)
}

func (p *plain) blanks() {
	for ; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case ' ', '\n', '\r', '\t':
		default:
			return
		}
	}
}

// peek returns the next byte; 0, which never occurs in JSON, at the end.
func (p *plain) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// next skips blanks and consumes the next byte, which it returns.
func (p *plain) next() byte {
	p.blanks()
	c := p.peek()
	p.at++
	return c
}

// object decodes the rest of an object after its {.
func (p *plain) object(depth int) (map[string]any, bool) {
	object := map[string]any{}
	c := p.next()
	if c == '}' {
		return object, true
	}
	for ; c == '"'; c = p.next() {
		name, ok := p.string()
		if !ok || p.next() != ':' {
			return nil, false
		}
		if _, repeated := object[name]; repeated {
			return nil, false
		}
		if object[name], ok = p.value(depth); !ok {
			return nil, false
		}
		if c = p.next(); c != ',' {
			return object, c == '}'
		}
	}
	return nil, false
}

// list decodes the rest of a list after its [.
func (p *plain) list(depth int) ([]any, bool) {
	list := []any{}
	if p.blanks(); p.peek() == ']' {
		p.at++
		return list, true
	}
	for {
		item, ok := p.value(depth)
		if !ok {
			return nil, false
		}
		list = append(list, item)
		if c := p.next(); c != ',' {
			return list, c == ']'
		}
	}
}

func (p *plain) value(depth int) (any, bool) {
	switch p.blanks(); p.peek() {
	case '"':
		p.at++
		return p.string()
	case '{':
		p.at++
		if depth == maxDepth {
			return nil, false
		}
		return p.object(depth + 1)
	case '[':
		p.at++
		if depth == maxDepth {
			return nil, false
		}
		return p.list(depth + 1)
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.number()
}

func (p *plain) word(word string) bool {
	end := p.at + len(word)
	if end > len(p.text) || string(p.text[p.at:end]) != word {
		return false
	}
	p.at = end
	return true
}

// string decodes the rest of a string after its first quote.
func (p *plain) string() (string, bool) {
	for from := p.at; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return string(p.text[from : p.at-1]), true
		case c == '\\' || c < ' ':
			return "", false
		}
	}
	return "", false
}

// number decodes an integer of up to 18 digits, which fits into 64 bits, directly.
func (p *plain) number() (any, bool) {
	from, negative := p.at, false
	if p.peek() == '-' {
		negative = true
		p.at++
	}
	first := p.at
	var n int64
	for ; isDigit(p.peek()); p.at++ {
		if p.at-first < 18 {
			n = n*10 + int64(p.text[p.at]-'0')
		}
	}
	digits := p.at - first
	if digits == 0 || digits > 1 && p.text[first] == '0' {
		return nil, false
	}
	if c := p.peek(); digits > 18 || c == '.' || c == 'e' || c == 'E' {
		return p.long(from)
	}
	if negative {
		n = -n
	}
	return n, true
}

// long decodes the rest of any other number, which began at from.
func (p *plain) long(from int) (any, bool) {
	if p.peek() == '.' {
		p.at++
		if !p.digits() {
			return nil, false
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return nil, false
		}
	}
	n, err := number(json.Number(p.text[from:p.at]))
	return n, err == nil
}

func (p *plain) digits() bool {
	from := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	return p.at > from
}

// Literal formats a value as JSON.
func Literal(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
