// Command watchdog is the AWS function that looks for what did not happen, and forgets what is old.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	wire.Serve(wire.Watchdog(wire.Begin(awslambda.Watchdog)).Round)
}
