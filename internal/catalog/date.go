package catalog

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

// MaxFuture is how far ahead a reading may be dated, unless the server's file says otherwise.
const MaxFuture = 400 * 24 * time.Hour

// ErrTooFar says that a reading is dated too far ahead.
var ErrTooFar = errors.New("correct the date")

// CheckDate returns an error if no pipeline that reads the sensor can have a run for period p, which a reading written now names:
// the clocks of their zones skip p, or p begins more than ahead from now (ErrTooFar). An undated reading is always right.
func (s *Snapshot) CheckDate(id pipeline.ID, key sensor.Key, p period.Period, now time.Time, ahead time.Duration) error {
	if p.IsZero() {
		return nil
	}
	zones := s.zonesOf(id, key)
	var skipped error
	for _, zone := range zones {
		if skipped = p.CheckName(zone); skipped == nil {
			break
		}
	}
	if skipped != nil {
		return skipped
	}
	if p.Start(zones[0]).After(now.Add(ahead)) {
		return fmt.Errorf("%s is more than %s ahead; %w", p, document.Duration(ahead), ErrTooFar)
	}
	return nil
}

// zonesOf returns the zones in which the periods of a sensor are read, at least one. A pipeline that people open may be no more
// than a place for sensors that others read.
func (s *Snapshot) zonesOf(id pipeline.ID, key sensor.Key) []*time.Location {
	owner := s.byID[id]
	if owner != nil && owner.Opens != pipeline.ByHand {
		return []*time.Location{owner.Schedule.Zone()}
	}
	var zones []*time.Location
	for _, e := range s.Readers(id, key) {
		zones = append(zones, e.Schedule.Zone())
	}
	switch {
	case zones != nil:
		return zones
	case owner != nil:
		return []*time.Location{owner.Schedule.Zone()}
	}
	return []*time.Location{time.UTC}
}
