package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"
)

// envelope is an Event as it travels.
type envelope struct {
	ID     string          `json:"id"`
	Source string          `json:"source"`
	Type   Type            `json:"detail-type"`
	Time   time.Time       `json:"time"`
	Detail json.RawMessage `json:"detail"`
}

// MarshalJSON writes the envelope, with the fields of Extra beside the common ones.
func (e Event) MarshalJSON() ([]byte, error) {
	detail, err := e.DetailJSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{ID: e.ID, Source: Source, Type: e.Type, Time: e.Time, Detail: detail})
}

// DetailJSON is the detail as it stands in the envelope: the common fields and those of its type in one object.
func (e Event) DetailJSON() ([]byte, error) {
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		return nil, fmt.Errorf("write event %s: %w", e.Type, err)
	}
	if e.Detail.Extra == nil {
		return detail, nil
	}
	extra, err := json.Marshal(e.Detail.Extra)
	if err != nil {
		return nil, fmt.Errorf("write event %s: %w", e.Type, err)
	}
	if inner := bytes.TrimSuffix(bytes.TrimPrefix(extra, []byte("{")), []byte("}")); len(inner) > 0 {
		detail = append(append(detail[:len(detail)-1], ','), inner...)
		detail = append(detail, '}')
	}
	return detail, nil
}

// UnmarshalJSON reads an envelope. A type that is not in the catalogue keeps its common fields only.
func (e *Event) UnmarshalJSON(text []byte) error {
	guess := typeIn(text)
	got, err := readAs(guess, text)
	if err != nil || got.Type != guess {
		got, err = readAs("", text)
		if err == nil {
			got, err = readAs(got.Type, text)
		}
	}
	if err != nil {
		return err
	}
	*e = got
	return nil
}

// typeIn is the type of an event as MarshalJSON writes it, found before the rest is read, so that all of it is gone through
// once. It may be wrong where somebody else wrote it.
func typeIn(text []byte) Type {
	const name = `"detail-type":"`
	_, after, _ := bytes.Cut(text, []byte(name))
	t, _, _ := bytes.Cut(after, []byte{'"'})
	return Type(t)
}

// readAs reads an event with what those of type t say beyond the common fields. It may turn out to be of another type.
func readAs(t Type, text []byte) (Event, error) {
	kind := catalogue[t].Extra
	detail := reflect.New(reflect.PointerTo(details()[reflect.TypeOf(kind)])) // stays nil where there is none
	env := struct {
		envelope
		Detail any `json:"detail"` // in place of the envelope's
	}{Detail: detail.Interface()}
	if err := json.Unmarshal(text, &env); err != nil {
		return Event{}, fmt.Errorf("read event: %w", err)
	}
	if env.Source != Source {
		return Event{}, fmt.Errorf("read event %q: source is %q, want %q", env.ID, env.Source, Source)
	}
	if detail.Elem().IsNil() {
		return Event{}, fmt.Errorf("read event %q: it has no detail", env.ID)
	}
	return Event{ID: env.ID, Type: env.Type, Time: env.Time, Detail: detailOf(detail.Elem().Elem(), kind)}, nil
}

// details are the structs that details are read into, by the kind of their Extra: the common fields, and beside them its own.
var details = sync.OnceValue(func() map[reflect.Type]reflect.Type {
	common := reflect.StructField{Name: "Detail", Type: reflect.TypeFor[Detail](), Anonymous: true}
	all := map[reflect.Type]reflect.Type{nil: reflect.StructOf([]reflect.StructField{common})}
	for _, entry := range catalogue {
		if entry.Extra != nil {
			kind := reflect.TypeOf(entry.Extra)
			all[kind] = reflect.StructOf(append([]reflect.StructField{common}, reflect.VisibleFields(kind)...))
		}
	}
	return all
})

// detailOf takes apart what was read into such a struct.
func detailOf(read reflect.Value, kind Extra) Detail {
	d := read.Field(0).Interface().(Detail)
	if kind == nil {
		return d
	}
	extra := reflect.New(reflect.TypeOf(kind)).Elem()
	for i := range extra.NumField() {
		extra.Field(i).Set(read.Field(1 + i))
	}
	d.Extra = extra.Interface().(Extra)
	return d
}
