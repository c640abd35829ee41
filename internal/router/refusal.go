package router

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// Refusal is a person's wish that is not granted. Nothing has changed.
type Refusal struct {
	Kind   RefusalKind
	Reason string
}

// RefusalKind says what sort of no it is.
type RefusalKind string

// The kinds of refusals.
const (
	NotFound RefusalKind = "not found" // there is no such pipeline or run
	Invalid  RefusalKind = "invalid"   // the request itself is wrong
	Conflict RefusalKind = "conflict"  // it does not fit what is there now
)

func (r *Refusal) Error() string { return r.Reason }

func refuse(kind RefusalKind, format string, args ...any) error {
	return &Refusal{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

func unknown(id pipeline.ID) error {
	return refuse(NotFound, "pipeline %q is not in force", id)
}
