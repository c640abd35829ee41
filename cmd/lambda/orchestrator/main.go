// Command orchestrator is the AWS Lambda function that advances attempts. Only it may start jobs.
package main

import (
	"os"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/program"
)

func main() {
	program.Protect()                                         // from the commands that it runs
	if len(os.Args) == 2 && os.Args[1] == command.KeeperArg { // this process is a command keeper
		os.Exit(command.Keep())
	}
	b := wire.BeginTraced(awslambda.Orchestrator)
	b.Serve(wire.Host(b).Orchestrate)
}
