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
	if HasErrors(found) {
		return
	}
	if wrong := l.check(fresh.Elem()); wrong != "" {
		d.add(at, wrong)
		return
	}
	v.Set(fresh.Elem())
}

// text decodes a string, or a type with its own UnmarshalText. A number or a bool that would be
// valid as a string is reported as one without quotes.
func (d *decoder) text(n *node, v reflect.Value, l *limits, at *frame) {
	if n.kind == Null || n.kind > String {
		d.expected(at, "text", n)
		return
	}
	fresh := reflect.New(v.Type())
	var err error
	if own, ok := fresh.Interface().(encoding.TextUnmarshaler); ok {
		err = own.UnmarshalText([]byte(n.text))
	} else {
		fresh.Elem().SetString(n.text)
	}
	if err != nil {
		d.add(at, err.Error())
		return
	}
	switch wrong := l.check(fresh.Elem()); {
	case wrong != "":
		d.add(at, wrong)
	case n.kind != String:
		d.add(at, fmt.Sprintf("expected text, found %s; write %s", n.describe(), strconv.Quote(n.text)))
	default:
		v.Set(fresh.Elem())
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
