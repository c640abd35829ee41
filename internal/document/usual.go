package document

import (
	"strings"
	"unicode/utf8"
)

// usual reads a file that is written as nearly all are: mappings and lists by indentation, or in brackets on one line,
// of plain and quoted texts on one line. It takes a tenth of what the library does, which counts where there are very
// many files. It never says that a file is wrong: what it does not know for sure, mistakes included, is the library's,
// and what it reads is what the library would have made of it.
type usual struct {
	text  string
	start int // of the line at hand
	at    int // its first character that is not read yet
	end   int // behind its last character that is no blank
	line  int32
	done  bool // there is no further line

	values int
	fields []field // of the mappings that are being read, innermost last
	items  []*node // of the lists
}

// The limits are far below those of checkTokens, which need not be looked at then.
const (
	usualBytes  = 1 << 16
	usualValues = 2000
	usualDepth  = 20
	usualKey    = 128
)

// readUsual gives the root of the file, or nil.
func readUsual(text string) *node {
	if len(text) > usualBytes || strings.IndexByte(text, '\t') >= 0 {
		return nil
	}
	u := usual{text: text, end: -1}
	if u.next(); u.done || u.indent() != 0 {
		return nil
	}
	root := u.mapping(0, 0)
	if !u.done {
		return nil
	}
	return root
}

// next goes to the next line that holds more than blanks and a comment.
func (u *usual) next() {
	for {
		if u.line > 0 {
			u.start += len(u.rest(u.start)) + 1
		}
		if u.line++; u.start >= len(u.text) {
			u.done = true
			return
		}
		line := u.rest(u.start)
		trimmed := strings.TrimLeft(line, " ")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		u.at = u.start + len(line) - len(trimmed)
		u.end = u.start + len(strings.TrimRight(line, " "))
		return
	}
}

// rest is the line from an offset on.
func (u *usual) rest(from int) string {
	if end := strings.IndexByte(u.text[from:], '\n'); end >= 0 {
		return u.text[from : from+end]
	}
	return u.text[from:]
}

// indent is how far the line is indented, as long as nothing of it is read.
func (u *usual) indent() int { return u.at - u.start }

func (u *usual) here(at int) mark {
	return mark{u.line, int32(utf8.RuneCountInString(u.text[u.start:at])) + 1}
}

// peek is the character at an offset of the line; 0 behind its end.
func (u *usual) peek(at int) byte {
	if at < u.end {
		return u.text[at]
	}
	return 0
}

// dash says that an item of a list begins here.
func (u *usual) dash() bool { return u.peek(u.at) == '-' && u.peek(u.at+1) == ' ' }

// block reads a mapping or a list whose first line is at hand.
func (u *usual) block(depth int) *node {
	if u.dash() {
		return u.list(u.indent(), depth)
	}
	return u.mapping(u.indent(), depth)
}

// mapping reads the keys that are indented so far, and what belongs to them.
func (u *usual) mapping(indent, depth int) *node {
	n := u.made(Map, u.at, depth)
	from := len(u.fields)
	for n != nil {
		key, ok := u.key(u.fields[from:])
		if !ok {
			return nil
		}
		if key.value = u.value(indent, depth); key.value == nil {
			return nil
		}
		n.size += key.value.size
		u.fields = append(u.fields, key)
		if u.done || u.indent() < indent || u.indent() == indent && u.dash() {
			break
		}
		if u.indent() > indent {
			return nil
		}
	}
	return u.close(n, from)
}

// close ends a mapping whose keys began at from.
func (u *usual) close(n *node, from int) *node {
	if n == nil {
		return nil
	}
	n.fields = append(make([]field, 0, len(u.fields)-from), u.fields[from:]...)
	u.fields = u.fields[:from]
	return n
}

// list reads the items whose dashes are indented so far.
func (u *usual) list(indent, depth int) *node {
	n := u.made(List, u.at, depth)
	from := len(u.items)
	for n != nil {
		item := u.item(depth)
		if item == nil || !u.done && u.indent() > indent {
			return nil
		}
		n.size += item.size
		u.items = append(u.items, item)
		if u.done || u.indent() < indent || !u.dash() {
			break
		}
	}
	return u.closeList(n, from)
}

func (u *usual) closeList(n *node, from int) *node {
	if n == nil {
		return nil
	}
	n.items = append(make([]*node, 0, len(u.items)-from), u.items[from:]...)
	u.items = u.items[:from]
	return n
}

// item reads what stands behind a dash: a mapping whose first key is on its line, or a value.
func (u *usual) item(depth int) *node {
	u.at = u.skip(u.at + 1)
	if end := u.word(u.at); end > u.at && u.peek(end) == ':' && (end+1 == u.end || u.peek(end+1) == ' ') {
		return u.mapping(u.indent(), depth+1)
	}
	return u.only(depth)
}

// value reads what belongs to a key: the rest of its line, or the lines below it.
func (u *usual) value(indent, depth int) *node {
	behind := u.at
	u.at = u.skip(u.at)
	switch {
	case u.at < u.end && u.at == behind:
		return nil
	case u.at < u.end && u.text[u.at] != '#':
		return u.only(depth)
	}
	u.next()
	switch {
	case u.done:
		return nil
	case u.indent() > indent, u.indent() == indent && u.dash():
		return u.block(depth + 1)
	}
	return nil
}

// only reads a value that is all there is on the rest of the line, but for a comment.
func (u *usual) only(depth int) *node {
	n := u.inline(0, depth)
	if n == nil {
		return nil
	}
	if at := u.skip(u.at); at < u.end && (at == u.at || u.text[at] != '#') {
		return nil
	}
	u.next()
	return n
}

// key reads a key and its colon.
func (u *usual) key(others []field) (field, bool) {
	end := u.word(u.at)
	name := u.text[u.at:end]
	if name == "" || len(name) > usualKey || u.peek(end) != ':' || plainKind(name) == Null {
		return field{}, false
	}
	for i := range others {
		if others[i].name == name {
			return field{}, false
		}
	}
	f := field{name: kept(name), mark: u.here(u.at)}
	u.at = end + 1
	return f, true
}

// word is the end of a word that can be a key.
func (u *usual) word(at int) int {
	if !isLetter(u.peek(at)) {
		return at
	}
	for at < u.end && (isLetter(u.text[at]) || isDigit(u.text[at]) || u.text[at] == '-' || u.text[at] == '.') {
		at++
	}
	return at
}

func (u *usual) skip(at int) int {
	for at < u.end && u.text[at] == ' ' {
		at++
	}
	return at
}

// made is a new value; nil if there are too many, or too deep.
func (u *usual) made(kind Kind, at, depth int) *node {
	if u.values++; u.values > usualValues || depth > usualDepth {
		return nil
	}
	return &node{kind: kind, mark: u.here(at), size: 1, block: kind == Map || kind == List}
}
