// Command event-sink is the AWS Lambda function that stores the events of the bus.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	sink := awslambda.Sink{Log: wire.Begin(awslambda.EventSink).Store}
	wire.Serve(sink.Keep)
}
