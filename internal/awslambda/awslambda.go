// Package awslambda is the host on AWS: a payload in, the same handlers as in the process, a reply out. It owns no loop.
// What waits is Step Functions (an attempt), EventBridge Scheduler (an instant) and the streams of the tables (a change);
// what any of it means is decided in router, orchestrator, slamonitor and watchdog, which this package only calls.
//
// The six functions, each with its handler in a file:
//
//	stream-router     streamrouter.go  a record of a stream: a change to the router, an intent or an event to where it belongs
//	orchestrator      orchestrate.go   a step of an attempt, for the state machine (deploy/statemachine.asl.json)
//	sla-monitor       sla.go           deadlines: verify, fire, take back
//	watchdog          watch.go         what did not happen, and intents that nobody carried out
//	event-sink        eventsink.go     an event of the bus to the events table
//	alert-dispatcher  dispatch.go      an event of the queue to Slack
//
// A stored task becomes what waits for it in relay.go: an execution for an attempt, an entry of Scheduler for an instant to
// come, and for one that has come the work itself. All of it may happen twice, and each name is taken once.
//
// The package holds no client of AWS: awscall has those, and each function builds only what it needs.
package awslambda
