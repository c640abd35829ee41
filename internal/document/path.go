package document

import (
	"strconv"
	"strings"
)

// frame is one step of the path to a value; the path's text is built only for a finding.
type frame struct {
	parent *frame
	key    string
	index  int // of a list item; -1 for a key
}

func (f *frame) child(key string) *frame { return &frame{parent: f, key: key, index: -1} }
func (f *frame) item(i int) *frame       { return &frame{parent: f, index: i} }

// String returns the path as in reports: rules[2].value.
func (f *frame) String() string {
	switch {
	case f == nil:
		return ""
	case f.index >= 0:
		return f.parent.String() + "[" + strconv.Itoa(f.index) + "]"
	default:
		return KeyPath(f.parent.String(), f.key)
	}
}

// plainWord reports whether a key needs no quotes in a path.
func plainWord(key string) bool {
	for _, r := range key {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return key != ""
}

// KeyPath returns the path of a key below parent, in quotes if it is not a plain word.
func KeyPath(parent, key string) string {
	if plainWord(key) {
		return JoinPath(parent, key)
	}
	return parent + "[" + strconv.Quote(key) + "]"
}

// JoinPath appends a path to another.
func JoinPath(parent, path string) string {
	if parent == "" || path == "" || path[0] == '[' {
		return parent + path
	}
	return parent + "." + path
}

// Within reports whether one path equals another or lies inside it.
func Within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

// Related reports whether one of two paths lies within the other.
func Related(a, b string) bool { return Within(a, b) || Within(b, a) }

// step splits off the first step of a path. A malformed path has no steps.
func step(path string) (key string, index int, rest string, ok bool) {
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		return "", 0, "", false
	}
	if path[0] != '[' {
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		return path[:end], -1, path[end:], end > 0
	}
	if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil && strings.HasPrefix(path[1+len(quoted):], "]") {
		key, err = strconv.Unquote(quoted)
		return key, -1, path[len(quoted)+2:], err == nil
	}
	number, rest, closed := strings.Cut(path[1:], "]")
	index, err := strconv.Atoi(number)
	return "", index, rest, closed && err == nil && index >= 0
}

// spot is the target of a path: the value, and the key it is found under.
type spot struct {
	value *node
	key   field // the nearest key on the path; without a line if there is none
	index bool  // the value is an item of a list
}

// lookup follows path as far as it exists, and reports whether that is its end.
func (n *node) lookup(path string) (at spot, found bool) {
	at.value = n
	for path != "" {
		key, index, rest, ok := step(path)
		if !ok {
			return at, false
		}
		switch {
		case index >= 0 && index < len(at.value.items):
			at = spot{value: at.value.items[index], key: at.key, index: true}
		case index < 0:
			f, has := at.value.get(key)
			if !has {
				return at, false
			}
			at = spot{value: f.value, key: f}
		default:
			return at, false
		}
		path = rest
	}
	return at, true
}
