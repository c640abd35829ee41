package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// module is a Terraform module, read and evaluated without Terraform's providers: a value that only
// AWS knows is a text that names it, such as <aws_sqs_queue.alerts.arn>, or unknown.
type module struct {
	dir    string
	blocks map[string]*hclsyntax.Block // by address: aws_sqs_queue.alerts, data.aws_lambda_invocation.check, var.tags, output.table_names
	locals map[string]hclsyntax.Expression
	given  map[string]cty.Value // variables that the caller sets
	known  map[string]cty.Value // locals that were evaluated

	answers map[string]cty.Value // assumed answers of AWS, by address and attribute
}

// parse reads all files of a module.
func parse(t testing.TB, dir string, given map[string]cty.Value) *module {
	t.Helper()
	m := &module{
		dir: dir, given: given, blocks: map[string]*hclsyntax.Block{}, locals: map[string]hclsyntax.Expression{}, known: map[string]cty.Value{},
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.tf"))
	check(t, err)
	if len(files) == 0 {
		t.Fatalf("%s holds no module", dir)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		check(t, err)
		file, wrong := hclsyntax.ParseConfig(text, filepath.Base(name), hcl.InitialPos)
		if wrong.HasErrors() {
			t.Fatal(wrong)
		}
		for _, b := range file.Body.(*hclsyntax.Body).Blocks {
			m.declare(t, b)
		}
	}
	return m
}

func (m *module) declare(t testing.TB, b *hclsyntax.Block) {
	t.Helper()
	if b.Type == "locals" {
		for name, a := range b.Body.Attributes {
			m.locals[name] = a.Expr
		}
		return
	}
	address := strings.Join(b.Labels, ".")
	switch b.Type {
	case "check", "data", "module", "output", "provider":
		address = b.Type + "." + address
	case "variable":
		address = "var." + address
	case "terraform":
		address = "terraform"
	}
	if m.blocks[address] != nil {
		t.Errorf("%s is declared twice", address)
	}
	m.blocks[address] = b
}

// blocks of one type of resource, or data, by name.
func (m *module) all(kind string) map[string]*hclsyntax.Block {
	found := map[string]*hclsyntax.Block{}
	for address, b := range m.blocks {
		if name, ok := strings.CutPrefix(address, kind+"."); ok {
			found[name] = b
		}
	}
	return found
}

// eval evaluates an expression; extra are local names, such as each.
func (m *module) eval(e hcl.Expression, extra map[string]cty.Value) (cty.Value, error) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: functions}
	roots := map[string]*node{}
	for _, path := range e.Variables() {
		name := path.RootName()
		if v, here := extra[name]; here {
			ctx.Variables[name] = v
			continue
		}
		if roots[name] == nil {
			roots[name] = &node{}
		}
		if err := m.place(roots[name], path); err != nil {
			return cty.NilVal, fmt.Errorf("%s: %w", path.SourceRange(), err)
		}
	}
	for name, n := range roots {
		ctx.Variables[name] = n.object()
	}
	v, wrong := e.Value(ctx)
	if wrong.HasErrors() {
		return cty.NilVal, wrong
	}
	return v, nil
}

// node is a value that is built from the paths into it.
type node struct {
	value    cty.Value
	children map[string]*node
}

func (n *node) at(steps ...string) *node {
	for _, s := range steps {
		if n.children == nil {
			n.children = map[string]*node{}
		}
		if n.children[s] == nil {
			n.children[s] = &node{}
		}
		n = n.children[s]
	}
	return n
}

func (n *node) object() cty.Value {
	if n.children == nil {
		return n.value
	}
	fields := map[string]cty.Value{}
	for name, c := range n.children {
		fields[name] = c.object()
	}
	return cty.ObjectVal(fields)
}

