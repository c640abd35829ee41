package source_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/source"
)

// bookStore is the example document of RFC 9535, section 1.5.
const bookStore = `{"store": {"book": [
	{"category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95},
	{"category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99},
	{"category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99},
	{"category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8", "price": 22.99}],
	"bicycle": {"color": "red", "price": 399}}}`

// TestPathsFollowTheRFC checks that the library selects what RFC 9535 requires, rule by rule. The
// order of object members is undefined, so no case depends on it.
func TestPathsFollowTheRFC(t *testing.T) {
	const list = `["a","b","c","d","e","f","g"]`
	const deep = `{"o":{"j":1,"k":2},"a":[5,3,[{"j":4},{"k":6}]]}`
	const mixed = `{"a":[3,5,1,2,4,6,{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}],"o":{"p":1,"q":2,"r":3,"s":5,"t":{"u":6}},"e":"f"}`
	for _, c := range []struct{ document, path, want string }{
		{bookStore, `$.store.book[*].author`, `["Nigel Rees","Evelyn Waugh","Herman Melville","J. R. R. Tolkien"]`},
		{bookStore, `$..author`, `["Nigel Rees","Evelyn Waugh","Herman Melville","J. R. R. Tolkien"]`},
		{bookStore, `$..book[2].title`, `["Moby Dick"]`},
		{bookStore, `$..book[2].publisher`, `[]`},
		{bookStore, `$..book[-1].title`, `["The Lord of the Rings"]`},
		{bookStore, `$..book[0,1].price`, `[8.95,12.99]`},
		{bookStore, `$..book[:2].price`, `[8.95,12.99]`},
		{bookStore, `$..book[?@.isbn].title`, `["Moby Dick","The Lord of the Rings"]`},
		{bookStore, `$..book[?@.price<10].title`, `["Sayings of the Century","Moby Dick"]`},
		{bookStore, `$.store.bicycle.price`, `[399]`},
		{`{"o":{"j j":{"k.k":3}},"'":{"@":2}}`, `$.o['j j']['k.k']`, `[3]`},
		{`{"o":{"j j":{"k.k":3}},"'":{"@":2}}`, `$.o["j j"]["k.k"]`, `[3]`},
		{`{"o":{"j j":{"k.k":3}},"'":{"@":2}}`, `$["'"]["@"]`, `[2]`},
		{`{"a":null}`, `$.a`, `[null]`},
		{`{"a":null}`, `$.a.d`, `[]`},
		{`{"a":null}`, `$.b`, `[]`},
		{`{"a":[null]}`, `$.a[0]`, `[null]`},
		{`{"a":"x"}`, `$`, `[{"a":"x"}]`},
		{`{"☺":"A"}`, `$.☺`, `["A"]`},
		{`{"\u0041":1}`, `$["\u0041"]`, `[1]`},
		{list, `$[1]`, `["b"]`},
		{list, `$[-2]`, `["f"]`},
		{list, `$[9]`, `[]`},
		{list, `$[1:3]`, `["b","c"]`},
		{list, `$[5:]`, `["f","g"]`},
		{list, `$[1:5:2]`, `["b","d"]`},
		{list, `$[5:1:-2]`, `["f","d"]`},
		{list, `$[::-1]`, `["g","f","e","d","c","b","a"]`},
		{list, `$[0,0]`, `["a","a"]`},
		{list, `$[0, 3]`, `["a","d"]`},
		{list, `$[::0]`, `[]`},
		{deep, `$.a..j`, `[4]`},
		{deep, `$..[0]`, `[5,{"j":4}]`},
		{deep, `$.a..[0,1]`, `[5,3,{"j":4},{"k":6}]`},
		{mixed, `$.a[?@.b == 'kilo']`, `[{"b":"kilo"}]`},
		{mixed, `$.a[?(@.b == 'kilo')]`, `[{"b":"kilo"}]`},
		{mixed, `$.a[?@>3.5]`, `[5,4,6]`},
		{mixed, `$.a[?@.b]`, `[{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}]`},
		{mixed, `$[?@[?@.b]]`, `[[3,5,1,2,4,6,{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}]]`},
		{mixed, `$.a[?@<2 || @.b == "k"]`, `[1,{"b":"k"}]`},
		{mixed, `$.a[?match(@.b, "[jk]")]`, `[{"b":"j"},{"b":"k"}]`},
		{mixed, `$.a[?search(@.b, "[jk]")]`, `[{"b":"j"},{"b":"k"},{"b":"kilo"}]`},
		{mixed, `$.a[?match(@.b, "ki|k")]`, `[{"b":"k"}]`},
		{`["a\u000db","a\nb","axb"]`, `$[?match(@, "a.b")]`, `["axb"]`},
		{mixed, `$.a[?@.b == $.x]`, `[3,5,1,2,4,6]`},
		{mixed, `$.a[?@ == @]`, `[3,5,1,2,4,6,{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}]`},
		{mixed, `$.a[?!@.b]`, `[3,5,1,2,4,6]`},
		{mixed, `$.a[?length(@.b) == 4]`, `[{"b":"kilo"}]`},
		{mixed, `$.o[?@>1 && @<4]`, `[2,3]`},
		{mixed, `$.a[?count(@.*) == 1]`, `[{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}]`},
		{mixed, `$[?value(@.t.u) == 6].p`, `[1]`},
		{`[{"a":1},{"a":true},{"a":"1"},{"a":null},{"a":1.0}]`, `$[?@.a==1].a`, `[1,1]`},
		{`[{"a":1},{"a":true},{"a":"1"},{"a":null}]`, `$[?@.a==true].a`, `[true]`},
		{`[{"a":null},{}]`, `$[?@.a==null]`, `[{"a":null}]`},
		{`[{"a":"b"},{"a":"c"},{}]`, `$[?@.a!='b']`, `[{"a":"c"},{}]`},
		{`[{"a":"b"},{"a":"c"}]`, `$[?@.a>='c'].a`, `["c"]`},
		{`[{"a":[1,[2]],"b":[1,[2]]},{"a":1,"b":2}]`, `$[?@.a==@.b].a`, `[[1,[2]]]`},
		{`[[1],[1,2]]`, `$[?length(@) > 1]`, `[[1,2]]`},
		{`["é"]`, `$[?length(@) == 1]`, `["é"]`},
	} {
		var document any
		if err := json.Unmarshal([]byte(c.document), &document); err != nil {
			t.Fatal(err)
		}
		path, err := source.Paths.Parse(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		var want []any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		got := []any(path.Select(document))
		if c.path == `$.o[?@>1 && @<4]` && len(got) == 2 && got[0] == 3.0 {
			got[0], got[1] = got[1], got[0]
		}
		if diff := cmp.Diff(want, append([]any{}, got...)); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
	}
	for _, bad := range []string{
		``, ` $`, `$ `, `a`, `$.`, `$..`, `$.&`, `$.1`, `$[]`, `$[0 2]`, `$['a'`, `$[01]`, `$[-0]`, `$[1.0]`, `$[9007199254740992]`,
		`$['\x']`, `$[?@.a==]`, `$[?@.a=='b'`, `$[?count(@.a)]`, `$[?length(@.a)]`, `$[?match(@.a)]`, `$[?@.* == 1]`, `$[?1]`, `$[?true]`, `$[?nope(@)]`,
		`$[?@.a = 1]`, `$[?@.a === 1]`, `$[?"a"]`, `$[?@==[1]]`, `$.store..`, `$[?@.a==01]`, `$["\uD800"]`, `$.length()`,
	} {
		if _, err := source.Paths.Parse(bad); err == nil {
			t.Errorf("%q is parsed", bad)
		}
	}
}
