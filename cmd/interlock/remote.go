package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// exitUnreachable is the exit code if the server could not be reached.
const exitUnreachable = 3

// tokenVariable is the environment variable with the bearer token.
const tokenVariable = "INTERLOCK_TOKEN"

// remoteFlags name the server to connect to.
type remoteFlags struct{ server, token, store, ca, cert, key, context string }

// addRemoteFlags adds the flags that name the server to every command.
func addRemoteFlags(root *cobra.Command, a *app) {
	a.remote = &remoteFlags{}
	root.PersistentFlags().StringVar(&a.remote.server, "server", "", "`URL` of the server, HOST:PORT, or unix:PATH of its socket (INTERLOCK_SERVER, default "+client.DefaultServer+")")
	root.PersistentFlags().StringVar(&a.remote.context, "context", "", "`NAME` of the context to use, see interlock context (INTERLOCK_CONTEXT, default the current context)")
	root.PersistentFlags().StringVar(&a.remote.store, "store", "", "`URL` of an AWS deployment to read instead of a server: dynamodb://ENVIRONMENT?region=REGION")
	root.PersistentFlags().StringVar(&a.remote.ca, "ca", "", "PEM `FILE` of the certificate authorities to trust (INTERLOCK_CA)")
	root.PersistentFlags().StringVar(&a.remote.cert, "cert", "", "PEM `FILE` of the client certificate to present (INTERLOCK_CERT)")
	root.PersistentFlags().StringVar(&a.remote.key, "key", "", "PEM `FILE` of the client certificate's private key (INTERLOCK_KEY)")
	root.PersistentFlags().StringVar(&a.remote.token, "token", "", "bearer `TOKEN` for the server (INTERLOCK_TOKEN)")
}

// connection is a client that shows answers in the format that the user chose.
type connection struct {
	*client.Client
	app    *app
	format *choice
	answer json.RawMessage // as sent by the server
}

// raw makes a call keep its answer for show.
func (c *connection) raw() client.CallOption { return client.Raw(&c.answer) }

// show prints the answer, as JSON or as text, unless err is set, which it returns.
func (c *connection) show(err error, text func()) error {
	if err != nil {
		return err
	}
	if c.format.value != jsonFormat {
		c.app.wide = c.format.value == wideFormat
		text()
		return nil
	}
	// The JSON is not decoded: a number may not fit the Go type.
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(c.answer), "", "  "); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	fmt.Fprintln(c.app.stdout, escapedJSON(out.String()))
	return nil
}

// asking makes cmd a command that sends requests to a server, and adds a --format flag.
func (a *app) asking(cmd *cobra.Command, ask func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.connected(cmd.Context(), func(c *client.Client) error {
			return ask(cmd.Context(), &connection{Client: c, app: a, format: format}, args)
		})
	}
	return cmd
}

// connected calls ask with a client of the server or of a deployment's tables. It adds a remedy to
// ask's error.
func (a *app) connected(ctx context.Context, ask func(c *client.Client) error) error {
	c, end, err := a.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(hinted(ask(c)), end())
}

// connect returns a client of the server or of a deployment's tables, and a function that closes
// it.
func (a *app) connect(ctx context.Context) (*client.Client, func() error, error) {
	if a.remote.store != "" {
		return a.connectTables(ctx, a.remote.store)
	}
	c, err := a.server()
	return c, func() error { return nil }, err
}

