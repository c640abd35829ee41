package deploy

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// functions are the Terraform functions that the modules use.
var functions = map[string]function.Function{
	"can": tryfunc.CanFunc, "try": tryfunc.TryFunc, "contains": stdlib.ContainsFunc, "alltrue": allTrue, "anytrue": anyTrue, "values": stdlib.ValuesFunc, "concat": stdlib.ConcatFunc, "flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc,
	"join": stdlib.JoinFunc, "jsonencode": stdlib.JSONEncodeFunc, "jsondecode": stdlib.JSONDecodeFunc, "nonsensitive": same, "keys": stdlib.KeysFunc, "length": counting, "lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc,
	"merge": stdlib.MergeFunc, "base64gzip": same, "regex": stdlib.RegexFunc, "replace": stdlib.ReplaceFunc, "tonumber": stdlib.MakeToFunc(cty.Number),
	"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),

	"abspath": ofText(filepath.Abs),
	"file":    ofText(func(name string) (string, error) { data, err := os.ReadFile(name); return string(data), err }),
	// The result of these depends on the build, or has its own test.
	"filebase64sha256": ofText(func(name string) (string, error) { return "<hash of " + filepath.Base(name) + ">", nil }),
	"templatefile":     templating, "fileset": finding, "yamldecode": decoding,
}

// ofText converts a Go function on strings.
func ofText(do func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			out, err := do(args[0].AsString())
			return cty.StringVal(out), err
		},
	})
}

// same returns its argument.
var same = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return args[0], nil },
})

// templating returns only the file's name.
var templating = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType, AllowUnknown: true}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		_, err := os.Stat(args[0].AsString())
		return cty.StringVal("<" + filepath.Base(args[0].AsString()) + ">"), err
	},
})

// anyTrue reports whether an element of a list is true.
var anyTrue = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "of", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		for it := args[0].ElementIterator(); it.Next(); {
			if _, v := it.Element(); v.True() {
				return cty.True, nil
			}
		}
		return cty.False, nil
	},
})

// allTrue reports whether all elements of a list are true.
var allTrue = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "of", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !args[0].IsKnown() {
			return cty.UnknownVal(cty.Bool), nil
		}
		for it := args[0].ElementIterator(); it.Next(); {
			if _, one := it.Element(); !one.IsKnown() || one.False() {
				return one, nil
			}
		}
		return cty.True, nil
	},
})

// counting counts the elements of a collection; unlike the library's, Terraform's also accepts
// objects.
var counting = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "of", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.NumberIntVal(int64(args[0].LengthInt())), nil
	},
})

// finding lists the YAML files below a folder, whatever the pattern.
var finding = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "pattern", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Set(cty.String)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		dir, found := args[0].AsString(), []cty.Value{}
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if err == nil && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")) {
				rel, _ := filepath.Rel(dir, name) // it is below
				found = append(found, cty.StringVal(filepath.ToSlash(rel)))
			}
			return err
		})
		if len(found) == 0 {
			return cty.SetValEmpty(cty.String), err
		}
		return cty.SetVal(found), err
	},
})

// decoding decodes YAML.
var decoding = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var v any
		if err := yaml.Unmarshal([]byte(args[0].AsString()), &v); err != nil {
			return cty.NilVal, err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return cty.NilVal, err
		}
		kind, err := ctyjson.ImpliedType(text)
		if err != nil {
			return cty.NilVal, err
		}
		return ctyjson.Unmarshal(text, kind)
	},
})
