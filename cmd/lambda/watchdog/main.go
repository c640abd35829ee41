// Command watchdog is the AWS function that looks for what did not happen, and forgets what is old.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/awslambda/wirerelay"
)

func main() {
	wire.Serve(awslambda.NewWatch(wirerelay.Router(wire.Begin(awslambda.Watchdog))).Round)
}
