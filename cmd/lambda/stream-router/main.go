// Command stream-router is the AWS Lambda function that handles records of the tables' streams.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	b := wire.BeginTraced(awslambda.StreamRouter)
	b.Serve(wire.Router(b).Route)
}
