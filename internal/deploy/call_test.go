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

// operation is the type of a request or an answer, which every call of the SDK mentions.
var operation = regexp.MustCompile(`^([A-Z][A-Za-z]+)Input$`)

// calls are the calls of the SDK that the files of a package make, as "service:Call".
func calls(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	check(t, err)
	found := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		check(t, err)
		imported := sdkImports(file)
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
	}
	return slices.Sorted(maps.Keys(found))
}

// sdkImports are the names by which a file knows the services of the SDK.
func sdkImports(file *ast.File) map[string]string {
	known := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
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
			needed := permission[call]
			if needed == nil {
				needed = []string{call}
			}
			for _, action := range needed {
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
