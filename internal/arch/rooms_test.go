package arch

import (
	"path"
	"strings"
)

// layer is the kind of work a package does. Which layers a layer may import is in mayImport.
type layer string

const (
	decide   layer = "decide"   // pure: values and now in, a verdict with its reason out
	contract layer = "contract" // what several adapters implement
	engine   layer = "engine"   // the part of a contract that each technology implements by itself
	suite    layer = "suite"    // what tests share: the conformance tests of a contract, or their data
	handle   layer = "handle"   // one change, task or tick in; one atomic batch out
	kit      layer = "kit"      // what the adapters of one contract share, such as how they speak HTTP
	adapter  layer = "adapter"  // does one thing with one technology
	assembly layer = "assembly" // lists the adapters of a contract
	host     layer = "host"     // owns goroutines, timers and loops
	form     layer = "form"     // what a server and its clients send each other, for programs outside to import
	face     layer = "face"     // what people and programs talk to
	wiring   layer = "wiring"   // puts a host together with its adapters, for commands that have that in common
	command  layer = "command"  // package main: flags and wiring
)

// mayImport says which of our layers each layer sees. A deciding package moreover sees only those
// before it in decideOrder.
var mayImport = map[layer][]layer{
	decide:   {decide},
	contract: {decide},
	engine:   {decide, contract},
	suite:    {decide, contract, engine, kit, suite},
	handle:   {decide, contract, handle},
	kit:      {decide, contract, engine},
	adapter:  {decide, contract, engine, kit},
	assembly: {decide, contract, kit, adapter},
	host:     {decide, contract, handle, kit, adapter, assembly},
	form:     {decide, contract, handle, host}, // for its tests, which put a server together
	face:     {decide, contract, handle, host, form},
	wiring:   {decide, contract, handle, kit, adapter, assembly, host, wiring},
	command:  {decide, contract, engine, handle, kit, adapter, assembly, host, form, face, wiring},
}

// decideOrder lists the deciding packages, lowest first: each may import only those before it.
var decideOrder = []string{
	"internal/panicked",
	"internal/backoff",
	"internal/excerpt",
	"internal/document",
	"internal/period",
	"internal/reason",
	"internal/sensor",
	"internal/rule",
	"internal/schedule",
	"internal/sla",
	"internal/pipeline",
	"internal/run",
	"internal/probe",
	"internal/rerun",
	"internal/event",
	"internal/lifecycle",
	"internal/template",
	"internal/settings",
	"internal/artifact",
	"internal/source",
}

// rooms gives every other package its layer, by its folder. A pattern ends in "/*" and stands for
// one more folder name; an exact entry wins over a pattern. A package that is not here fails the
// test: it has to be given a place first.
var rooms = map[string]layer{
	"internal/store":             contract,
	"internal/store/row":         engine, // what a database offers to package record
	"internal/store/record":      kit,    // the store on an engine, the same for all of them
	"internal/store/storetest":   suite,
	"internal/store/rowtest":     suite,
	"internal/store/redistest":   kit,     // starts a real Redis, for tests and for bench
	"internal/store/dynamotest":  command, // tests only: it starts a server, and makes the adapter's tables there
	"internal/store/*":           adapter,
	"internal/job":               contract,
	"internal/job/jobtest":       suite,
	"internal/period/periodtest": suite,
	"internal/job/all":           assembly,
	"internal/job/rest":          kit,
	"internal/job/awsapi":        kit,
	"internal/job/awstest":       suite,
	"internal/otlp/otlptest":     suite,
	"internal/program":           kit, // how programs are started on this machine
	"internal/datadir":           kit, // takes a data directory for one process
	"internal/job/*":             adapter,
	"internal/sink":              contract,
	"internal/sink/post":         kit,
	"internal/sink/sinktest":     suite,
	"internal/sink/*":            adapter,
	"internal/egress":            contract, // what adapters send HTTP through

	"internal/catalog":       handle,
	"internal/gate":          handle,
	"internal/gate/gatetest": handle, // tests and the simulator only
	"internal/explain":       handle,
	"internal/router":        handle,
	"internal/orchestrator":  handle,
	"internal/slamonitor":    handle,
	"internal/watchdog":      handle,
	"internal/notify":        handle,
	"internal/prober":        handle,
	"internal/presence":      handle,
	"internal/trend":         handle,
	"internal/timeline":      handle,
	"internal/attention":     handle,
	"internal/audit":         handle,
	"internal/ingest":        handle,
	"internal/controller":    handle, // all of them, put together for hosts

	"internal/files":          adapter,
	"internal/oidc":           adapter,
	"internal/otlp":           adapter,
	"internal/evaluator":      adapter,
	"internal/archive":        adapter,
	"internal/archive/pgtest": kit, // starts a real PostgreSQL, for tests and for bench

	"internal/engine":      host,
	"internal/awslambda":   host,
	"internal/awslambda/*": adapter, // how the functions speak to AWS

	"internal/awslambda/wire":          wiring,
	"internal/awslambda/awslambdatest": command, // tests only: it puts a whole deployment together
	"internal/controllertest":          command, // tests only: it puts a controller without a clock together
	"internal/sim":                     host,

	"internal/api":       face,
	"internal/dashboard": face,
	"internal/metrics":   face,
	"web":                face,
	"internal/arch":      face,
	"client":             form,
	"internal/demo":      face,
	"examples":           face,

	"cmd/interlock":           command,
	"cmd/lambda/*":            command,
	"bench":                   command,
	"internal/event/eventdoc": command,
	"internal/dashboard/seed": command, // a past for the dashboard's tests and pictures
	"internal/promise":        command, // tests only, which put everything together as a command does
	"internal/scenario":       command, // the same
	"internal/deploy":         command, // the same, of the files in deploy
	"deploy/pack":             command,
	"web/pack":                command,
	"internal/api/openapidoc": command,
	"internal/sim/simulate":   command,
}

