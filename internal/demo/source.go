package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// source is a simulated producer of bronze data. The records of its n-th minute are the same in
// every run of the demo.
type source struct {
	name  string
	seed  uint64
	names []string                 // of the observed things
	value func(*rand.Rand) float64 // of one observation
	lake  lake

	first period.Period // minutes are counted from here
}

// perMinute is the number of records per minute, including a duplicate and one without a value.
const perMinute = 24

func earthquakes(l lake, first period.Period) *source {
	return &source{
		name: "earthquakes", seed: 1906, lake: l, first: first,
		names: []string{"Kamchatka", "Valparaíso", "Izmir", "Honshu", "Anchorage", "Lombok", "Reykjanes", "Kermadec Islands"},
		value: func(r *rand.Rand) float64 { return min(2.5+r.ExpFloat64()*0.6, 5.8) }, // most are small
	}
}

func crypto(l lake, first period.Period) *source {
	return &source{
		name: "crypto", seed: 2009, lake: l, first: first,
		names: []string{"Bitcoin", "Ethereum", "Litecoin", "Monero", "Cardano", "Dogecoin"},
		value: func(r *rand.Rand) float64 { return r.NormFloat64() * 1.2 },
	}
}

// records returns the records of a minute, most of them valid.
func (s *source) records(p period.Period) []record {
	minute := int(p.Start(time.UTC).Sub(s.first.Start(time.UTC)) / time.Minute)
	r := rand.New(rand.NewPCG(s.seed, uint64(minute)))
	all := make([]record, perMinute-1, perMinute)
	for i := range all {
		all[i] = s.record(r, p, fmt.Sprintf("%s-%d-%d", s.name[:2], minute, i+1), i)
	}
	all[r.IntN(len(all))].Value = nil
	return append(all, all[0])
}

func (s *source) record(r *rand.Rand, p period.Period, id string, i int) record {
	value := math.Round(s.value(r)*10) / 10
	return record{
		ID: id, Time: p.Start(time.UTC).Add(time.Duration(i) * time.Minute / perMinute),
		Name: s.names[r.IntN(len(s.names))], Value: &value,
	}
}

// lateRecord returns a record that arrives after its minute was marked complete. Its value is above
// all others, so it changes the result.
func (s *source) lateRecord(p period.Period, n int) record {
	value := 6.0 + float64(n)/10
	return record{
		ID: fmt.Sprintf("%s-late-%d", s.name[:2], n), Time: p.Start(time.UTC).Add(59 * time.Second),
		Name: s.names[n%len(s.names)], Value: &value,
	}
}

// appendRecords appends records to the bronze file of a minute.
func (s *source) appendRecords(p period.Period, records ...record) error {
	path := s.lake.path(bronze, s.name, p)
	there, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	text := bytes.NewBuffer(there)
	for _, one := range records {
		line, err := json.Marshal(one)
		if err != nil {
			return fmt.Errorf("encode a record of %s: %w", s.name, err)
		}
		text.Write(append(line, '\n'))
	}
	return write(path, text.Bytes())
}
