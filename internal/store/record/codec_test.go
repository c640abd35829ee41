package record

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
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

func TestRecordThatCannotBeReadIsDamage(t *testing.T) {
	ref := row.Ref{Kind: Runs, Part: "orders", Key: "cron/2026-03-03"}
	_, err := decode[run.Run](row.Row{Ref: ref, Version: 1, Body: []byte(`{"status": damaged!`)})
	if f := store.FaultOf(err); f == nil || f.Kind != store.Damaged || !strings.Contains(f.Remedy, "interlock check") {
		t.Errorf("it is %v", err)
	}
	if !strings.Contains(err.Error(), "orders") {
		t.Errorf("%v does not name the record", err)
	}
}
