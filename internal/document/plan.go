package document

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// nodeDecoder is a type that decodes itself from a node.
type nodeDecoder interface {
	DecodeNode(n Node) []Finding
}

// schemaGiver is a type that describes the JSON values it accepts.
type schemaGiver interface {
	JSONSchema() *jsonschema.Schema
}

var (
	nodeDecoderType     = reflect.TypeFor[nodeDecoder]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	schemaGiverType     = reflect.TypeFor[schemaGiver]()
	durationType        = reflect.TypeFor[Duration]()
)

// form is how values of a type are decoded.
type form uint8

const (
	formHook form = iota // by the type's own DecodeNode
	formText             // a string, or by the type's own UnmarshalText
	formBool
	formInt
	formUint
	formFloat
	formAny
	formPointer
	formList
	formMap
	formStruct
)

// plan is what decoding and the schema need to know about a type, computed once.
type plan struct {
	form     form
	typ      reflect.Type
	elem     *plan // of a pointer, list or mapping
	fields   []fieldPlan
	byName   map[string]int
	names    []string
	defaults bool // a struct that has defaults, directly or nested
}

type fieldPlan struct {
	name       string
	doc        string
	index      []int
	plan       *plan
	limits     limits
	required   bool
	unless     string // not required beside this field; "" without
	defaultIs  *node  // nil if there is none
	defaultSet reflect.Value
}

// maxFields is how many keys one struct may have.
const maxFields = 256

var plans sync.Map // reflect.Type → *plan

// planOf returns the plan of a type. It panics on an invalid type or tag: that is a bug in this
// program, which its first use in a test shows.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	building := map[reflect.Type]*plan{}
	p := makePlan(t, building)
	for _, built := range building {
		built.setDefaults()
	}
	for typ, built := range building {
		plans.LoadOrStore(typ, built)
	}
	return p
}

func makePlan(t reflect.Type, building map[reflect.Type]*plan) *plan {
	if p, ok := building[t]; ok {
		return p
	}
	p := &plan{typ: t, form: formOf(t)}
	building[t] = p
	switch p.form {
	case formPointer, formList, formMap:
		p.elem = makePlan(t.Elem(), building)
	case formStruct:
		p.byName = map[string]int{}
		p.addFields(t, nil, building)
		if len(p.fields) > maxFields {
			panic(fmt.Sprintf("document: %s has more than %d keys", t, maxFields))
		}
	}
	return p
}

func formOf(t reflect.Type) form {
	pointer := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Pointer:
		return formPointer
	case pointer.Implements(nodeDecoderType):
		return formHook
	case t.Kind() == reflect.String, pointer.Implements(textUnmarshalerType):
		return formText
	}
	switch t.Kind() {
	case reflect.Bool:
		return formBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return formInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return formUint
	case reflect.Float32, reflect.Float64:
		return formFloat
	case reflect.Slice:
		return formList
	case reflect.Struct:
		return formStruct
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return formAny
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return formMap
		}
	}
	panic(fmt.Sprintf("document: a file cannot hold a %s", t))
}

func (p *plan) addFields(t reflect.Type, parent []int, building map[reflect.Type]*plan) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(parent[:len(parent):len(parent)], i)
		name := f.Tag.Get("yaml")
		if name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct {
			p.addFields(f.Type, index, building)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		if _, twice := p.byName[name]; twice || !f.IsExported() {
			panic(fmt.Sprintf("document: %s.%s: the key %q is taken, or the field not exported", t, f.Name, name))
		}
		p.byName[name] = len(p.fields)
		p.names = append(p.names, name)
		p.fields = append(p.fields, newField(t, f, index, building))
	}
}

func newField(t reflect.Type, f reflect.StructField, index []int, building map[reflect.Type]*plan) fieldPlan {
	field := fieldPlan{
		name: f.Tag.Get("yaml"), doc: f.Tag.Get("doc"), index: index,
		plan: makePlan(f.Type, building), required: f.Tag.Get("required") == "true", unless: f.Tag.Get("unless"),
	}
	var err error
	if field.limits, err = newLimits(f.Tag, field.plan.scalar()); err != nil {
		panic(fmt.Sprintf("document: %s.%s: %v", t, f.Name, err))
	}
	field.limits.nonEmpty = field.required
	if text, has := f.Tag.Lookup("default"); has {
		field.defaultIs = &node{kind: plainKind(text), text: text, size: 1}
		if field.plan.scalar().form == formText {
			field.defaultIs.kind = String
		}
	}
	return field
}

// scalar returns the innermost element plan of nested lists, mappings and pointers.
func (p *plan) scalar() *plan {
	for p.elem != nil {
		p = p.elem
	}
	return p
}

// setDefaults decodes the defaults once; they are copied into each struct that is filled.
func (p *plan) setDefaults() {
	for i := range p.fields {
		f := &p.fields[i]
		if f.defaultIs == nil {
			p.defaults = p.defaults || f.plan.form == formStruct
			continue
		}
		p.defaults = true
		var d decoder
		value := reflect.New(f.plan.typ).Elem()
		d.decode(f.defaultIs, value, f.plan, &f.limits, nil)
		if len(d.findings) > 0 {
			panic(fmt.Sprintf("document: default of %s.%s: %s", p.typ, f.name, d.findings[0].Message))
		}
		f.defaultSet = value
	}
}

// mustHold reports whether p is an optional section that has a required key.
func (p *plan) mustHold() bool {
	return p.form == formPointer && slices.ContainsFunc(p.elem.fields, func(f fieldPlan) bool { return f.required })
}

// wish describes what a missing or empty field should contain.
func (f *fieldPlan) wish(what string) string {
	for _, text := range []string{f.limits.hint, f.doc} {
		if text = strings.TrimSuffix(text, "."); text != "" {
			return what + ": " + text
		}
	}
	return what
}
