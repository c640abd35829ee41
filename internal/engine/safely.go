package engine

import (
	"log/slog"

	"github.com/interlock-go/interlock/internal/panicked"
)

// safely calls what is not the engine's own. A panic is an error like any other; its stack is logged.
func (e *Engine) safely(do func() error) error {
	err := panicked.Catch(do)
	if stack := panicked.Stack(err); stack != "" {
		e.Logger.Error("a handler panicked", slog.Any("error", err), slog.String("stack", stack))
	}
	return err
}
