// Package template renders Go templates (the syntax of text/template) over plain values: maps,
// lists, texts, numbers. It calls no methods and reads no struct fields. text/template does so by
// reflection, which makes the linker keep every method of every type and the binary a third larger.
// Definitions ({{define}}, {{block}}, {{template}}) are not supported.
package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// Template is a parsed template. It is safe for use by several goroutines.
type Template struct{ root *parse.ListNode }

// Parse parses text. The error names the line.
func Parse(text string) (*Template, error) {
	known := map[string]any{}
	for name := range functions {
		known[name] = true
	}
	trees, err := parse.Parse("template", text, "", "", known)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	if len(trees) > 1 {
		return nil, errors.New("define and block are not supported; write one template")
	}
	tree := trees["template"]
	if tree == nil || tree.Root == nil {
		return &Template{root: &parse.ListNode{}}, nil
	}
	return &Template{root: tree.Root}, nil
}

// maxOutput bounds the output of a template.
const maxOutput = 256 << 10

// Render executes the template on data.
func (t *Template) Render(data map[string]any) (string, error) {
	s := &state{vars: []variable{{"$", data}}}
	if err := s.list(t.root, data); err != nil {
		return "", err
	}
	return s.out.String(), nil
}

type variable struct {
	name  string
	value any
}

// state is one execution.
type state struct {
	out  strings.Builder
	vars []variable
}

// Errors that end a range early.
var (
	errBreak    = errors.New("break outside a range")
	errContinue = errors.New("continue outside a range")
)

func (s *state) list(l *parse.ListNode, dot any) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := s.node(n, dot); err != nil {
			return err
		}
		if s.out.Len() > maxOutput {
			return fmt.Errorf("the result is larger than %d KiB", maxOutput>>10)
		}
	}
	return nil
}

func (s *state) node(n parse.Node, dot any) error {
	switch n := n.(type) {
	case *parse.TextNode:
		s.out.Write(n.Text)
	case *parse.CommentNode:
	case *parse.ActionNode:
		value, err := s.pipe(n.Pipe, dot)
		if err == nil && len(n.Pipe.Decl) == 0 {
			s.out.WriteString(text(value))
		}
		return err
	case *parse.IfNode:
		return s.branch(&n.BranchNode, dot, false)
	case *parse.WithNode:
		return s.branch(&n.BranchNode, dot, true)
	case *parse.RangeNode:
		return s.loop(n, dot)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	default:
		return fmt.Errorf("%s is not supported", n)
	}
	return nil
}

// branch executes an if, or a with, which also sets the dot.
func (s *state) branch(b *parse.BranchNode, dot any, with bool) error {
	defer s.leave(len(s.vars))
	value, err := s.pipe(b.Pipe, dot)
	if err != nil {
		return err
	}
	if !truth(value) {
		return s.list(b.ElseList, dot)
	}
	if with {
		dot = value
	}
	return s.list(b.List, dot)
}

// leave drops the variables that a block has declared.
func (s *state) leave(n int) { s.vars = s.vars[:n] }

func (s *state) loop(r *parse.RangeNode, dot any) error {
	defer s.leave(len(s.vars))
	value, err := s.operand(r.Pipe, dot)
	if err != nil {
		return err
	}
	keys, items, err := elements(value)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return s.list(r.ElseList, dot)
	}
	for i, item := range items {
		mark := len(s.vars)
		if decl := r.Pipe.Decl; len(decl) == 1 {
			s.vars = append(s.vars, variable{decl[0].Ident[0], item})
		} else if len(decl) == 2 {
			s.vars = append(s.vars, variable{decl[0].Ident[0], keys[i]}, variable{decl[1].Ident[0], item})
		}
		err := s.list(r.List, item)
		s.leave(mark)
		if errors.Is(err, errBreak) {
			return nil
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
	}
	return nil
}

// elements returns the keys and values of a range: of a list, or of a map in order of its keys.
func elements(value any) (keys, items []any, err error) {
	switch v := value.(type) {
	case nil:
	case []any:
		for i, item := range v {
			keys, items = append(keys, i), append(items, item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			keys, items = append(keys, key), append(items, v[key])
		}
	default:
		return nil, nil, fmt.Errorf("range over %s, which is not a list or map", text(value))
	}
	return keys, items, nil
}

// pipe evaluates a pipeline and sets the variables that it declares or assigns.
func (s *state) pipe(p *parse.PipeNode, dot any) (any, error) {
	value, err := s.operand(p, dot)
	if err != nil {
		return nil, err
	}
	for _, v := range p.Decl {
		if !p.IsAssign {
			s.vars = append(s.vars, variable{v.Ident[0], value})
			continue
		}
		if declared := s.variable(v.Ident[0]); declared != nil {
			declared.value = value
		}
	}
	return value, nil
}

// variable returns the innermost variable of that name, or nil.
func (s *state) variable(name string) *variable {
	for i := range slices.Backward(s.vars) {
		if s.vars[i].name == name {
			return &s.vars[i]
		}
	}
	return nil
}

func (s *state) operand(p *parse.PipeNode, dot any) (any, error) {
	var value any
	for i, cmd := range p.Cmds {
		var err error
		if value, err = s.command(cmd, dot, value, i > 0); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// command evaluates one command of a pipeline; piped is the result of the one before it.
func (s *state) command(c *parse.CommandNode, dot, piped any, isPiped bool) (any, error) {
	name, isFunction := c.Args[0].(*parse.IdentifierNode)
	if !isFunction {
		if len(c.Args) > 1 || isPiped {
			return nil, fmt.Errorf("%s is not a function", c.Args[0])
		}
		return s.value(c.Args[0], dot)
	}
	var args []any
	for _, arg := range c.Args[1:] {
		value, err := s.value(arg, dot)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	if isPiped {
		args = append(args, piped)
	}
	return call(name.Ident, args)
}

func call(name string, args []any) (any, error) {
	value, err := functions[name](args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}

func (s *state) value(n parse.Node, dot any) (any, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.StringNode:
		return n.Text, nil
	case *parse.NumberNode:
		if n.IsInt {
			return int(n.Int64), nil
		}
		return n.Float64, nil
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		if v := s.variable(n.Ident[0]); v != nil {
			return fields(v.value, n.Ident[1:])
		}
		return nil, fmt.Errorf("unknown variable %s", n.Ident[0])
	case *parse.ChainNode:
		value, err := s.value(n.Node, dot)
		if err != nil {
			return nil, err
		}
		return fields(value, n.Field)
	case *parse.PipeNode:
		return s.operand(n, dot)
	case *parse.IdentifierNode:
		return call(n.Ident, nil)
	}
	return nil, fmt.Errorf("%s is not supported", n)
}

// fields looks up names in nested maps. A name that is missing in the first map is an error;
// deeper, in user data, it is nil.
func fields(value any, names []string) (any, error) {
	for _, name := range names {
		m, ok := value.(map[string]any)
		if !ok && value != nil {
			return nil, fmt.Errorf("%s has no field %s", text(value), name)
		}
		next, there := m[name]
		if !there && m["Type"] != nil && m["Severity"] != nil {
			return nil, fmt.Errorf("there is no field %s; there are %s", name, strings.Join(slices.Sorted(maps.Keys(m)), ", "))
		}
		value = next
	}
	return value, nil
}
