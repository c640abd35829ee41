package document

import (
	"strings"
	"unicode/utf8"
)

// inline reads a value within the line, inside of that bracket if it is not 0.
func (u *usual) inline(bracket byte, depth int) *node {
	switch u.peek(u.at) {
	case '{':
		return u.flowMapping(depth + 1)
	case '[':
		return u.flowList(depth + 1)
	case '"', '\'':
		return u.quoted()
	}
	return u.plain(bracket)
}

func (u *usual) flowMapping(depth int) *node {
	n := u.made(Map, u.at, depth)
	from := len(u.fields)
	for n != nil {
		u.at = u.skip(u.at + 1) // behind the bracket or the comma
		key, ok := u.key(u.fields[from:])
		if !ok || u.peek(u.at) != ' ' {
			return nil
		}
		u.at = u.skip(u.at)
		if key.value = u.inline('{', depth); key.value == nil {
			return nil
		}
		n.size += key.value.size
		u.fields = append(u.fields, key)
		if u.at = u.skip(u.at); u.peek(u.at) != ',' {
			break
		}
	}
	if u.peek(u.at) != '}' || n == nil {
		return nil
	}
	n.block = false
	u.at++
	return u.close(n, from)
}

func (u *usual) flowList(depth int) *node {
	n := u.made(List, u.at, depth)
	from := len(u.items)
	for n != nil {
		u.at = u.skip(u.at + 1)
		item := u.inline('[', depth)
		if item == nil {
			return nil
		}
		n.size += item.size
		u.items = append(u.items, item)
		if u.at = u.skip(u.at); u.peek(u.at) != ',' {
			break
		}
	}
	if u.peek(u.at) != ']' || n == nil {
		return nil
	}
	n.block = false
	u.at++
	return u.closeList(n, from)
}

// quoted reads a text in quotes without anything in it that stands for something else.
func (u *usual) quoted() *node {
	quote := u.text[u.at]
	inside := u.text[u.at+1 : u.end]
	length := strings.IndexByte(inside, quote)
	if length < 0 || quote == '"' && strings.IndexByte(inside[:length], '\\') >= 0 {
		return nil
	}
	n := u.made(String, u.at, 0)
	if u.at += length + 2; n == nil || u.peek(u.at) == quote {
		return nil
	}
	n.text = kept(inside[:length])
	return n
}

// plain reads a text without quotes. A colon in a list in brackets is left alone: the library has its own view of it.
func (u *usual) plain(bracket byte) *node {
	from, end, flow := u.at, u.at, bracket != 0
	for ; u.at < u.end && means(u.text[u.at], flow); u.at++ {
		switch u.text[u.at] {
		case ' ':
			continue
		case ':':
			if next := u.peek(u.at + 1); next == ' ' || !means(next, flow) || bracket == '[' {
				return nil
			}
		}
		end = u.at + 1
	}
	switch next := u.peek(u.at); {
	case end == from || !beginsPlain(u.text[from], u.peek(from+1)):
		return nil
	case next == 0, next == '#' && u.text[u.at-1] == ' ', flow && (next == ',' || next == '}' || next == ']'):
	default:
		return nil
	}
	u.at = end
	text := u.text[from:end]
	n := u.made(plainKind(text), from, 0)
	if n != nil {
		n.text = kept(text)
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// means says that a character means nothing but itself, wherever it stands in a text without quotes; the colon is looked
// at where it stands.
func means(c byte, flow bool) bool { return ordinary[c] || !flow && between[c] }

var (
	ordinary = table(" ./-+:=;()$%*@&<>!~^'")
	between  = table(",{}[]\"")
)

// table marks letters, digits, all that is not ASCII, and the given characters.
func table(given string) (is [256]bool) {
	for c := range is {
		is[c] = isLetter(byte(c)) || isDigit(byte(c)) || c >= utf8.RuneSelf || strings.IndexByte(given, byte(c)) >= 0
	}
	return is
}

// beginsPlain says that a text without quotes may begin with these two characters.
func beginsPlain(first, second byte) bool {
	switch first {
	case '/':
		return true
	case '.':
		return second == '/' || isDigit(second)
	case '-', '+':
		return isLetter(second) || isDigit(second)
	}
	return isLetter(first) || isDigit(first)
}