// server returns a client of the server that flags, environment or a context name, in this order. A
// context's settings are used for its own server only: its token is never sent to another.
func (a *app) server() (*client.Client, error) {
	chosen, err := a.chosenContext()
	if err != nil {
		return nil, err
	}
	or := func(flag, variable, stored string) string { return cmp.Or(flag, stored, a.getenv(variable)) }
	address := withScheme(cmp.Or(a.remote.server, chosen.Server, a.getenv("INTERLOCK_SERVER"), client.DefaultServer))
	token, err := a.token(chosen)
	if err != nil {
		return nil, usageError{err}
	}
	options := []client.Option{client.WithToken(token)}
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

// token returns the bearer token that flags, a context or the environment give, in this order.
func (a *app) token(chosen serverContext) (string, error) {
	if a.remote.token != "" {
		return a.remote.token, nil
	}
	token, err := chosen.token(a)
	return cmp.Or(token, a.getenv(tokenVariable)), err
}

// tokens returns the bearer tokens that this process knows: the one it sends, and that of its
// environment.
func (a *app) tokens() []string {
	known := []string{a.getenv(tokenVariable)}
	chosen, err := a.chosenContext()
	if err != nil {
		return known // no request was sent
	}
	sent, err := a.token(chosen)
	if err != nil {
		return known
	}
	return append(known, sent)
}

// chosenContext returns the context that --context or INTERLOCK_CONTEXT names, or the current one.
// It is empty if the server is named in another way.
func (a *app) chosenContext() (serverContext, error) {
	if a.remote.server != "" {
		if a.remote.context != "" {
			return serverContext{}, usagef("use --server or --context, not both")
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

// withScheme adds a scheme to HOST:PORT: http for this machine, https otherwise. So a token is
// never sent unencrypted unless the user writes http.
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

// clientTLS reads the CAs that the client trusts, and its client certificate.
func clientTLS(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pool, _, err := readAuthorities("--ca", ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
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

// forPrograms begins the remedy in the server's messages for API clients: "; GET /api/v1/pipelines
// lists them".
const forPrograms = "; GET "

// hinted adds a remedy for command-line users to an error.
func hinted(err error) error {
	if unreachable, ok := errors.AsType[*client.UnreachableError](err); ok {
		if unreachable.Late {
			return err // another server would not help
		}
		return hint{err, err.Error() + " (set --server or INTERLOCK_SERVER, or start one with `interlock serve`)"}
	}
	problem, ok := errors.AsType[*client.Problem](err)
	switch {
	case !ok:
		return err
	case problem.Status == http.StatusUnauthorized:
		return hint{err, err.Error() + " (set --token or INTERLOCK_TOKEN)"}
	}
	what, _, cut := strings.Cut(err.Error(), forPrograms)
	switch {
	case problem.Type == "urn:interlock:problem:unknown-pipeline" && cut:
		return hint{err, what + "; `interlock status` lists them"}
	case problem.Type == "urn:interlock:problem:unknown-run" && cut:
		return hint{err, fmt.Sprintf("%s; `interlock explain %s` says why", what, explainedBy(problem))}
	}
	return err
}

// explainedBy returns the arguments of explain for the run that a request named.
func explainedBy(p *client.Problem) string {
	_, run, _ := strings.Cut(p.Instance, "/runs/")
	if parts := strings.Split(run, "/"); len(parts) >= 3 {
		return fmt.Sprintf("%s --date %s", parts[0], parts[2])
	}
	return "PIPELINE --date PERIOD"
}

// hint is an error with another text.
type hint struct {
	error
	text string
}

func (h hint) Error() string { return h.text }
func (h hint) Unwrap() error { return h.error }

// remoteCode returns the exit code for a server's answer. ok is false if err did not come from the
// server.
func remoteCode(err error) (code int, ok bool) {
	_, unreachable := errors.AsType[*client.UnreachableError](err)
	_, noTables := errors.AsType[*dynamo.UnreachableError](err)
	problem, answered := errors.AsType[*client.Problem](err)
	switch {
	case unreachable, noTables, errors.Is(err, archive.ErrAway):
		return exitUnreachable, true
	case !answered:
		return 0, false
	case problem.Status >= http.StatusInternalServerError:
		return exitUnreachable, true
	case problem.Status == http.StatusBadRequest || problem.Status == http.StatusRequestEntityTooLarge:
		return exitUsage, true
	default:
		return exitNo, true
	}
}

// warn prints a warning to stderr: the command has done what it was asked to do, and that may not be
// what was meant.
func (a *app) warn(text string) {
	fmt.Fprintf(a.stderr, "%s %s\n", a.errStyle.yellow("interlock: warning:"), printable(text))
}

// maxName is the maximum length of the name of a person or a worker on the server.
const maxName = 200

// person returns the user's name, for the audit log.
func (a *app) person() string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if who := a.getenv(name); who != "" && len(who) <= maxName {
			return who
		}
	}
	return ""
}

// arguments accepts exactly the named arguments, one or two.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s needs %s", below(cmd), names[len(args)])
		}
		if len(args) > len(names) {
			return usagef("%s takes no more than %s, but got %q", below(cmd), strings.Join(names, " and "), args[len(names)])
		}
		return nil
	}
}

// below returns the name of a command without the program's name: "sensor get".
func below(cmd *cobra.Command) string {
	if cmd.Parent() == nil || cmd.Parent() == cmd.Root() {
		return cmd.Name()
	}
	return below(cmd.Parent()) + " " + cmd.Name()
}

// group returns a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("%s has no command %q%s", below(cmd), args[0], document.Choice(args[0], commandNames(cmd)))
		}
		return nil
	}, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}
