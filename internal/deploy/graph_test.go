package deploy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// needs returns the addresses that an expression refers to.
func needs(e hclsyntax.Expression) []string {
	var all []string
	for _, path := range e.Variables() {
		steps := stepsOf(path)
		whole := 1 // number of steps that name the declaration
		if path.RootName() == "data" {
			whole = 2
		}
		if len(steps) >= whole {
			all = append(all, strings.Join(append([]string{path.RootName()}, steps[:whole]...), "."))
		}
	}
	return all
}

// needsIn returns those of everything in a block.
func needsIn(body *hclsyntax.Body) []string {
	var all []string
	for _, a := range body.Attributes {
		all = append(all, needs(a.Expr)...)
	}
	for _, b := range body.Blocks {
		all = append(all, needsIn(b.Body)...)
	}
	return all
}

// waitsIn returns what each declaration of a module refers to.
func waitsIn(m *module) map[string][]string {
	waits := map[string][]string{}
	for address, b := range m.blocks {
		if !strings.HasPrefix(address, "var.") { // variables depend on nothing; a condition refers to its own variable
			waits[address] = needsIn(b.Body)
		}
	}
	for name, e := range m.locals {
		waits["local."+name] = needs(e)
	}
	return waits
}

// Terraform destroys a resource after those that wait for it. The one that refuses must be the first,
// so it waits for all others.
func TestDestroyIsRefusedBeforeAnythingIsRemoved(t *testing.T) {
	const refuses = "terraform_data.deletion_protection"
	m := least(t)
	waits, first := waitsIn(m), map[string]bool{}
	var walk func(name string)
	walk = func(name string) {
		if !first[name] {
			first[name] = true
			for _, next := range waits[name] {
				walk(next)
			}
		}
	}
	walk(refuses)
	for address, b := range m.blocks {
		if b.Type == "resource" && !first[address] {
			t.Errorf("%s would be destroyed before terraform destroy is refused: add it to depends_on of %s", address, refuses)
		}
	}
}

// Terraform creates whole resources one after the other: none may depend on itself, however
// indirectly.
func TestNothingWaitsInACircle(t *testing.T) {
	waits := waitsIn(least(t))
	done := map[string]bool{}
	var walk func(name string, way []string)
	walk = func(name string, way []string) {
		if i := slices.Index(way, name); i >= 0 {
			t.Errorf("%s", strings.Join(append(way[i:], name), " → "))
			return
		}
		if done[name] {
			return
		}
		for _, next := range waits[name] {
			walk(next, append(slices.Clip(way), name))
		}
		done[name] = true
	}
	if len(waits) < 50 {
		t.Errorf("found only %d", len(waits))
	}
	for _, name := range slices.Sorted(maps.Keys(waits)) {
		walk(name, nil)
	}
}
