package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaID returns the $id of the schema of that name: the URL of its newest version. It never
// changes, so that files can refer to it.
func SchemaID(name string) string {
	return "https://raw.githubusercontent.com/interlock-go/interlock/main/api/schema/" + name + ".schema.json"
}

// Schema returns the JSON Schema (2020-12) of the files that decode into v, a struct or a pointer
// to one. It never rejects what Decode accepts; Decode is stricter where a schema cannot express a
// constraint. The name is that of SchemaID.
func Schema(v any, name, title, description string) *jsonschema.Schema {
	s := Fragment(v)
	s.Schema, s.ID, s.Title, s.Description = "https://json-schema.org/draft/2020-12/schema", SchemaID(name), title, description
	return s
}

// Fragment returns the schema of v for use inside another one. Definitions of recursive types are
// in its Defs; if a type's JSONSchema method returns it, they are moved to the root.
func Fragment(v any) *jsonschema.Schema {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := planOf(t)
	b := schemaBuilder{defs: map[string]*jsonschema.Schema{}, names: map[*plan]string{}}
	b.nameRecursive(p, map[*plan]bool{})
	s := b.schema(p)
	if name, recursive := b.names[p]; recursive { // a schema that is only a reference cannot have a title
		root := *b.defs[name]
		s = &root
	}
	if len(b.defs) > 0 {
		s.Defs = b.defs
	}
	return s
}

type schemaBuilder struct {
	defs  map[string]*jsonschema.Schema
	names map[*plan]string // of recursive structs
}

// nameRecursive names the structs that contain themselves; only these need their own definition.
func (b *schemaBuilder) nameRecursive(p *plan, above map[*plan]bool) {
	if p.elem != nil {
		b.nameRecursive(p.elem, above)
		return
	}
	if p.form != formStruct || b.names[p] != "" || givesSchema(p.typ) {
		return
	}
	if above[p] {
		b.names[p] = b.freeName(p.typ.Name())
		return
	}
	above[p] = true
	for i := range p.fields {
		b.nameRecursive(p.fields[i].plan, above)
	}
	delete(above, p)
}

func (b *schemaBuilder) freeName(name string) string {
	name = strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):]
	taken := map[string]bool{"": true}
	for _, other := range b.names {
		taken[other] = true
	}
	free := name
	for i := 2; taken[free]; i++ {
		free = fmt.Sprintf("%s%d", name, i)
	}
	return free
}

func givesSchema(t reflect.Type) bool { return t.Implements(schemaGiverType) }

func (b *schemaBuilder) schema(p *plan) *jsonschema.Schema {
	if givesSchema(p.typ) && p.form != formPointer {
		return b.given(p.typ)
	}
	switch p.form {
	case formText:
		return &jsonschema.Schema{Type: "string"}
	case formBool:
		return &jsonschema.Schema{Type: "boolean"}
	case formInt:
		return &jsonschema.Schema{Type: "integer"}
	case formUint:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}
	case formFloat:
		return &jsonschema.Schema{Type: "number"}
	case formPointer:
		return b.schema(p.elem)
	case formList:
		return &jsonschema.Schema{Type: "array", Items: b.schema(p.elem)}
	case formMap:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: b.schema(p.elem)}
	case formStruct:
		return b.reference(p)
	default: // formAny; and a type that reads itself without saying what it accepts
		return &jsonschema.Schema{}
	}
}

// given returns a copy of the type's own schema, to which the field's tags are added. Its
// definitions move to the root, where references look for them.
func (b *schemaBuilder) given(t reflect.Type) *jsonschema.Schema {
	s := reflect.Zero(t).Interface().(schemaGiver).JSONSchema().CloneSchemas()
	maps.Copy(b.defs, s.Defs)
	s.Defs = nil
	return s
}

