package slamonitor

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/run"
)

// ExcludedMark notes that the calendar suppressed a period when it was due; package router sets it. It is never forgotten: a
// calendar that is edited later brings nothing back, and no deadline either.
func ExcludedMark(key run.Key) string { return "excluded/" + key.String() }

// suppressed says whether the calendar suppressed a period when it was due.
func (m *Monitor) suppressed(ctx context.Context, key run.Key) (bool, error) {
	mark := ExcludedMark(key)
	set, err := m.store.Marked(ctx, []string{mark})
	if err != nil {
		return false, fmt.Errorf("read mark %s: %w", mark, err)
	}
	return set[mark], nil
}
