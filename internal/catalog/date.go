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

// MaxFuture is how far ahead a reading may be dated, unless the server's file sets another limit.
const MaxFuture = 400 * 24 * time.Hour

// ErrTooFar means that a reading is dated too far ahead.
var ErrTooFar = errors.New("correct the date")

// CheckDate returns an error if no pipeline that reads the sensor can have a run for p, the period
// of a reading written now: their time zones skip p, or p begins later than now plus ahead
// (ErrTooFar). An undated reading is always valid.
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

// zonesOf returns the time zones in which a sensor's periods are read, at least one. A manually
// opened pipeline may only hold sensors that others read, so its readers' zones count.
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
