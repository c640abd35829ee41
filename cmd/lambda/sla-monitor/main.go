// Command sla-monitor is the AWS function that looks after deadlines.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/awslambda/wirerelay"
)

func main() {
	wire.Serve(wirerelay.Monitor(wire.Begin(awslambda.SLAMonitor)).Deadlines)
}
