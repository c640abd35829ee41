// Command alert-dispatcher is the AWS Lambda function that sends alerts to Slack.
package main

import (
	"context"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
)

func main() {
	wire.Serve(wire.Dispatcher(context.Background(), wire.Begin(awslambda.AlertDispatcher)).Dispatch)
}
