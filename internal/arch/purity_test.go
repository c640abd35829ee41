package arch

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// impurePackages do I/O, log, or draw chance that no seed repeats. An entry covers the packages
// below it; net/url and net/netip only parse, so net stands for itself.
var impurePackages = []string{
	"crypto/rand", "database/sql", "io/ioutil", "log", "net/http", "net/rpc", "net/smtp", "os", "plugin", "syscall",
}

// clockReaders are the names of package time that look at, or wait for, the machine's clock or
// zone.
var clockReaders = []string{
	"After", "AfterFunc", "Local", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

// seeded are the names of package math/rand (and v2) that have their own seed, or are types. The
// others share a global generator, which cannot be replayed.
var seeded = []string{
	"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewSource", "NewZipf", "PCG", "Rand", "Source", "Source64", "Zipf",
}

// checkPurity applies the rules about what a deciding package may do. Its tests may read files and
// start goroutines, but the clock and unseeded chance are closed to them too.
func (s source) checkPurity() {
	clocks, dice := map[string]bool{}, map[string]bool{} // the names under which this file knows time and math/rand
	for _, spec := range s.file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := localName(spec, target)
		switch {
		case impure(target) && !s.test:
			s.report(spec.Pos(), "%s decides and may not import %s: take what it needs as a value", s.dir, target)
		case target == "time":
			clocks[name] = true
		case target == "math/rand", target == "math/rand/v2":
			dice[name] = true
		}
		if name == "." && (clocks["."] || dice["."]) {
			s.report(spec.Pos(), "%s may not import %s with a dot: its uses could not be checked", s.dir, target)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		s.checkUse(n, clocks, dice)
		return true
	})
}

// checkUse reports a node that reads the clock, draws unseeded chance or starts a goroutine.
func (s source) checkUse(n ast.Node, clocks, dice map[string]bool) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		pkg, ok := n.X.(*ast.Ident)
		if !ok {
			return
		}
		if clocks[pkg.Name] && slices.Contains(clockReaders, n.Sel.Name) {
			s.report(n.Pos(), "%s decides and may not use time.%s: take the instant, or the zone, as a value", s.dir, n.Sel.Name)
		}
		if dice[pkg.Name] && !slices.Contains(seeded, n.Sel.Name) {
			s.report(n.Pos(), "%s decides and may not use rand.%s: make a generator from a seed", s.dir, n.Sel.Name)
		}
	case *ast.GoStmt:
		s.checkGoroutine(n)
	case *ast.CallExpr:
		if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Go" { // sync.WaitGroup, errgroup.Group
			s.checkGoroutine(n)
		}
	}
}

// checkGoroutine reports a goroutine started outside tests by a package that is not listed for it.
func (s source) checkGoroutine(n ast.Node) {
	if !s.test && mayStartGoroutines[s.dir] == "" {
		s.report(n.Pos(), "%s decides and may not start goroutines: only a host does", s.dir)
	}
}

// localName is the name by which a file refers to an import.
func localName(spec *ast.ImportSpec, target string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(strings.TrimSuffix(target, "/v2"))
}

// impure says whether a standard package is closed to deciding packages.
func impure(target string) bool {
	if target == "net" {
		return true
	}
	return slices.ContainsFunc(impurePackages, func(p string) bool {
		return target == p || strings.HasPrefix(target, p+"/")
	})
}