// place puts the value of a path under its root.
func (m *module) place(under *node, path hcl.Traversal) error {
	steps := stepsOf(path)
	switch path.RootName() {
	case "var":
		v, err := m.variable(steps[0])
		under.at(steps[0]).value = v
		return err
	case "local":
		v, err := m.local(steps[0])
		under.at(steps[0]).value = v
		return err
	case "path":
		under.at("module").value = cty.StringVal(filepath.Join(root, filepath.FromSlash(m.dir)))
		return nil
	case "self":
		under.value = cty.DynamicVal
		return nil
	}
	return m.placeForeign(under, path.RootName(), steps)
}

// placeForeign puts a placeholder for an answer of AWS. A resource as a whole is unknown.
func (m *module) placeForeign(under *node, name string, steps []string) error {
	whole := 1 // steps that name the resource
	if name == "data" {
		whole = 2
	}
	address := strings.Join(append([]string{name}, steps[:min(whole, len(steps))]...), ".")
	if m.blocks[address] == nil {
		return fmt.Errorf("%s is not declared", address)
	}
	if len(steps) <= whole {
		under.at(steps...).value = cty.DynamicVal
		return nil
	}
	asked := strings.Join(append([]string{name}, steps...), ".")
	if answer, there := m.answers[asked]; there {
		under.at(steps...).value = answer
		return nil
	}
	under.at(steps...).value = cty.StringVal("<" + asked + ">")
	return nil
}

// stepsOf returns a path after its root. Indexes are steps like names.
func stepsOf(path hcl.Traversal) []string {
	var steps []string
	for _, s := range path[1:] {
		switch s := s.(type) {
		case hcl.TraverseAttr:
			steps = append(steps, s.Name)
		case hcl.TraverseIndex:
			if s.Key.Type() != cty.String {
				return steps // the first of several: the rest is unknown
			}
			steps = append(steps, s.Key.AsString())
		}
	}
	return steps
}

func (m *module) variable(name string) (cty.Value, error) {
	b := m.blocks["var."+name]
	if b == nil {
		return cty.NilVal, fmt.Errorf("var.%s is not declared", name)
	}
	if v, set := m.given[name]; set {
		return v, nil
	}
	usual := b.Body.Attributes["default"]
	if usual == nil {
		return cty.NilVal, fmt.Errorf("var.%s is not set", name)
	}
	return m.eval(usual.Expr, nil)
}

func (m *module) local(name string) (cty.Value, error) {
	if v, done := m.known[name]; done {
		return v, nil
	}
	e, there := m.locals[name]
	if !there {
		return cty.NilVal, fmt.Errorf("local.%s is not declared", name)
	}
	v, err := m.eval(e, nil)
	if err == nil {
		m.known[name] = v
	}
	return v, err
}

// instances returns the values of each in a block: one for every element of its for_each, or a
// single empty one.
func (m *module) instances(b *hclsyntax.Block) ([]map[string]cty.Value, error) {
	a := b.Body.Attributes["for_each"]
	if a == nil {
		return []map[string]cty.Value{nil}, nil
	}
	over, err := m.eval(a.Expr, nil)
	if err != nil {
		return nil, err
	}
	var all []map[string]cty.Value
	for it := over.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if over.Type().IsSetType() || over.Type().IsTupleType() {
			key = value
		}
		all = append(all, map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})})
	}
	return all, nil
}

// text evaluates a text attribute.
func (m *module) text(t testing.TB, b *hclsyntax.Block, name string, extra map[string]cty.Value) string {
	t.Helper()
	a := b.Body.Attributes[name]
	if a == nil {
		return ""
	}
	v, err := m.eval(a.Expr, extra)
	check(t, err)
	return shown(v)
}

// shown returns a value as text.
func shown(v cty.Value) string {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown():
		return "<unknown>"
	case v.IsNull():
		return "<null>"
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	case v.Type() == cty.Bool:
		return fmt.Sprint(v.True())
	}
	return v.GoString()
}

// texts returns the elements of a list as texts.
func texts(v cty.Value) []string {
	var all []string
	if v.IsKnown() && !v.IsNull() && v.CanIterateElements() {
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			all = append(all, shown(e))
		}
	}
	return all
}

// sorted returns a sorted copy.
func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }
