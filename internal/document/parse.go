package document

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Parse parses one YAML document. On any syntax problem (including an empty file, several
// documents, too large, too deep, not UTF-8, a NUL byte, an alias bomb) the Document is nil and the
// problems say why.
func Parse(file string, src []byte) (*Document, []Problem) {
	d, problems := parse(file, src)
	if d == nil && len(problems) == 0 {
		problems = []Problem{*problemAt(file, 1, 1, "the file is empty")}
	}
	return d, problems
}

// ParseOptional is Parse for a file that may be empty: then it is a mapping without keys.
func ParseOptional(file string, src []byte) (*Document, []Problem) {
	d, problems := parse(file, src)
	if d == nil && len(problems) == 0 {
		d = &Document{file: file, root: &node{kind: Map}}
	}
	return d, problems
}

// parse returns neither a Document nor a problem if the file is empty.
func parse(file string, src []byte) (*Document, []Problem) {
	text, problem := prepare(file, src)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	body, problem := parseBody(file, text)
	switch {
	case problem != nil:
		return nil, []Problem{*problem}
	case body == nil:
		return nil, nil
	}
	t := tree{file: file, where: newLocator(text), anchors: map[string]*node{}}
	root := t.node(body)
	if len(t.problems) > 0 {
		SortProblems(t.problems)
		return nil, t.problems
	}
	if root.kind != Map {
		return nil, []Problem{*problemAt(file, int(root.line), int(root.column), "expected a mapping of keys, found "+root.describe())}
	}
	d := &Document{file: file, root: root}
	if len(t.repeats) > 0 {
		d.repeated = t.repeatedKeys(root, nil, map[field]bool{})
	}
	return d, nil
}

// parseBody returns the one document of a text; nil if there is none. The library is not trusted
// with hostile input: checkTokens bounds what it is given, and if it still panics, that is reported
// as a problem of the file and does not end the process.
func parseBody(file, text string) (body ast.Node, problem *Problem) {
	defer func() {
		if r := recover(); r != nil {
			body, problem = nil, problemAt(file, 1, 1, "is not valid YAML")
		}
	}()
	tokens := lexer.Tokenize(text)
	if bad := tokens.InvalidToken(); bad != nil {
		return nil, syntaxProblem(file, text, bad, bad.Error)
	}
	if problem := checkTokens(file, tokens); problem != nil {
		return nil, problem
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var located interface {
			GetToken() *token.Token
			GetMessage() string
		}
		if errors.As(err, &located) {
			return nil, syntaxProblem(file, text, located.GetToken(), located.GetMessage())
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, problemAt(file, 1, 1, "is not valid YAML: "+first)
	}
	return onlyBody(file, parsed)
}

func onlyBody(file string, parsed *ast.File) (ast.Node, *Problem) {
	var body ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			line, column := 1, 1
			if doc.Start != nil {
				line, column = doc.Start.Position.Line, doc.Start.Position.Column
			}
			return nil, problemAt(file, line, column, "a second document begins here; keep one document per file")
		}
		body = doc.Body
	}
	return body, nil
}

// plainer rewords the library's more puzzling messages.
var plainer = []struct{ found, say string }{
	{"found character '\t'", "a tab where YAML requires spaces; indent with spaces"},
	{"found a tab character", "a tab where YAML requires spaces; indent with spaces"},
	{"mapping value is not allowed in this context", "a second \": \" on the line; put the text in quotes, or the mapping on its own line"},
	{"could not find end character of", "the quote that starts here is never closed"},
	{"map key-value is pre-defined", "text after a complete value; put the whole text in quotes, or check the indentation"},
	{"value is not allowed in this context", "does not fit here; check the indentation"},
	{"is a reserved character", "a text may not begin with this character; put it in quotes"},
	{"unexpected directive value", "a text may not begin with %; put it in quotes"},
	{"block sequence entries are not allowed", "a list that begins on its key's line; put each \"- \" on its own line"},
	{"',' or ']' must be specified", "the list that starts with [ is not closed; expected \",\" or \"]\" here"},
	{"',' or '}' must be specified", "the mapping that starts with { is not closed; expected \",\" or \"}\" here"},
	{"could not find flow mapping end token", "the mapping that starts with { is not closed"},
	{"could not find flow map content", "the mapping that starts with { is not closed"},
	{"sequence end token ']' not found", "the list that starts with [ is not closed"},
}

func syntaxProblem(file, text string, at *token.Token, message string) *Problem {
	for _, p := range plainer {
		if strings.Contains(message, p.found) {
			message = p.say
			break
		}
	}
	if _, char, found := strings.Cut(message, "found unknown escape character "); found {
		message = `\` + strings.Trim(char, "'") + " is not a valid escape in double quotes; put the text in single quotes"
	}
	line, column := 1, 1
	if at != nil && at.Position != nil {
		line, column = max(1, at.Position.Line), max(1, at.Position.Column)
	}
	if strings.Contains(message, "is not closed; expected") && strings.Contains(SourceLine(text, line), "${") {
		message += "; inside brackets, put a text with ${…} in quotes"
	}
	return problemAt(file, line, column, "is not valid YAML: "+message)
}
