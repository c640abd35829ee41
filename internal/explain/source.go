package explain

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/source"
)

// sources adds, for the rules that keep the gate closed, when the last event of the source came that writes their sensor.
func (l *look) sources(ctx context.Context) error {
	if l.x.Gate == nil || !l.x.Gate.Live {
		return nil
	}
	for _, leaf := range l.x.Gate.Closed() {
		owner := l.owner(leaf.SeenLeaf)
		for _, d := range l.Catalog.Sources().All() {
			if !d.Writes(owner, leaf.Key) {
				continue
			}
			a, err := ingest.StoredOf(ctx, l.Store, d.ID)
			if err != nil {
				return err
			}
			if line := l.sourceLine(d, a); !slices.Contains(l.x.Reasons, line) {
				l.x.Reasons = append(l.x.Reasons, line)
			}
		}
	}
	return nil
}

// sourceLine is when the last event of a source came.
func (l *look) sourceLine(d *source.Definition, a source.Activity) string {
	switch silence := a.Silence(d.ID, l.x.At); {
	case silence != "":
		return silence
	case a.LastEvent.IsZero():
		return fmt.Sprintf("source %s has had no event yet", d.ID)
	default:
		return fmt.Sprintf("the last event of source %s came %s", d.ID, instant(a.LastEvent, l.x.At))
	}
}