func (b *schemaBuilder) reference(p *plan) *jsonschema.Schema {
	name, recursive := b.names[p]
	if !recursive {
		return b.object(p)
	}
	if _, made := b.defs[name]; !made {
		b.defs[name] = nil // reserved while its own references are built
		b.defs[name] = b.object(p)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

func (b *schemaBuilder) object(p *plan) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, PropertyOrder: p.names,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for i := range p.fields {
		f := &p.fields[i]
		s.Properties[f.name] = b.property(f)
		switch {
		case f.required && f.unless != "":
			s.AnyOf = append(s.AnyOf, holds(f.name), holds(f.unless))
		case f.required:
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// holds requires a key with a value.
func holds(name string) *jsonschema.Schema {
	notNull := &jsonschema.Schema{Not: &jsonschema.Schema{Type: "null"}}
	return &jsonschema.Schema{Required: []string{name}, Properties: map[string]*jsonschema.Schema{name: notNull}}
}

func (b *schemaBuilder) property(f *fieldPlan) *jsonschema.Schema {
	s := f.limits.describe(b.schema(f.plan), f.plan)
	if (!f.required || f.unless != "") && !f.plan.mustHold() {
		s = orNull(s)
	}
	if s.Description == "" {
		s.Description = f.doc
	}
	if f.defaultIs != nil {
		if value, err := json.Marshal(f.defaultIs.value()); err == nil {
			s.Default = value
		}
	}
	return s
}

// orNull also allows null: a key without a value is the same as no key.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	plain := s.Ref == "" && s.Const == nil && s.AnyOf == nil && s.OneOf == nil && s.AllOf == nil && s.Not == nil && s.If == nil
	switch {
	case !plain:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	case s.Type != "":
		s.Types, s.Type = []string{s.Type, "null"}, ""
	case s.Types != nil:
		s.Types = append(s.Types[:len(s.Types):len(s.Types)], "null")
	}
	if s.Enum != nil {
		s.Enum = append(s.Enum[:len(s.Enum):len(s.Enum)], nil)
	}
	return s
}

// describe adds the limits to the schema of a field's type.
func (l *limits) describe(s *jsonschema.Schema, p *plan) *jsonschema.Schema {
	switch p.form {
	case formPointer:
		return l.describe(s, p.elem)
	case formList:
		s.MinItems = l.fewest()
		s.Items = l.element().describe(s.Items, p.elem)
	case formMap:
		s.MinProperties = l.fewest()
		s.AdditionalProperties = l.element().describe(s.AdditionalProperties, p.elem)
	case formInt, formUint, formFloat:
		l.describeNumber(s)
	default:
		if p.typ.Kind() == reflect.String {
			l.describeText(s)
		}
	}
	return s
}

// fewest returns the minimum number of items; nil if there is none.
func (l *limits) fewest() *int {
	if l.minItems == 0 {
		return nil
	}
	return &l.minItems
}

func (l *limits) describeNumber(s *jsonschema.Schema) {
	if l.min != nil {
		s.Minimum = &l.min.value
	}
	if l.max != nil {
		s.Maximum = &l.max.value
	}
	if l.above != nil {
		s.ExclusiveMinimum = &l.above.value
	}
}

func (l *limits) describeText(s *jsonschema.Schema) {
	if l.nonEmpty {
		s.MinLength = jsonschema.Ptr(1)
	}
	if l.pattern != nil {
		s.Pattern = l.pattern.String()
	}
	if len(l.enum) == 0 {
		return
	}
	if l.fold {
		s.Pattern = foldPattern(l.enum)
		return
	}
	for _, allowed := range l.enum {
		s.Enum = append(s.Enum, allowed)
	}
}

// foldPattern matches the words in any case.
func foldPattern(words []string) string {
	var forms []string
	for _, word := range words {
		forms = append(forms, AnyCase(word))
	}
	return "^(" + strings.Join(forms, "|") + ")$"
}

// AnyCase is an expression for a word in any case, without the flags that JSON Schema's expressions
// lack.
func AnyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		if upper, lower := strings.ToUpper(string(r)), strings.ToLower(string(r)); upper != lower {
			b.WriteString("[" + upper + lower + "]")
		} else {
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}
