package deploy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Terraform needs its providers to run the module's own tests (deploy/terraform/tests), and make
// test has them only if they can be downloaded. So the runs are also evaluated here, with the
// module's own variables and assertions.
func TestRunsOfTheModulesOwnTestsHold(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(terraformDir), "tests", "*.tftest.hcl"))
	check(t, err)
	refused := map[string]bool{} // variables
	runs := 0
	for _, name := range files {
		file, wrong := hclsyntax.ParseConfig([]byte(read(t, terraformDir+"/tests/"+filepath.Base(name))), filepath.Base(name), hcl.InitialPos)
		if wrong.HasErrors() {
			t.Fatal(wrong)
		}
		body := file.Body.(*hclsyntax.Body)
		for _, b := range body.Blocks {
			if b.Type != "run" {
				continue
			}
			runs++
			t.Run(b.Labels[0], func(t *testing.T) {
				m := parse(t, terraformDir, nil)
				m.given = m.givenBy(t, append(blocksOf(body, "variables"), blocksOf(b.Body, "variables")...))
				m.answers = m.mockedBy(t, body)
				m.expect(t, b.Body, refused)
				for _, assert := range blocksOf(b.Body, "assert") {
					m.assert(t, assert.Body.Attributes["condition"].Expr)
				}
			})
		}
	}
	if runs == 0 {
		t.Error("the module has no tests")
	}
	for name, b := range least(t).all("var") {
		if len(blocksOf(b.Body, "validation")) > 0 && !refused[name] {
			t.Errorf("no run shows what var.%s refuses", name)
		}
	}
}

// givenBy returns the variables that blocks set, converted to their types. Paths are relative to
// the module.
func (m *module) givenBy(t *testing.T, blocks []*hclsyntax.Block) map[string]cty.Value {
	t.Helper()
	given := map[string]cty.Value{}
	for _, b := range blocks {
		for name, a := range b.Body.Attributes {
			v, wrong := a.Expr.Value(nil)
			if wrong.HasErrors() {
				t.Fatal(wrong)
			}
			if strings.HasSuffix(name, "_path") {
				v = cty.StringVal(filepath.Join(root, filepath.FromSlash(terraformDir), filepath.FromSlash(v.AsString())))
			}
			declared := m.blocks["var."+name]
			if declared == nil {
				t.Fatalf("var.%s is not declared", name)
			}
			is, usual, wrong := typeexpr.TypeConstraintWithDefaults(declared.Body.Attributes["type"].Expr)
			if wrong.HasErrors() {
				t.Fatal(wrong)
			}
			if usual != nil {
				v = usual.Apply(v)
			}
			var err error
			given[name], err = convert.Convert(v, is)
			check(t, err)
		}
	}
	return given
}

// mockedBy returns the mocked answers of data sources, by address and attribute.
func (m *module) mockedBy(t *testing.T, file *hclsyntax.Body) map[string]cty.Value {
	t.Helper()
	answers := map[string]cty.Value{}
	for _, provider := range blocksOf(file, "mock_provider") {
		for _, mock := range blocksOf(provider.Body, "mock_data") {
			defaults, wrong := mock.Body.Attributes["defaults"].Expr.Value(nil)
			if wrong.HasErrors() {
				t.Fatal(wrong)
			}
			there := m.all("data." + mock.Labels[0])
			if len(there) == 0 {
				t.Errorf("%s: the module has no such data", mock.Labels[0])
			}
			for name := range there {
				for attribute, v := range defaults.AsValueMap() {
					answers["data."+mock.Labels[0]+"."+name+"."+attribute] = v
				}
			}
		}
	}
	return answers
}

func blocksOf(b *hclsyntax.Body, kind string) (all []*hclsyntax.Block) {
	for _, one := range b.Blocks {
		if one.Type == kind {
			all = append(all, one)
		}
	}
	return all
}

// expect checks that a run is rejected for the named reasons only.
func (m *module) expect(t *testing.T, run *hclsyntax.Body, refused map[string]bool) {
	t.Helper()
	var expected []string
	if a := run.Attributes["expect_failures"]; a != nil {
		for _, path := range a.Expr.Variables() {
			address := strings.Join(append([]string{path.RootName()}, stepsOf(path)...), ".")
			if m.blocks[address] == nil {
				t.Errorf("%s is not declared", address)
			}
			expected = append(expected, address)
		}
	}
	for name := range m.all("var") {
		fails := slices.Contains(expected, "var."+name)
		if m.holds(t, name) == fails {
			t.Errorf("var.%s is refused: %t, want %t", name, !fails, fails)
		}
		if fails {
			refused[name] = true
		}
	}
}

