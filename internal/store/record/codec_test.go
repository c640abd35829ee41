package record

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Callers that share a decoded record must not be able to modify it for each other.
func TestMemoizedRecordsShareNothingThatCanBeModified(t *testing.T) {
	for _, v := range []any{run.Run{}, task{}, store.Deadline{}, reading{}} {
		if !independent(v) {
			t.Errorf("%T is decoded again each time", v)
		}
		noneShared(t, reflect.TypeOf(v), reflect.TypeOf(v).String())
	}
}

// noneShared checks the fields that JSON can set.
func noneShared(t *testing.T, of reflect.Type, name string) {
	switch {
	case of == reflect.TypeFor[time.Time]():
	case of == reflect.TypeFor[json.RawMessage](): // part of the body, which is never modified
	case of.Kind() == reflect.Struct:
		for f := range of.Fields() {
			if f.IsExported() || f.Anonymous {
				noneShared(t, f.Type, name+"."+f.Name)
			}
		}
	case of.Kind() == reflect.Pointer, of.Kind() == reflect.Map, of.Kind() == reflect.Slice, of.Kind() == reflect.Interface:
		t.Errorf("%s is a %s, which a caller could modify: leave its record out of independent", name, of)
	}
}
