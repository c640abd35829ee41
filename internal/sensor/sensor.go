// Package sensor defines the data that external processes push: a reading is one write of a map of fields under a
// key, for one period or undated. It decides which period a write is for, and which reading a rule sees for a period.
// It stores nothing; rules over readings are in package rule.
package sensor

import (
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Fields are the user's data. Values are nil, bool, int64, float64, string, []any and map[string]any only, which
// Decode and Normalize ensure. A JSON integer that fits is int64.
type Fields map[string]any

// At returns a field, which may be a dotted path; nil if it does not exist.
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

// Unchanged returns when the data of r last changed.
func (r *Reading) Unchanged() time.Time {
	if r.ChangedAt.IsZero() {
		return r.UpdatedAt
	}
	return r.ChangedAt
}

// Reading is one write of a sensor. If Deleted, it has no fields: rules then see its period as if it had never been
// written.
type Reading struct {
	Key       Key
	Period    period.Period // zero: undated
	Fields    Fields
	UpdatedAt time.Time
	ChangedAt time.Time // when the fields last changed, however often it was written since; zero: at UpdatedAt
	Version   int64
	Source    string
	ExpiresAt time.Time // zero: never
	Deleted   bool      // it deletes the previous reading of its period
}
