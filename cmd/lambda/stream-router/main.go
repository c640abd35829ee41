// Command stream-router is the AWS function that follows the streams of the tables.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/awslambda/wirerelay"
)

func main() {
	wire.Serve(wirerelay.Router(wire.Begin(awslambda.StreamRouter)).Route)
}
