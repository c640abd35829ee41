package storetest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
)

// fill gives every field below v a non-zero value that no other field has, so that the test notices
// a store that loses or mixes up a field, even one that is added later.
func fill(v any) {
	n := 0
	fillValue(reflect.ValueOf(v).Elem(), &n)
}

func fillValue(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(after(time.Duration(*n) * time.Millisecond)))
		return
	case period.Period:
		v.Set(reflect.ValueOf(on(fmt.Sprintf("2026-03-%02dT%02d", 1+*n%28, *n%24))))
		return
	case rule.Outcome:
		v.Set(reflect.ValueOf(rule.Pass))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // it is not stored
				fillValue(v.Field(i), n)
			}
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillValue(key, n)
		fillValue(value, n)
		v.SetMapIndex(key, value)
	case reflect.Interface:
		v.Set(reflect.ValueOf(int64(1)<<60 + int64(*n))) // more than a float64 can represent
	default:
		panic("fill: no value for " + v.Type().String())
	}
}
