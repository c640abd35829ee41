// Package sensor is what outside processes push: a reading is one write of a map of fields under a key,
// for one period or undated. It decides which period a write is for, and which reading a rule sees for a
// period. It never stores anything; rules over readings are in package rule.
package sensor

import (
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Fields are the user's data: the values are nil, bool, int64, float64, string, []any, map[string]any and
// nothing else (Decode and Normalize see to that). A JSON integer that fits is int64.
type Fields map[string]any

// At gives a field, which may be a dotted path; nil if it is not there.
func (f Fields) At(path string) any {
	if v := f[path]; v != nil {
		return v
	}
	name, rest, dotted := strings.Cut(path, ".")
	inner, ok := f[name].(map[string]any)
	if !dotted || !ok {
		return nil
	}
	return Fields(inner).At(rest)
}

// Unchanged returns the instant since which the data of r has been as it is.
func (r *Reading) Unchanged() time.Time {
	if r.ChangedAt.IsZero() {
		return r.UpdatedAt
	}
	return r.ChangedAt
}

// Reading is one write of a sensor. With Deleted it has no fields: rules then see its period as if it had never been written.
type Reading struct {
	Key       Key
	Period    period.Period // zero: undated
	Fields    Fields
	UpdatedAt time.Time
	ChangedAt time.Time // since when it has had these fields, however often it was written since; zero: since UpdatedAt
	Version   int64
	Source    string
	ExpiresAt time.Time // zero: never
	Deleted   bool      // it deletes the reading that its period had
}
