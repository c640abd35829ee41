package awslambda_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

var storms = flag.Int("storms", 1, "how many mornings TestAStormLosesAndDoublesNothing plays")

// storm decides what goes wrong: three calls in ten are throttled, one write in ten takes effect
// without an answer, and each function is killed once, after one of its first table writes; a
// function that may only read, after its first call.
type storm struct {
	mu     sync.Mutex
	dice   *rand.Rand
	inside func() awslambda.Function
	before map[awslambda.Function]int // table writes until it is killed
	did    map[string]int
}

func (s *storm) table(operation string, n int) awslambdatest.Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	writes, f := operation == "TransactWriteItems" || operation == "UpdateItem" || operation == "PutItem", s.inside()
	if left, mortal := s.before[f]; mortal && (writes || f == awslambda.AlertDispatcher || f == awslambda.SLAMonitor) { // which may only read
		if s.before[f]--; left == 0 {
			delete(s.before, f)
			s.did[string(f)]++
			return awslambdatest.Killed
		}
	}
	if !writes {
		return s.note(s.roll(0))
	}
	return s.note(s.roll(10))
}

func (s *storm) service(string, int) awslambdatest.Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.note(s.roll(10))
}

// roll throttles three calls in ten and loses so many answers in a hundred.
func (s *storm) roll(lost int) awslambdatest.Trouble {
	switch n := s.dice.IntN(100); {
	case n < 30:
		return awslambdatest.Throttled
	case n < 30+lost:
		return awslambdatest.Lost
	}
	return awslambdatest.NoTrouble
}

func (s *storm) note(what awslambdatest.Trouble) awslambdatest.Trouble {
	s.did[string(what)]++
	return what
}

// eightfold delivers each batch of records eight times.
func eightfold(batch []json.RawMessage) []json.RawMessage {
	return slices.Repeat(batch, 8)
}

func withoutInfra(events map[string][]event.Type) map[string][]event.Type {
	for key, types := range events {
		events[key] = slices.DeleteFunc(types, func(kind event.Type) bool { return kind == event.InfraFailure })
	}
	return events
}

func TestAStormLosesAndDoublesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("plays a morning on a real DynamoDB")
	}
	want := calm(t)
	for seed := range *storms {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			environment, config := dynamotest.Streaming(t)
			config.Retryer = atOnce
			s := &storm{dice: rand.New(rand.NewPCG(uint64(seed), 1)), did: map[string]int{}, before: map[awslambda.Function]int{}}
			for _, f := range []awslambda.Function{
				awslambda.StreamRouter, awslambda.Orchestrator, awslambda.SLAMonitor, awslambda.Watchdog, awslambda.EventSink, awslambda.AlertDispatcher,
			} {
				s.before[f] = s.dice.IntN(2)
			}
			s.before[awslambda.SLAMonitor], s.before[awslambda.AlertDispatcher] = 0, 0 // they may call only once
			var local *awslambdatest.Local
			o := awslambdatest.Options{Wrong: tolerated, Shuffle: eightfold, Tables: func(now func() time.Time) awslambdatest.Tables {
				local = awslambdatest.NewLocal(t, environment, config, now)
				return local
			}}
			raging := false
			o.Fault = func(operation string, n int) awslambdatest.Trouble {
				if !raging {
					return awslambdatest.NoTrouble
				}
				return s.service(operation, n)
			}
			w := deploy(t, o, daily, report)
			s.inside, raging = w.Inside, true
			local.Trouble(s.table)
			w.put(t, daily, report, "pipeline: {id: broken, owner: data}\nschedule: {cron: \"61 6 * * *\"}\n") // which is an alert
			if diff := cmp.Diff(want, withoutInfra(playMorning(t, w))); diff != "" {
				t.Errorf("the events differ (-want +got):\n%s", diff)
			}
			t.Logf("what happened: %v", s.did)
			for f := range s.before {
				t.Errorf("%s was not killed", f)
			}
		})
	}
}
