package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Size is a number of bytes as written in files: 64MiB, 1GiB, 512KiB, or an integer. It is never
// negative.
type Size int64

// sizeUnits lists the largest unit first, so that String finds the largest one that divides.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String formats the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return "0"
}

func (s *Size) DecodeNode(n Node) []Finding {
	wrong := []Finding{{Message: fmt.Sprintf("expected a size such as 64MiB, 1GiB or 0, found %s", n.Describe())}}
	if n.Kind() != Int && n.Kind() != String {
		return wrong
	}
	digits, unit := n.Text(), int64(1)
	for _, u := range sizeUnits {
		if rest, found := strings.CutSuffix(digits, u.name); found {
			digits, unit = rest, u.bytes
			break
		}
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 0 || number > math.MaxInt64/unit {
		return wrong
	}
	*s = Size(number * unit)
	return nil
}

func (Size) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "integer"}, Pattern: `^[0-9]+(B|KiB|MiB|GiB)?$`, Minimum: jsonschema.Ptr(0.0)}
}
