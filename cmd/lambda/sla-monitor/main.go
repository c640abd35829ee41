// Command sla-monitor is the AWS Lambda function that handles deadlines.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	b := wire.BeginTraced(awslambda.SLAMonitor)
	b.Serve(wire.Monitor(b).Deadlines)
}
