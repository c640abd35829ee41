package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"
)

// envelope is the JSON form of an Event.
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

// DetailJSON returns the detail as in the envelope: the common fields and those of Extra in one
// object.
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

// UnmarshalJSON reads an envelope. An event of an unknown type keeps only its common fields.
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

// typeIn guesses the type of an event from the text that MarshalJSON writes, so that the event is
// parsed only once. The guess may be wrong for other writers.
func typeIn(text []byte) Type {
	const name = `"detail-type":"`
	_, after, _ := bytes.Cut(text, []byte(name))
	t, _, _ := bytes.Cut(after, []byte{'"'})
	return Type(t)
}

// readAs reads an event with the extra fields of type t. The event may turn out to be of another
// type.
func readAs(t Type, text []byte) (Event, error) {
	kind := catalogue[t].Extra
	detail := reflect.New(reflect.PointerTo(details()[reflect.TypeOf(kind)])) // stays nil without a detail
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
		return Event{}, fmt.Errorf("read event %q: detail is missing", env.ID)
	}
	return Event{ID: env.ID, Type: env.Type, Time: env.Time, Detail: detailOf(detail.Elem().Elem(), kind)}, nil
}

// details returns the struct types into which details are read, by the type of their Extra: the
// common fields and those of Extra.
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

// detailOf converts such a struct to a Detail.
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
