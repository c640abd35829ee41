// Command alert-dispatcher is the AWS function that brings alerts to Slack.
package main

import (
	"context"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/wire"
	"github.com/interlock-go/interlock/internal/awslambda/wirealerts"
)

func main() {
	wire.Serve(wirealerts.Dispatcher(context.Background(), wire.Begin(awslambda.AlertDispatcher)).Dispatch)
}