// unseen lists what a package may not import although its layer would allow it. The first line is
// what keeps the process and AWS from drifting apart: neither can hold a domain decision of its
// own.
var unseen = []struct {
	from, to []string
	why      string
}{
	{
		from: []string{"internal/engine", "internal/awslambda"},
		to:   []string{"internal/rule", "internal/schedule", "internal/sla", "internal/rerun"},
		why:  "a host only waits; what it would decide belongs in a handler",
	},
	{
		from: []string{"internal/catalog", "internal/gate", "internal/explain", "internal/router", "internal/orchestrator", "internal/slamonitor", "internal/watchdog"},
		to:   []string{"internal/sink"},
		why:  "only internal/notify brings events to sinks",
	},
	{
		from: []string{"internal/document", "internal/period"},
		to:   decideOrder,
		why:  "it stands on its own",
	},
}

// forTests may be imported by any _test.go file, whatever its package's layer.
var forTests = map[string]string{
	"internal/gate/gatetest":           "it decides a stored gate again",
	"internal/job/all":                 "examples are checked with the real job types",
	"internal/job/jobtest":             "it is a conformance suite",
	"internal/job/awstest":             "it stands for AWS",
	"internal/otlp/otlptest":           "it stands for a collector",
	"internal/period/periodtest":       "it parses periods for tests, and lists the clock changes that they look at",
	"internal/sink/sinktest":           "it is a conformance suite",
	"internal/store/storetest":         "it is a conformance suite",
	"internal/store/rowtest":           "it is a conformance suite",
	"internal/store/redistest":         "it starts the servers that tests speak to",
	"internal/store/dynamotest":        "it starts the server that tests speak to",
	"internal/store/memory":            "handlers are tested on a real store",
	"internal/controllertest":          "handlers are tested with each other, as a controller has them",
	"internal/awslambda/awslambdatest": "it stands for a deployment on AWS",
	"internal/api":                     "the client is tested against the real API",
}

// awsRooms are the only packages that may import the AWS SDK.
var awsRooms = []string{"internal/awslambda", "internal/awslambda/*", "internal/store/dynamo", "internal/store/dynamotest", "internal/job/*"}

// mayStartGoroutines lists the deciding packages that may, and why that does not make their answers
// depend on timing.
var mayStartGoroutines = map[string]string{
	"internal/pipeline": "the loader parses files in parallel and joins the results in file order",
}

// layerOf is the layer of a package, given its folder; "" if it is not listed.
func layerOf(dir string) layer {
	if orderOf(dir) >= 0 {
		return decide
	}
	if l, ok := rooms[dir]; ok {
		return l
	}
	return rooms[path.Dir(dir)+"/*"]
}

// orderOf is the place of a deciding package in decideOrder, -1 for any other.
func orderOf(dir string) int {
	for i, d := range decideOrder {
		if d == dir {
			return i
		}
	}
	return -1
}

// listed says whether dir is in list, which may hold patterns.
func listed(dir string, list []string) bool {
	for _, entry := range list {
		if entry == dir || strings.HasSuffix(entry, "/*") && path.Dir(dir) == strings.TrimSuffix(entry, "/*") {
			return true
		}
	}
	return false
}