// assert evaluates a condition on the declared resources. A condition that depends on AWS cannot be
// decided in a plan, so it is an error, too.
func (m *module) assert(t *testing.T, condition hclsyntax.Expression) {
	t.Helper()
	roots := map[string]map[string]cty.Value{}
	for _, path := range condition.Variables() {
		name, steps := path.RootName(), stepsOf(path)
		if roots[name] == nil {
			roots[name] = map[string]cty.Value{}
		}
		if name == "output" {
			v, err := m.eval(m.blocks["output."+steps[0]].Body.Attributes["value"].Expr, nil)
			check(t, err)
			roots[name][steps[0]] = v
			continue
		}
		if name == "data" {
			known := map[string]cty.Value{}
			if v, there := roots[name][steps[0]]; there {
				known = v.AsValueMap()
			}
			known[steps[1]] = m.declared(t, "data."+steps[0]+"."+steps[1])
			roots[name][steps[0]] = cty.ObjectVal(known)
			continue
		}
		roots[name][steps[0]] = m.declared(t, name+"."+steps[0])
	}
	extra := map[string]cty.Value{}
	for name, v := range roots {
		extra[name] = cty.ObjectVal(v)
	}
	v, err := m.eval(condition, extra)
	if err != nil || !v.IsKnown() || !v.True() {
		t.Errorf("%s: %s, %v", condition.Range(), shown(v), err)
	}
}

// declared returns a whole resource: an object, or one per instance.
func (m *module) declared(t *testing.T, address string) cty.Value {
	t.Helper()
	b := m.blocks[address]
	if b == nil {
		t.Fatalf("%s is not declared", address)
	}
	if count := b.Body.Attributes["count"]; count != nil {
		n, err := m.eval(count.Expr, nil)
		check(t, err)
		all := []cty.Value{}
		for i := int64(0); cty.NumberIntVal(i).LessThan(n).True(); i++ {
			all = append(all, m.fields(t, b.Body, nil))
		}
		return cty.TupleVal(all)
	}
	each, err := m.instances(b)
	check(t, err)
	if b.Body.Attributes["for_each"] == nil {
		return m.fields(t, b.Body, nil)
	}
	all := map[string]cty.Value{}
	for _, one := range each {
		all[shown(one["each"].GetAttr("key"))] = m.fields(t, b.Body, one)
	}
	return cty.ObjectVal(all)
}

// fields returns the attributes of a block, and its nested blocks as lists.
func (m *module) fields(t *testing.T, body *hclsyntax.Body, extra map[string]cty.Value) cty.Value {
	t.Helper()
	all := map[string]cty.Value{}
	for name, a := range body.Attributes {
		if name == "for_each" || name == "count" || name == "depends_on" {
			continue
		}
		v, err := m.eval(a.Expr, extra)
		check(t, err)
		all[name], _ = v.UnmarkDeep()
	}
	inner := map[string][]cty.Value{}
	for _, b := range body.Blocks {
		switch b.Type {
		case "lifecycle":
		case "dynamic":
			inner[b.Labels[0]] = append(inner[b.Labels[0]], m.generated(t, b, extra)...)
		default:
			inner[b.Type] = append(inner[b.Type], m.fields(t, b.Body, extra))
		}
	}
	for name, list := range inner {
		all[name] = cty.TupleVal(alike(list))
	}
	return cty.ObjectVal(all)
}

// generated returns the blocks of a dynamic block.
func (m *module) generated(t *testing.T, b *hclsyntax.Block, extra map[string]cty.Value) []cty.Value {
	t.Helper()
	all := []cty.Value{}
	over, err := m.eval(b.Body.Attributes["for_each"].Expr, extra)
	check(t, err)
	for it := over.ElementIterator(); it.Next(); {
		key, value := it.Element()
		here := map[string]cty.Value{b.Labels[0]: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		for name, v := range extra {
			here[name] = v
		}
		all = append(all, m.fields(t, blocksOf(b.Body, "content")[0].Body, here))
	}
	return all
}

// alike gives objects of one kind the same fields, as a provider's schema does: missing blocks are
// empty lists, missing attributes null.
func alike(list []cty.Value) []cty.Value {
	fields := map[string]cty.Value{}
	for _, one := range list {
		for name, v := range one.AsValueMap() {
			if fields[name] = cty.NullVal(cty.DynamicPseudoType); v.Type().IsTupleType() {
				fields[name] = cty.EmptyTupleVal
			}
		}
	}
	var all []cty.Value
	for _, one := range list {
		whole := map[string]cty.Value{}
		for name, missing := range fields {
			whole[name] = missing
		}
		for name, v := range one.AsValueMap() {
			whole[name] = v
		}
		all = append(all, cty.ObjectVal(whole))
	}
	return all
}
