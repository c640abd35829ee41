package source

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"
)

// paths parses JSONPath. It replaces the library's functions match and search, which panic if an
// argument selects nothing; the library's match also anchors only the first and last alternative of
// a|b.
var paths = newParser()

func newParser() *jsonpath.Parser {
	functions := registry.New()
	for name, format := range map[string]string{"match": `\A(?:%s)\z`, "search": `%s`} {
		*functions.Get(name) = *spec.Extension(name, spec.FuncLogical, twoValues, matchWith(format))
	}
	return jsonpath.NewParser(jsonpath.WithRegistry(functions))
}

func twoValues(args []spec.FuncExprArg) error {
	if len(args) != 2 {
		return fmt.Errorf("expected 2 arguments but found %d", len(args))
	}
	for i, arg := range args {
		if !arg.ConvertsTo(spec.FuncValue) {
			return fmt.Errorf("argument %d is not a value", i+1)
		}
	}
	return nil
}

// matchWith matches the first argument against the second, an I-Regexp (RFC 9485), inserted into
// format.
func matchWith(format string) spec.Evaluator {
	return func(args []spec.PathValue) spec.PathValue {
		text, isText := textOf(args[0])
		pattern, isPattern := textOf(args[1])
		if !isText || !isPattern {
			return spec.LogicalFalse
		}
		expr := iRegexp(fmt.Sprintf(format, pattern))
		return spec.Logical(expr != nil && expr.MatchString(text))
	}
}

func textOf(v spec.PathValue) (string, bool) {
	value := spec.ValueFrom(v)
	if value == nil {
		return "", false
	}
	text, ok := value.Value().(string)
	return text, ok
}

// iRegexp compiles a regular expression in which a dot matches anything but a line break; nil if it
// is invalid.
func iRegexp(text string) *regexp.Regexp {
	tree, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil
	}
	replaceDots(tree)
	expr, err := regexp.Compile(tree.String())
	if err != nil {
		return nil
	}
	return expr
}

func replaceDots(tree *syntax.Regexp) {
	if tree.Op == syntax.OpAnyChar {
		tree.Op, tree.Rune = syntax.OpCharClass, []rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, 0x10FFFF}
	}
	for _, sub := range tree.Sub {
		replaceDots(sub)
	}
}
