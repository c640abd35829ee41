package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const sdk = "github.com/aws/aws-sdk-go-v2/service/"

// operation matches the input or output type of an SDK call.
var operation = regexp.MustCompile(`^([A-Z][A-Za-z]+)Input$`)

// calls returns the SDK calls in the files of a package, as "service:Call".
func calls(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	check(t, err)
	var all []string
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			all = append(all, callsIn(t, dir+"/"+filepath.Base(name))...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// callsIn returns those of one file.
func callsIn(t testing.TB, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
	check(t, err)
	found, imported := map[string]bool{}, sdkImports(file)
	ast.Inspect(file, func(n ast.Node) bool {
		selected, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := selected.X.(*ast.Ident)
		if is := operation.FindStringSubmatch(selected.Sel.Name); ok && is != nil && imported[from.Name] != "" {
			found[imported[from.Name]+":"+is[1]] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

// needed returns the permissions that a call requires.
func needed(call string) []string {
	if other := permission[call]; other != nil {
		return other
	}
	return []string{call}
}

// sdkImports returns the names of the SDK's services in a file.
func sdkImports(file *ast.File) map[string]string {
	known := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has validated it
		service, ok := strings.CutPrefix(path, sdk)
		if !ok || strings.Contains(service, "/") {
			continue
		}
		name := service
		if spec.Name != nil {
			name = spec.Name.Name
		}
		known[name] = services[service]
	}
	return known
}

func TestJobTypesMayDoWhatTheyCall(t *testing.T) {
	granted := everything(t).granted(t, "orchestrator")
	for _, kind := range []string{"glue", "emr", "emrserverless", "stepfunction", "lambda"} {
		all := calls(t, "internal/job/"+kind)
		if len(all) == 0 {
			t.Errorf("no calls of %s were found", kind)
		}
		for _, call := range all {
			for _, action := range needed(call) {
				if !may(granted, action) {
					t.Errorf("%s calls %s, and the orchestrator may not", kind, call)
				}
			}
		}
	}
	if !may(granted, "iam:PassRole", "role/spark") {
		t.Error("emr-serverless jobs cannot be given their role")
	}
}
