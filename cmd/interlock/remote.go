package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// exitUnreachable says that the server could not be asked.
const exitUnreachable = 3

// remoteFlags say which server to ask.
type remoteFlags struct{ server, token, store, ca, cert, key, context string }

// addRemoteFlags gives every command the flags that name the server.
func addRemoteFlags(root *cobra.Command, a *app) {
	a.remote = &remoteFlags{}
	root.PersistentFlags().StringVar(&a.remote.server, "server", "", "`URL` of the server, HOST:PORT, or unix:PATH of its socket (INTERLOCK_SERVER, default "+client.DefaultServer+")")
	root.PersistentFlags().StringVar(&a.remote.context, "context", "", "`NAME` of the context to use, see interlock context (INTERLOCK_CONTEXT, default the current one)")
	root.PersistentFlags().StringVar(&a.remote.store, "store", "", "`URL` of an AWS deployment to read instead of a server: dynamodb://ENVIRONMENT?region=REGION")
	root.PersistentFlags().StringVar(&a.remote.ca, "ca", "", "PEM `FILE` of the certificate authorities of the server (INTERLOCK_CA)")
	root.PersistentFlags().StringVar(&a.remote.cert, "cert", "", "PEM `FILE` of the client certificate to present (INTERLOCK_CERT)")
	root.PersistentFlags().StringVar(&a.remote.key, "key", "", "PEM `FILE` of the client certificate's private key (INTERLOCK_KEY)")
	root.PersistentFlags().StringVar(&a.remote.token, "token", "", "bearer `TOKEN` for the server (INTERLOCK_TOKEN)")
}

// connection is a client whose answer is shown in the format that the user asked for.
type connection struct {
	*client.Client
	app    *app
	format *choice
	answer json.RawMessage // as the server sent it
}

// raw has a call keep its answer for show.
func (c *connection) raw() client.CallOption { return client.Raw(&c.answer) }

// show prints the answer, or returns the error that there is in its place.
func (c *connection) show(err error, text func()) error {
	if err != nil {
		return err
	}
	return c.app.show(c.format, c.answer, text)
}

// asking makes cmd one that asks a server, and gives it a --format flag.
func (a *app) asking(cmd *cobra.Command, ask func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.connected(cmd.Context(), func(c *client.Client) error {
			return ask(cmd.Context(), &connection{Client: c, app: a, format: format}, args)
		})
	}
	return cmd
}

// connected calls ask with a client of the server or of deployed tables, and says what a person can do about its error.
func (a *app) connected(ctx context.Context, ask func(c *client.Client) error) error {
	c, end, err := a.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(hinted(ask(c)), end())
}

// connect returns a client of the server or of deployed tables, and what ends it.
func (a *app) connect(ctx context.Context) (*client.Client, func() error, error) {
	if a.remote.store != "" {
		return a.onTables(ctx, a.remote.store)
	}
	c, err := a.server()
	return c, func() error { return nil }, err
}

