// Package wire assembles the functions. Every function begins with its settings, its log and its tables; the linker
// omits whatever a function does not call.
package wire

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Base is what every function has.
type Base struct {
	awslambda.Settings
	AWS    aws.Config
	Store  *dynamo.Store
	Logger *slog.Logger
}

// Begin reads the environment. If the settings are invalid, it logs why and exits.
func Begin(f awslambda.Function) Base {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil)).With("function", string(f))
	settings, err := awslambda.Read(f, os.Getenv)
	if err != nil {
		logger.Error("cannot begin", "error", err)
		os.Exit(1)
	}
	c := awscall.Config(os.Getenv)
	return Base{Settings: settings, AWS: c, Logger: logger, Store: dynamo.New(c, settings.Environment, dynamo.Options{KeepEvents: settings.EventsKept})}
}

// Must logs err and exits, unless err is nil.
func (b Base) Must(err error) {
	if err != nil {
		b.Logger.Error("cannot begin", "error", err)
		os.Exit(1)
	}
}

// Serve answers calls with a handler until Lambda ends the function.
func Serve(handler any) { lambda.Start(handler) }
