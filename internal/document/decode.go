package document

import (
	"fmt"
	"math"
	"reflect"
)

// decoder fills Go values from nodes and collects problems.
type decoder struct {
	findings []Finding
}

func decodeInto(n *node, into any) []Finding {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		panic(fmt.Sprintf("document: decode into a %T; it must be a pointer", into))
	}
	var d decoder
	d.decode(n, v.Elem(), planOf(v.Type().Elem()), &limits{}, nil)
	return d.findings
}

// full reports whether there are so many findings that further ones are only counted.
func (d *decoder) full() bool { return len(d.findings) >= 10*maxProblems }

func (d *decoder) add(at *frame, message string) {
	d.addFinding(at, Finding{Message: message})
}

func (d *decoder) addFinding(at *frame, f Finding) {
	if d.full() {
		d.findings = append(d.findings, Finding{})
		return
	}
	f.Path = JoinPath(at.String(), f.Path)
	d.findings = append(d.findings, f)
}

func (d *decoder) expected(at *frame, what string, n *node) {
	d.add(at, "expected "+what+", found "+n.describe())
}

// decode fills v from n. On an error it leaves v unchanged.
func (d *decoder) decode(n *node, v reflect.Value, p *plan, l *limits, at *frame) {
	switch p.form {
	case formHook:
		d.hook(n, v, l, at)
	case formText:
		d.text(n, v, l, at)
	case formBool:
		if n.kind != Bool {
			d.expected(at, "true or false", n)
			return
		}
		v.SetBool(n.value().(bool))
	case formInt, formUint:
		d.integer(n, v, l, at)
	case formFloat:
		d.number(n, v, l, at)
	case formAny:
		d.anything(n, v, at)
	case formPointer:
		d.pointer(n, v, p, l, at)
	case formList:
		d.list(n, v, p, l, at)
	case formMap:
		d.mapping(n, v, p, l, at)
	case formStruct:
		d.structure(n, v, p, at)
	}
}

// pointer leaves a pointer nil if the value is missing or wrong; a struct that is wrong in part is
// kept.
func (d *decoder) pointer(n *node, v reflect.Value, p *plan, l *limits, at *frame) {
	if n.kind == Null {
		return
	}
	before := len(d.findings)
	target := reflect.New(p.elem.typ)
	d.decode(n, target.Elem(), p.elem, l, at)
	if p.elem.form == formStruct && n.kind == Map || !HasErrors(d.findings[before:]) {
		v.Set(target)
	}
}

// anything accepts any value, except numbers that JSON cannot represent.
func (d *decoder) anything(n *node, v reflect.Value, at *frame) {
	before := len(d.findings)
	d.checkFinite(n, at)
	if n.kind != Null && len(d.findings) == before {
		v.Set(reflect.ValueOf(n.value()))
	}
}

func (d *decoder) checkFinite(n *node, at *frame) {
	if n.kind == Int || n.kind == Float {
		if f := parseFloat(n.text); math.IsInf(f, 0) || math.IsNaN(f) {
			d.add(at, fmt.Sprintf("%s is not a finite number", n.text))
		}
	}
	for i, item := range n.items {
		d.checkFinite(item, at.item(i))
	}
	for _, f := range n.fields {
		d.checkFinite(f.value, at.child(f.name))
	}
}

func (d *decoder) list(n *node, v reflect.Value, p *plan, l *limits, at *frame) {
	if n.kind != List {
		d.expected(at, "a list", n)
		return
	}
	if wrong := l.checkCount(len(n.items), "item"); wrong != "" {
		d.add(at, wrong)
	}
	items, of := reflect.MakeSlice(p.typ, len(n.items), len(n.items)), l.element()
	for i, item := range n.items {
		d.element(item, items.Index(i), p.elem, of, at.item(i))
	}
	v.Set(items)
}

func (d *decoder) mapping(n *node, v reflect.Value, p *plan, l *limits, at *frame) {
	if n.kind != Map {
		d.expected(at, "a mapping", n)
		return
	}
	if wrong := l.checkCount(len(n.fields), "key"); wrong != "" {
		d.add(at, wrong)
	}
	values, of := reflect.MakeMapWithSize(p.typ, len(n.fields)), l.element()
	for _, f := range n.fields {
		value := reflect.New(p.elem.typ).Elem()
		d.element(f.value, value, p.elem, of, at.child(f.name))
		values.SetMapIndex(reflect.ValueOf(f.name).Convert(p.typ.Key()), value)
	}
	v.Set(values)
}

// element decodes a value of a list or mapping.
func (d *decoder) element(n *node, v reflect.Value, p *plan, l *limits, at *frame) {
	if n.kind == Null && p.form == formPointer {
		d.expected(at, "a value", n)
		return
	}
	d.decode(n, v, p, l, at)
}

func (d *decoder) structure(n *node, v reflect.Value, p *plan, at *frame) {
	p.fillDefaults(v)
	if n.kind != Map {
		d.expected(at, "a mapping", n)
		return
	}
	var seen, held [maxFields]bool // held: with a value
	for i := range n.fields {
		key := &n.fields[i]
		f, known := p.byName[key.name]
		here := frame{parent: at, key: key.name, index: -1}
		if !known {
			d.unknownKey(&here, key.name, p)
			continue
		}
		held[f] = key.value.kind != Null
		if seen[f] = held[f] || p.fields[f].unless == ""; !seen[f] {
			continue // whether null is right depends on the other field
		}
		d.field(key.value, v, &p.fields[f], &here)
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.required && !seen[i] && (f.unless == "" || !held[p.byName[f.unless]]) {
			d.add(at.child(f.name), f.wish("is required"))
		}
	}
}

func (d *decoder) unknownKey(at *frame, name string, p *plan) {
	f := Finding{Key: true}
	if !d.full() {
		f.Message = unknownKey(name, p.names)
	}
	d.addFinding(at, f)
}

// field decodes one key of a struct. Null is the same as absent, except for a section that must not
// be empty: a key whose contents are all gone is more likely an oversight than intended.
func (d *decoder) field(n *node, v reflect.Value, f *fieldPlan, at *frame) {
	switch {
	case n.kind == Null && f.required:
		d.add(at, f.wish("is required"))
	case n.kind == Null && f.plan.mustHold():
		d.decode(&node{kind: Map}, reflect.New(f.plan.elem.typ).Elem(), f.plan.elem, &f.limits, at)
	case n.kind == Null:
	case n.kind == String && n.text == "" && f.required:
		d.add(at, f.wish("must not be empty"))
	default:
		d.decode(n, v.FieldByIndex(f.index), f.plan, &f.limits, at)
	}
}

// fillDefaults sets the defaults of absent keys, also in nested structs that are absent as a whole.
func (p *plan) fillDefaults(v reflect.Value) {
	if !p.defaults {
		return
	}
	for i := range p.fields {
		f := &p.fields[i]
		switch {
		case f.defaultIs != nil && f.plan.form == formPointer:
			fresh := reflect.New(f.plan.elem.typ)
			fresh.Elem().Set(f.defaultSet.Elem())
			v.FieldByIndex(f.index).Set(fresh)
		case f.defaultIs != nil:
			v.FieldByIndex(f.index).Set(f.defaultSet)
		case f.plan.form == formStruct:
			f.plan.fillDefaults(v.FieldByIndex(f.index))
		}
	}
}
