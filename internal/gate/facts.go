package gate

import (
	"cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Shown returns what a stored sensor showed to the rules. It is the inverse of what a snapshot
// stores.
func Shown(s store.SeenSensor) sensor.Seen {
	var seen sensor.Seen
	for _, one := range s.Slices {
		slice := sensor.Seen{For: one.Date}
		if one.Version != 0 {
			slice.Reading = readingOf(s.Key, one)
		}
		seen.Over = append(seen.Over, slice)
	}
	if len(s.Slices) == 0 && (s.Version != 0 || s.Fields != nil) {
		seen.Reading = &sensor.Reading{
			Key: s.Key, Period: s.Period, Fields: s.Fields, Version: s.Version,
			UpdatedAt: s.UpdatedAt, ChangedAt: s.ChangedAt, ExpiresAt: s.ExpiresAt,
		}
	}
	return seen
}

// readingOf returns the reading of one period among several.
func readingOf(key sensor.Key, s store.SeenSlice) *sensor.Reading {
	return &sensor.Reading{
		Key: key, Period: periodOf(s), Fields: s.Fields, Version: s.Version,
		UpdatedAt: s.UpdatedAt, ChangedAt: s.ChangedAt, ExpiresAt: s.ExpiresAt,
	}
}

func periodOf(s store.SeenSlice) period.Period { return cmp.Or(s.Of, s.Date) }
