// Package wirerelay puts together the functions that bring stored tasks on their way: stream-router, sla-monitor, watchdog.
package wirerelay

import (
	"time"
	_ "time/tzdata" // schedules must not depend on the zone data of the machine

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Relay is what the three have in common, for those that look at all pipelines. Its clients are built once, when the function
// begins.
func Relay(b wire.Base) *awslambda.Relay {
	return relay(b, nil, catalog.New(b.Store, all.Kinds()).On(pipeline.AWS, b.TimeLimit))
}

// Monitor is the sla-monitor, which is asked about one pipeline at a time.
func Monitor(b wire.Base) *awslambda.Relay {
	some := awslambda.NewNarrow(b.Store)
	return relay(b, some, catalog.New(some, all.Kinds()))
}

func relay(b wire.Base, some *awslambda.Narrow, known *catalog.Catalog) *awslambda.Relay {
	invoker := awscall.NewInvoker(b.AWS)
	return &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: b.Settings, Store: b.Store, Narrow: some, Catalog: known, Now: time.Now, Logger: b.Logger,
			Remote: awslambda.Jobs{Invoker: invoker, Orchestrator: b.Orchestrator},
		}),
		Executions: awscall.NewExecutions(b.AWS, b.StateMachine, awslambda.ErrSpent),
		Entries:    awscall.NewEntries(b.AWS, b.SchedulerGroup, b.SchedulerRole),
		Invoker:    invoker,
	}
}

// Router is the stream-router, and what the watchdog stands on.
func Router(b wire.Base) *awslambda.Router {
	return &awslambda.Router{Relay: Relay(b), Streams: awslambda.Tables{Store: b.Store}, Bus: awscall.NewBus(b.AWS, b.Bus)}
}
