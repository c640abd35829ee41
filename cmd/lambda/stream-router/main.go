// Command stream-router is the AWS function that follows the streams of the tables.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	wire.Serve(wire.Router(wire.Begin(awslambda.StreamRouter)).Route)
}
