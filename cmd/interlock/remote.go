package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

// exitUnreachable says that the server could not be asked.
const exitUnreachable = 3

// remoteFlags say which server to ask.
type remoteFlags struct{ server, token string }

// addRemoteFlags gives every command the flags that name the server.
func addRemoteFlags(root *cobra.Command, a *app) {
	a.remote = &remoteFlags{}
	root.PersistentFlags().StringVar(&a.remote.server, "server", "", "`URL` of the server (INTERLOCK_SERVER, default "+client.DefaultServer+")")
	root.PersistentFlags().StringVar(&a.remote.token, "token", "", "bearer `TOKEN` for the server (INTERLOCK_TOKEN)")
}

// ask makes a client of the server that flags or environment name.
func (a *app) ask() (*client.Client, error) {
	server, token := a.remote.server, a.remote.token
	if server == "" {
		server = a.getenv("INTERLOCK_SERVER")
	}
	if server == "" {
		server = client.DefaultServer
	}
	if token == "" {
		token = a.getenv("INTERLOCK_TOKEN")
	}
	c, err := client.New(server, client.WithToken(token))
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// remoteCode is the exit code for what a server answered; ok is false where the error is not the server's.
func remoteCode(err error) (code int, ok bool) {
	var problem *client.Problem
	var unreachable *client.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return exitUnreachable, true
	case !errors.As(err, &problem):
		return 0, false
	case problem.Status >= http.StatusInternalServerError:
		return exitUnreachable, true
	case problem.Status == http.StatusBadRequest || problem.Status == http.StatusUnprocessableEntity:
		return exitUsage, true
	default:
		return exitNo, true
	}
}

// remoteRead is a command that shows something of the server: raw as it came, or for people.
func (a *app) remoteRead(cmd *cobra.Command, format *choice, path string, query url.Values, text func(raw json.RawMessage) error) error {
	c, err := a.ask()
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Get(cmd.Context(), path, query, &raw); err != nil {
		return err
	}
	if format.value == jsonFormat {
		return a.writeRaw(raw)
	}
	return text(raw)
}

// writeRaw prints an answer of the server, indented.
func (a *app) writeRaw(raw json.RawMessage) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	return writeJSON(a.stdout, value)
}

// apiPath joins escaped parts to a path of the API.
func apiPath(parts ...string) string {
	path := "/api/v1"
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// query collects the parameters that were given.
func query(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

// untilInterrupted is a context that ends with Ctrl-C.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
}

// orDash shows what may be absent.
func orDash(s *string) string {
	if s == nil || *s == "" {
		return "–"
	}
	return *s
}

// shortTime is an instant in UTC for a table.
func shortTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// arguments accepts exactly the named ones.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s needs %s", cmd.CommandPath(), names[len(args)])
		}
		if len(args) > len(names) {
			return usagef("%s takes %d arguments, but got %q too", cmd.CommandPath(), len(names), args[len(names)])
		}
		return nil
	}
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("%s has no command %q", cmd.CommandPath(), args[0])
		}
		return nil
	}, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}