// server is the one that flags, environment or a context name, in this order. What a context says is used for its own server
// alone: its token never goes to another.
func (a *app) server() (*client.Client, error) {
	chosen, err := a.chosenContext()
	if err != nil {
		return nil, err
	}
	or := func(flag, variable, stored string) string { return cmp.Or(flag, stored, a.getenv(variable)) }
	address := withScheme(cmp.Or(a.remote.server, chosen.Server, a.getenv("INTERLOCK_SERVER"), client.DefaultServer))
	token := a.remote.token
	if token == "" {
		if token, err = chosen.token(a); err != nil {
			return nil, usageError{err}
		}
	}
	options := []client.Option{client.WithToken(cmp.Or(token, a.getenv("INTERLOCK_TOKEN")))}
	ca, cert, key := or(a.remote.ca, "INTERLOCK_CA", chosen.CA), or(a.remote.cert, "INTERLOCK_CERT", chosen.Cert), or(a.remote.key, "INTERLOCK_KEY", chosen.Key)
	if (ca != "" || cert != "" || key != "") && !strings.HasPrefix(address, "unix:") {
		config, err := clientTLS(ca, cert, key)
		if err != nil {
			return nil, usageError{err}
		}
		options = append(options, client.WithTLS(config))
	}
	c, err := client.New(address, options...)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// chosenContext returns the context that --context or INTERLOCK_CONTEXT names, else the current one. It is empty if the server
// is named otherwise.
func (a *app) chosenContext() (serverContext, error) {
	if a.remote.server != "" {
		if a.remote.context != "" {
			return serverContext{}, usagef("--server and --context name two servers; give one of them")
		}
		return serverContext{}, nil
	}
	name := a.remote.context
	if name == "" && a.getenv("INTERLOCK_SERVER") != "" {
		return serverContext{}, nil
	}
	all, err := a.readContexts()
	if err != nil {
		return serverContext{}, err
	}
	if name = cmp.Or(name, a.getenv("INTERLOCK_CONTEXT"), all.Current); name == "" {
		return serverContext{}, nil
	}
	return all.find(name)
}

// withScheme completes HOST:PORT: http on this machine, https elsewhere, so that no token travels unencrypted unless the user
// writes http.
func withScheme(address string) string {
	if strings.Contains(address, "://") || strings.HasPrefix(address, "unix:") {
		return address
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "http://" + address
	}
	return "https://" + address
}

// clientTLS reads the authorities that vouch for a server, and the certificate that a command presents to it.
func clientTLS(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("read --ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--ca %s contains no certificate; it must be a PEM file", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("--cert and --key must be set together")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read --cert and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// The server's words for programs end where what to do begins: "; GET /api/v1/pipelines lists them".
const forPrograms = "; GET "

// hinted says what a person at a command line can do about an error.
func hinted(err error) error {
	var problem *client.Problem
	var unreachable *client.UnreachableError
	switch {
	case errors.As(err, &unreachable) && unreachable.Late:
		return err // another server is no remedy
	case errors.As(err, &unreachable):
		return hint{err, err.Error() + " (set --server or INTERLOCK_SERVER, or start one with `interlock serve`)"}
	case !errors.As(err, &problem):
		return err
	case problem.Status == http.StatusUnauthorized:
		return hint{err, err.Error() + " (set --token or INTERLOCK_TOKEN)"}
	}
	what, _, cut := strings.Cut(err.Error(), forPrograms)
	switch {
	case problem.Type == "urn:interlock:problem:unknown-pipeline" && cut:
		return hint{err, what + "; `interlock status` lists them"}
	case problem.Type == "urn:interlock:problem:unknown-run":
		return hint{err, what + "; `interlock explain PIPELINE --date PERIOD` says why"}
	}
	return err
}

// hint is an error in other words.
type hint struct {
	error
	text string
}

func (h hint) Error() string { return h.text }
func (h hint) Unwrap() error { return h.error }

// remoteCode is the exit code for what a server answered; ok is false where the error is not the server's.
func remoteCode(err error) (code int, ok bool) {
	var problem *client.Problem
	var unreachable *client.UnreachableError
	var tables *dynamo.UnreachableError
	switch {
	case errors.As(err, &unreachable), errors.As(err, &tables), errors.Is(err, archive.ErrAway):
		return exitUnreachable, true
	case !errors.As(err, &problem):
		return 0, false
	case problem.Status >= http.StatusInternalServerError:
		return exitUnreachable, true
	case problem.Status == http.StatusBadRequest || problem.Status == http.StatusRequestEntityTooLarge:
		return exitUsage, true
	default:
		return exitNo, true
	}
}

// maxName is how long the server lets the name of a person be.
const maxName = 200

// person is who sits at the command line, for the record.
func (a *app) person() string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if who := a.getenv(name); who != "" && len(who) <= maxName {
			return who
		}
	}
	return ""
}

// arguments accepts exactly the named ones.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s needs %s", below(cmd), names[len(args)])
		}
		if len(args) > len(names) {
			return usagef("%s takes no more than %s, but got %q", below(cmd), list(names), args[len(names)])
		}
		return nil
	}
}

// below is the name of a command without the program's: "sensor get".
func below(cmd *cobra.Command) string {
	if cmd.Parent() == nil || cmd.Parent() == cmd.Root() {
		return cmd.Name()
	}
	return below(cmd.Parent()) + " " + cmd.Name()
}

// list joins names as one says them.
func list(names []string) string {
	text := names[0]
	for i, name := range names[1:] {
		if i == len(names)-2 {
			text += " and " + name
		} else {
			text += ", " + name
		}
	}
	return text
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("%s has no command %q", below(cmd), args[0])
		}
		return nil
	}, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}
