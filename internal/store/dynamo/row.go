package dynamo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Row is a row of a table, or its image in a stream.
type Row map[string]types.AttributeValue

func text(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func truth(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// text is an attribute that is a text; "" if there is none.
func (r Row) text(name string) string {
	if v, ok := r[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// number is an attribute that is a whole number; 0 if there is none.
func (r Row) number(name string) int64 {
	v, ok := r[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0 // none that the store has written
	}
	return n
}

func (r Row) truth(name string) bool {
	v, ok := r[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

// instant reads what store.Nanos writes.
func (r Row) instant(name string) time.Time {
	t, err := store.FromNanos(r.text(name))
	if err != nil {
		return time.Time{} // none that the store has written
	}
	return t
}

func (r Row) at(table string) address { return address{table, r.text("PK"), r.text("SK")} }

// pack is where longer records begin to be compressed: a row takes 400 KB.
const pack = 16 << 10

// encode is a record as an attribute: its JSON, compressed if it is long.
func encode(v any) (types.AttributeValue, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write %T as JSON: %w", v, err)
	}
	return packed(plain), nil
}

func packed(plain []byte) types.AttributeValue {
	if len(plain) < pack {
		return text(string(plain))
	}
	var short bytes.Buffer
	w := gzip.NewWriter(&short)
	_, _ = w.Write(plain) // a buffer takes everything
	_ = w.Close()
	return &types.AttributeValueMemberB{Value: short.Bytes()}
}

// plain is the JSON of an attribute that encode has made.
func (r Row) plain(name string) ([]byte, error) {
	switch v := r[name].(type) {
	case *types.AttributeValueMemberS:
		return []byte(v.Value), nil
	case *types.AttributeValueMemberB:
		unpacked, err := gzip.NewReader(bytes.NewReader(v.Value))
		if err != nil {
			return nil, fmt.Errorf("read attribute %s of %s %s: %w", name, r.text("PK"), r.text("SK"), err)
		}
		return io.ReadAll(unpacked)
	default:
		return nil, fmt.Errorf("row %s %s has no attribute %s", r.text("PK"), r.text("SK"), name)
	}
}

// decode reads the record of a row.
func decode[T any](r Row) (T, error) { return decodeFrom[T](r, "json") }

func decodeFrom[T any](r Row, name string) (v T, err error) {
	plain, err := r.plain(name)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(plain, &v); err != nil {
		return v, fmt.Errorf("read stored %T of %s %s: %w", v, r.text("PK"), r.text("SK"), err)
	}
	return v, nil
}

// digits sorts as the number does; none is below 0.
func digits(n int64) string { return fmt.Sprintf("%0*d", store.Width, n) }

// expires is a value of TTL: the first whole second after an instant.
func expires(t time.Time) types.AttributeValue { return number(t.Unix() + 1) }

// join makes a name of parts. The separator sorts before everything that ids, schedules and periods are made of.
func join(parts ...string) string { return strings.Join(parts, "#") }

// names are what a place in a list goes on with.
func names(key run.Key, more ...string) string {
	return join(append([]string{string(key.Pipeline), string(key.Schedule), key.Period.String()}, more...)...)
}
