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

	"github.com/interlock-go/interlock/internal/job/all"
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

func TestFunctionsAcceptEveryJobType(t *testing.T) {
	accepted, err := everything(t).local("job_types")
	check(t, err)
	var got, want []string
	for _, name := range accepted.AsValueSlice() {
		got = append(got, name.AsString())
	}
	for _, kind := range all.Kinds() {
		want = append(want, kind.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("local.job_types has %q, and internal/job/all %q", got, want)
	}
}

func TestJobTypesMayDoWhatTheyCall(t *testing.T) {
	granted := everything(t).granted(t, "orchestrator")
	dirs, err := filepath.Glob(filepath.Join(root, "internal", "job", "*"))
	check(t, err)
	var calling []string
	for _, dir := range dirs {
		kind := filepath.Base(dir)
		made := calls(t, "internal/job/"+kind)
		if len(made) > 0 {
			calling = append(calling, kind)
		}
		for _, call := range made {
			for _, action := range needed(call) {
				if !may(granted, action) {
					t.Errorf("%s calls %s, and the orchestrator may not", kind, call)
				}
			}
		}
	}
	if len(calling) < len(triggers) {
		t.Errorf("calls were found only in %q; at least the types of %q make some", calling, triggers)
	}
	if !may(granted, "iam:PassRole", "role/spark") {
		t.Error("emr-serverless jobs cannot be given their role")
	}
}
