package period

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// packedZones are the zones of the Go distribution, compressed: 80 KB instead of the 450 KB of
// time/tzdata. `go test ./internal/period -run TestEveryZone -update` writes the file anew.
//
//go:embed zones.json.gz
var packedZones []byte

// zoneData is the data of a zone, and the names it has.
type zoneData struct {
	Names []string `json:"names"`
	Data  []byte   `json:"data"`
}

// LoadZone returns an IANA zone: from the machine's data, or else from the data in the binary, so that
// schedules need no zone data on the machine.
func LoadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err == nil {
		return zone, nil
	}
	return embeddedZone(name)
}

func embeddedZone(name string) (*time.Location, error) {
	zones, err := unpackedZones()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(zones, func(z zoneData) bool { return slices.Contains(z.Names, name) })
	if i < 0 {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return time.LoadLocationFromTZData(name, zones[i].Data)
}

var unpackedZones = sync.OnceValues(func() (zones []zoneData, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packedZones))
	if err == nil {
		err = json.NewDecoder(r).Decode(&zones)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack the time zones: %w", err)
	}
	return zones, nil
})
