// Command sla-monitor is the AWS Lambda function that handles deadlines.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	wire.Serve(wire.Monitor(wire.Begin(awslambda.SLAMonitor)).Deadlines)
}
