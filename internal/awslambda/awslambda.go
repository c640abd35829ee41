// Package awslambda is the host on AWS: it decodes a payload, calls the same handlers as the
// server, and encodes the reply. It has no loop. Step Functions waits for attempts, EventBridge
// Scheduler for instants, and the table streams deliver changes. The packages router, orchestrator,
// slamonitor and watchdog make the decisions; this package only calls them.
//
// The six functions, each with its handler in a file:
//
//	stream-router     streamrouter.go  stream records: changes to the router, tasks and events to their destinations
//	orchestrator      orchestrate.go   one step of an attempt, for the state machine (deploy/statemachine.asl.json)
//	sla-monitor       sla.go           deadlines: verify, fire, delete schedules
//	watchdog          watch.go         missed work, and tasks that no function carried out
//	event-sink        eventsink.go     events from the bus to the events table
//	alert-dispatcher  dispatch.go      events from the queue to Slack
//
// relay.go turns a stored task into an execution (for an attempt) or a schedule (for a future
// instant), or carries it out (if due). Each of these may happen twice; the name of the execution
// or schedule makes the second harmless.
//
// The package has no AWS clients: they are in awscall, and each function builds only those that it
// needs.
package awslambda
