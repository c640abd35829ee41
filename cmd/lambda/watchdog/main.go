// Command watchdog is the AWS Lambda function that detects what should have happened but didn't,
// and deletes old data.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	wire.Serve(wire.Watchdog(wire.Begin(awslambda.Watchdog)).Call)
}
