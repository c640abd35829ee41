package awslambda

import (
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Facts are what a record of a stream tells. Most tell one, many none: not every row is anybody's business.
type Facts struct {
	Pipeline pipeline.ID // whose rows they are, which come in order

	Changes []store.Change       // for the router
	Tasks   []string             // stored, by id: on their way to what waits for them
	Events  []event.Event        // for the bus
	Sensor  *Sensor              // written by a producer
	Files   bool                 // a pipeline, calendar or archetype file changed
	Result  *run.Outcome         // of a job, written by somebody else
	Rerun   *router.RerunRequest // written by somebody else
	Refused *Refused             // a row of somebody else's that makes no sense
}

// Sensor is a sensor's row as its producer wrote it. Its version and its instant are those of the stream.
type Sensor struct {
	Write   store.Write
	Version int64
	At      time.Time
}

// Refused is a row that nobody can act on, and why. It is told, once, and stops nobody.
type Refused struct {
	Row    string
	Reason string
	At     time.Time
}
