package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/interlock-go/interlock"

// source is one parsed Go file of the repository.
type source struct {
	dir   string // the package's folder
	layer layer
	test  bool
	file  *ast.File
	fset  *token.FileSet
	found *[]string // shared by all files of one check
}

// check applies every rule to the given files, path → content, and lists what breaks one, in order
// of path.
func check(files map[string][]byte) []string {
	var found []string
	fset := token.NewFileSet()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		parsed, err := parser.ParseFile(fset, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			found = append(found, fmt.Sprintf("parse %s: %v", name, err))
			continue
		}
		dir := path.Dir(name)
		s := source{
			dir: dir, layer: layerOf(dir), test: strings.HasSuffix(name, "_test.go"),
			file: parsed, fset: fset, found: &found,
		}
		if s.layer == "" {
			s.report(parsed.Package, "package %s has no room: give it one in internal/arch/rooms_test.go and docs/ARCHITECTURE.md", dir)
			continue
		}
		s.checkImports()
		if !s.test {
			s.checkConnections()
		}
		if s.layer == decide {
			s.checkPurity()
		}
	}
	return found
}

// report records that a rule is broken at pos.
func (s source) report(pos token.Pos, format string, args ...any) {
	p := s.fset.Position(pos)
	*s.found = append(*s.found, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
}

// checkImports applies the rules about who may import whom.
func (s source) checkImports() {
	for _, spec := range s.file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has already refused such a file
		}
		switch dir, ours := strings.CutPrefix(target, module+"/"); {
		case ours:
			if why := s.refuses(dir); why != "" {
				s.report(spec.Pos(), "%s (%s) may not import %s: %s", s.dir, s.layer, dir, why)
			}
		case strings.HasPrefix(target, "github.com/aws/") && !listed(s.dir, awsRooms):
			s.report(spec.Pos(), "%s may not import the AWS SDK (%s): only %s may", s.dir, target, strings.Join(awsRooms, ", "))
		}
	}
}

// refuses says why this file may not import our package dir; "" if it may.
func (s source) refuses(dir string) string {
	if s.test && (dir == s.dir || forTests[dir] != "") {
		return ""
	}
	to := layerOf(dir)
	switch {
	case to == "":
		return "it has no room in internal/arch/rooms_test.go"
	case s.layer == adapter && to == adapter:
		return "adapters never import each other"
	case s.layer == form && !s.test:
		return "programs outside import it, so it stands on its own"
	case !slices.Contains(mayImport[s.layer], to):
		return fmt.Sprintf("a package of layer %s sees only %s, and that one is of layer %s", s.layer, join(mayImport[s.layer]), to)
	}
	for _, u := range unseen {
		if listed(s.dir, u.from) && listed(dir, u.to) {
			return u.why
		}
	}
	if s.layer == decide && orderOf(dir) >= orderOf(s.dir) {
		return "deciding packages import only those before them in " + strings.Join(decideOrder, ", ")
	}
	return ""
}

func join(layers []layer) string {
	names := make([]string, len(layers))
	for i, l := range layers {
		names[i] = string(l)
	}
	return strings.Join(names, ", ")
}
