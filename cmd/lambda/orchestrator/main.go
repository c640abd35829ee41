// Command orchestrator is the AWS function that takes the steps of attempts. It alone may start jobs.
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
	if len(os.Args) == 2 && os.Args[1] == command.KeeperArg { // a process that keeps a command for the function
		os.Exit(command.Keep())
	}
	wire.Serve(wire.Host(wire.Begin(awslambda.Orchestrator)).Orchestrate)
}
