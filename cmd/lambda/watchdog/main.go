// Command watchdog is the AWS Lambda function that detects what should have happened but didn't,
// and deletes old data.
package main

import (
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	b := wire.BeginTraced(awslambda.Watchdog)
	b.Serve(wire.Watchdog(b).Call)
}
