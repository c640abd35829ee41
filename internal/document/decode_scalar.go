package document

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// hook lets a type decode itself. Only a value without errors is stored.
func (d *decoder) hook(n *node, v reflect.Value, l *limits, at *frame) {
	fresh := reflect.New(v.Type())
	found := fresh.Interface().(nodeDecoder).DecodeNode(Node{n})
	if len(found) > 0 {
		for _, f := range Under(at.String(), found) {
			d.addFinding(nil, f)
		}
	}
	if !HasErrors(found) {
		d.take(fresh.Elem(), v, l, at)
	}
}

func (d *decoder) textual(n *node, v reflect.Value, l *limits, at *frame) {
	if !n.scalar() {
		d.expected(at, "text", n)
		return
	}
	fresh := reflect.New(v.Type())
	if err := fresh.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.text)); err != nil {
		d.add(at, err.Error())
		return
	}
	if n.kind != String {
		d.wantQuotes(n, at)
		return
	}
	d.take(fresh.Elem(), v, l, at)
}

// scalar reports whether n is a string, or would be one in quotes.
func (n *node) scalar() bool {
	switch n.kind {
	case String, Bool, Int, Float:
		return true
	default:
		return false
	}
}

// take stores a value that decoded itself, if it is within its field's limits.
func (d *decoder) take(fresh, v reflect.Value, l *limits, at *frame) {
	wrong := ""
	switch {
	case v.Type() == durationType:
		wrong = l.checkNumber(float64(fresh.Int()), Duration(fresh.Int()).String())
	case v.Kind() == reflect.String:
		var stored string
		stored, wrong = l.checkText(fresh.String())
		fresh.SetString(stored)
	}
	if wrong != "" {
		d.add(at, wrong)
		return
	}
	v.Set(fresh)
}

// wantQuotes reports a number or a bool that would be valid as a string.
func (d *decoder) wantQuotes(n *node, at *frame) {
	d.add(at, fmt.Sprintf("expected text, found %s; write %s", n.describe(), strconv.Quote(n.text)))
}

func (d *decoder) text(n *node, v reflect.Value, l *limits, at *frame) {
	if !n.scalar() {
		d.expected(at, "text", n)
		return
	}
	stored, wrong := l.checkText(n.text)
	switch {
	case wrong != "":
		d.add(at, wrong)
	case n.kind != String:
		d.wantQuotes(n, at)
	default:
		v.SetString(stored)
	}
}

func (d *decoder) integer(n *node, v reflect.Value, l *limits, at *frame) {
	if n.kind != Int {
		d.expected(at, "a whole number", n)
		return
	}
	i, fits := parseInt(n.text)
	if fits && v.CanInt() {
		fits = !v.OverflowInt(i)
	} else if fits {
		fits = i >= 0 && !v.OverflowUint(uint64(i))
	}
	if wrong := l.checkNumber(parseFloat(n.text), n.text); wrong != "" {
		d.add(at, wrong)
		return
	}
	switch {
	case !fits:
		d.add(at, fmt.Sprintf("%s is out of range", n.text))
	case v.CanInt():
		v.SetInt(i)
	default:
		v.SetUint(uint64(i))
	}
}

func (d *decoder) number(n *node, v reflect.Value, l *limits, at *frame) {
	if n.kind != Int && n.kind != Float {
		d.expected(at, "a number", n)
		return
	}
	f := parseFloat(n.text)
	if math.IsInf(f, 0) || math.IsNaN(f) || v.OverflowFloat(f) {
		d.add(at, fmt.Sprintf("%s is not a finite number", n.text))
		return
	}
	if wrong := l.checkNumber(f, n.text); wrong != "" {
		d.add(at, wrong)
		return
	}
	v.SetFloat(f)
}
