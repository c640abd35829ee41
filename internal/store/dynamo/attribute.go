package dynamo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Row is a row of a table, or its image in a stream.
type Row map[string]types.AttributeValue

func text(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func truth(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// expires returns a TTL value: the first whole second after an instant.
func expires(t time.Time) types.AttributeValue { return number(t.Unix() + 1) }

// text returns a string attribute; "" if there is none.
func (r Row) text(name string) string {
	if v, ok := r[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// number returns an integer attribute; 0 if there is none.
func (r Row) number(name string) (n int64) {
	if v, ok := r[name].(*types.AttributeValueMemberN); ok {
		n, _ = strconv.ParseInt(v.Value, 10, 64) // the engine writes integers
	}
	return n
}

func (r Row) truth(name string) bool {
	v, ok := r[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

func (r Row) at(table string) address { return address{table, r.text("PK"), r.text("SK")} }

// set sets a string attribute. It omits an empty one, which DynamoDB Local rejects.
func (r Row) set(name, value string) {
	if value != "" {
		r[name] = text(value)
	}
}

// packFrom is the length from which bodies are compressed: a row is limited to 400 KB.
const packFrom = 16 << 10

// pack sets an attribute to a body: as text, or compressed if it is long or not valid UTF-8.
func (r Row) pack(name string, body []byte) {
	if len(body) < packFrom && utf8.Valid(body) {
		r.set(name, string(body))
		return
	}
	var short bytes.Buffer
	w := gzip.NewWriter(&short)
	_, _ = w.Write(body) // a buffer never fails
	_ = w.Close()
	r[name] = &types.AttributeValueMemberB{Value: short.Bytes()}
}

// unpack returns a body; empty if the attribute does not exist.
func (r Row) unpack(name string) ([]byte, error) {
	v, packed := r[name].(*types.AttributeValueMemberB)
	if !packed {
		return []byte(r.text(name)), nil
	}
	w, err := gzip.NewReader(bytes.NewReader(v.Value))
	if err != nil {
		return nil, fmt.Errorf("read attribute %s of %s %s: %w", name, r.text("PK"), r.text("SK"), err)
	}
	return io.ReadAll(w)
}

// decode decodes a JSON attribute.
func decode[T any](r Row, name string) (v T, err error) {
	body, err := r.unpack(name)
	if err == nil {
		err = json.Unmarshal(body, &v)
	}
	if err != nil {
		return v, fmt.Errorf("read attribute %s of %s %s: %w", name, r.text("PK"), r.text("SK"), err)
	}
	return v, nil
}

// UnmarshalJSON decodes a row from DynamoDB JSON, as in stream records: {"PK": {"S": "…"}, …}.
func (r *Row) UnmarshalJSON(body []byte) error {
	var all map[string]attribute
	if err := json.Unmarshal(body, &all); err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	*r = valuesOf(all)
	return nil
}

// attribute is a value in DynamoDB JSON. Binary sets are ignored: nothing reads them.
type attribute struct {
	S, N       *string
	B          []byte
	BOOL, NULL *bool
	M          map[string]attribute
	L          []attribute
	SS, NS     []string
}

func valuesOf(all map[string]attribute) Row {
	r := Row{}
	for name, a := range all {
		r[name] = a.value()
	}
	return r
}

func (a attribute) value() types.AttributeValue {
	switch {
	case a.S != nil:
		return text(*a.S)
	case a.N != nil:
		return &types.AttributeValueMemberN{Value: *a.N}
	case a.BOOL != nil:
		return truth(*a.BOOL)
	case a.NULL != nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case a.SS != nil:
		return &types.AttributeValueMemberSS{Value: a.SS}
	case a.NS != nil:
		return &types.AttributeValueMemberNS{Value: a.NS}
	case a.M != nil:
		return &types.AttributeValueMemberM{Value: valuesOf(a.M)}
	case a.L != nil:
		list := &types.AttributeValueMemberL{}
		for _, item := range a.L {
			list.Value = append(list.Value, item.value())
		}
		return list
	default:
		return &types.AttributeValueMemberB{Value: a.B}
	}
}
