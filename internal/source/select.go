package source

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/interlock-go/interlock/internal/sensor"
)

// path is a compiled path. Equivalent spellings have the same name.
type path struct {
	name    string
	query   *jsonpath.Path
	names   []string // set if the path only selects members by name
	sorted  bool     // it may select members of an object, whose order is random
	element bool     // it reads the element of each, not the message
	decode  Decodings
}

// parsePath compiles a path. inElement reports whether a single $ is the element of each; $$ is the
// message.
func parsePath(in Path, inElement bool) (path, error) {
	text, ofMessage := in.Path, strings.HasPrefix(in.Path, "$$")
	if ofMessage {
		text = text[1:]
	}
	query, err := paths.Parse(text)
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), "jsonpath: ")
		return path{}, fmt.Errorf("%.100q is not a JSONPath (RFC 9535): %s%s", in.Path, reason, hint(text, ofMessage))
	}
	p := path{name: query.String(), query: query, element: inElement && !ofMessage, decode: in.Decode}
	for _, d := range in.Decode {
		p.name += "|" + string(d)
	}
	p.names, p.sorted = shape(query.Query().Segments())
	return p, nil
}

// shape returns the names of a path that only selects members by name, and whether the order of
// what it selects may be random.
func shape(segments []*spec.Segment) (names []string, sorted bool) {
	plain := true
	for _, segment := range segments {
		selectors := segment.Selectors()
		name, byName := selectors[0].(spec.Name)
		if plain = plain && byName && len(selectors) == 1 && !segment.IsDescendant(); plain {
			names = append(names, string(name))
		}
		sorted = sorted || segment.IsDescendant()
		for _, s := range selectors {
			switch s.(type) {
			case spec.Name, spec.Index, spec.SliceSelector:
			default:
				sorted = true
			}
		}
	}
	if !plain {
		return nil, sorted
	}
	return names, sorted
}

// member is a name after a dot, which RFC 9535 allows only letters, digits and underscores in.
var (
	member      = regexp.MustCompile(`\.([^.\[\]'"*?@()]+)`)
	plainMember = regexp.MustCompile(`^[A-Za-z_\x{80}-\x{10FFFF}][\w\x{80}-\x{10FFFF}]*$`)
)

// hint suggests how to write a path that cannot be parsed; "" if it does not know.
func hint(text string, ofMessage bool) string {
	if !strings.HasPrefix(text, "$") {
		text = "$." + strings.TrimPrefix(text, ".")
	}
	fixed := member.ReplaceAllStringFunc(text, func(m string) string {
		if plainMember.MatchString(m[1:]) {
			return m
		}
		return "['" + strings.ReplaceAll(m[1:], `\`, `\\`) + "']"
	})
	fixed = strings.ReplaceAll(fixed, ".['", "..['") // after a descendant segment
	if _, err := paths.Parse(fixed); err != nil {
		return ""
	}
	if ofMessage {
		fixed = "$" + fixed
	}
	return fmt.Sprintf("; write %s", fixed)
}

// find returns the values at the path, decoded. Values that cannot be decoded are left out, and the
// error says why the first of them cannot.
func (p *path) find(root any) ([]any, error) {
	values := p.selected(root)
	if len(p.decode) == 0 {
		return values, nil
	}
	var fault error
	decoded := make([]any, 0, len(values))
	left := MaxNested
	for _, v := range values {
		v, err := p.decode.decode(v, left)
		if err == nil {
			decoded = append(decoded, v)
			left = max(left-count(v), 1)
		} else if fault == nil {
			fault = err
		}
	}
	return decoded, fault
}

// selected returns the values at the path. A path of plain names is walked without a query.
func (p *path) selected(root any) []any {
	if p.sorted {
		located := p.query.SelectLocated(root)
		located.Sort()
		values := make([]any, len(located))
		for i, node := range located {
			values[i] = node.Node
		}
		return values
	}
	if p.names == nil {
		return p.query.Select(root)
	}
	value := root
	for _, name := range p.names {
		object, _ := value.(map[string]any)
		var found bool
		if value, found = object[name]; !found {
			return nil
		}
	}
	return []any{value}
}

// count returns how many values a decoded value has, with itself.
func count(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			n += count(member)
		}
	case []any:
		for _, element := range v {
			n += count(element)
		}
	}
	return n
}

// decode applies each decoding to a value. JSON may have at most this many values.
func (d Decodings) decode(v any, values int) (out any, err error) {
	for _, how := range d {
		if v, err = how.decode(v, values); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// decode decodes one value.
func (how Decoding) decode(v any, values int) (any, error) {
	text, isText := v.(string)
	if !isText {
		return nil, fmt.Errorf("cannot decode %.80s as %s: it is not text", sensor.Literal(v), how)
	}
	var out any
	var err error
	switch how {
	case DecodeURL:
		out, err = decodeURL(text)
	case DecodeBase64:
		out, err = decodeBase64Text(text)
	case DecodeJSON:
		if out, err = decodeJSON([]byte(text), values); err != nil && strings.HasPrefix(err.Error(), "data is not JSON") {
			err = errors.New("it is not JSON") // the error counts bytes of another text
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot decode %.80q as %s: %w", text, how, err)
	}
	return out, nil
}

func decodeURL(text string) (string, error) {
	out, err := url.QueryUnescape(text)
	if err != nil || !utf8.ValidString(out) {
		return "", errors.New("it is not percent-encoded UTF-8")
	}
	return out, nil
}

// decodeBase64Text accepts either alphabet, with or without padding.
func decodeBase64Text(text string) (string, error) {
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	out, err := base64.RawStdEncoding.DecodeString(plain)
	switch {
	case err != nil:
		return "", errors.New("it is not base64")
	case !utf8.Valid(out):
		return "", errors.New("the result is not UTF-8 text")
	}
	return string(out), nil
}
