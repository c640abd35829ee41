package scenario_test

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// deployment is AWS: the functions, the state machine, and their callers.
type deployment struct {
	*testing.T
	world *awslambdatest.World
	jobs  *target
}

// newDeployment returns a deployment whose watchdog has the interval of AWS, except in stories about
// the watchdog: nothing else may depend on it.
func newDeployment(t *testing.T, s story, tables func(now func() time.Time) awslambdatest.Tables) *deployment {
	watch := 5 * time.Minute
	if strings.HasPrefix(s.name, "watchdog") || s.name == "start-deadline" {
		watch = interval
	}
	d := &deployment{T: t}
	d.jobs = newTarget(s.Jobs, d.now)
	d.world = awslambdatest.New(t, awslambdatest.Options{
		Begins: s.begins, Watch: watch, Tables: tables, Jobs: d.jobs.types(),
		FileLimit: 24 * time.Hour, // stories are written for the server: the watchdog continues where an execution has to end
	})
	return d
}

func (d *deployment) start()             { d.world.Start() }
func (d *deployment) stop()              { d.world.Stop() }
func (d *deployment) now() time.Time     { return d.world.Now() }
func (d *deployment) unseen()            { d.world.Lose() }
func (d *deployment) store() store.Store { return d.world.Store() }

// until advances the time. An evaluation that no change triggers happens at the next step of an
// execution.
func (d *deployment) until(at time.Time) { d.world.AdvanceTo(at) }

func (d *deployment) apply(files catalog.Files) error { return d.world.PutFiles(files) }

func (d *deployment) put(id pipeline.ID, key string, fields sensor.Fields) error {
	if fields != nil {
		return d.world.PutSensor(id, key, fields, d.now())
	}
	name, date, err := sensor.ParseKey(key) // only a console deletes, and it writes to the tables
	if err != nil {
		return err
	}
	gone := store.Write{Pipeline: id, Reading: sensor.Reading{Key: name, Period: date, Deleted: true}}
	_, err = d.store().PutReadings(d.Context(), []store.Write{gone}, d.now())
	return err
}

// operate acts like a console on the tables: it uses the stored data and the same router.
func (d *deployment) operate(ask func(ctx context.Context, r *router.Router, now time.Time) error) error {
	console, err := newParts(d.Context(), d.store(), d.jobs)
	if err != nil {
		return err
	}
	return ask(d.Context(), console.Router, d.now())
}

// onTables is a deployment on a local DynamoDB.
func onTables(t *testing.T, s story) *deployment {
	environment, c := dynamotest.Streaming(t)
	return newDeployment(t, s, func(now func() time.Time) awslambdatest.Tables { return awslambdatest.NewLocal(t, environment, c, now) })
}

var everywhere = flag.Bool("tables", false, "play all stories with a real DynamoDB, which takes minutes; a few are always")

// onRealTables reports whether a story is played with a real DynamoDB. Together, those that always
// are write every kind of row; all stories are played with tables in memory.
func onRealTables(s story) bool {
	return *everywhere || slices.Contains([]string{"cascade", "late-data", "retries", "start-unanswered"}, s.name)
}

func TestE1DeployedTablesTellTheSame(t *testing.T) {
	for _, s := range stories(t) {
		if !onRealTables(s) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			compareRuns(t, s, tell(t, s, onTables(t, s)))
		})
	}
}
