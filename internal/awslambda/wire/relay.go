package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Monitor is the sla-monitor. It is asked about deadlines of one pipeline at a time, which begin no execution and look at no job.
func Monitor(b Base) *awslambda.Relay {
	some := awslambda.NewNarrow(b.Store)
	return &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: b.Settings, Store: b.Store, Narrow: some, Catalog: catalog.New(some, all.Kinds()), Now: time.Now, Logger: b.Logger,
		}),
		Entries: awscall.NewEntries(b.AWS, b.SchedulerGroup, b.SchedulerRole),
	}
}

// relay is what those have in common that look at all pipelines. Its clients are built once, when the function begins.
func relay(b Base) *awslambda.Relay {
	invoker := awscall.NewInvoker(b.AWS)
	orchestrator := awslambda.Jobs{Invoker: invoker, Orchestrator: b.Orchestrator}
	return &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: b.Settings, Store: b.Store, Catalog: catalog.New(b.Store, all.Kinds()).On(pipeline.AWS, b.TimeLimit, b.Offers()), Now: time.Now, Logger: b.Logger,
			Remote: orchestrator, Evaluator: orchestrator,
		}),
		Executions: awscall.NewExecutions(b.AWS, b.StateMachine, awslambda.ErrSpent),
		Entries:    awscall.NewEntries(b.AWS, b.SchedulerGroup, b.SchedulerRole),
		Invoker:    invoker,
	}
}

// Router is the stream-router, and what the watchdog stands on.
func Router(b Base) *awslambda.Router {
	return &awslambda.Router{Relay: relay(b), Streams: awslambda.Tables{Store: b.Store}, Bus: awscall.NewBus(b.AWS, b.Bus)}
}

// Watchdog is the watchdog, with its heartbeat if it has one.
func Watchdog(b Base) *awslambda.Watch {
	w := awslambda.NewWatch(Router(b))
	if b.Heartbeat != "" {
		guard, err := egress.New(b.EgressAllow)
		b.Must(err)
		w.Beat = func(ctx context.Context) error { return beat(ctx, guard.Client(answerWithin), b.Heartbeat) }
	}
	return w
}

// beat pings a URL, which may hold a token: no error shows it.
func beat(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return errors.New("heartbeat_url cannot be used")
	}
	answer, err := client.Do(r)
	if err != nil {
		return errors.New("send the heartbeat: no answer")
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("send the heartbeat: answered %s", answer.Status)
	}
	return nil
}
