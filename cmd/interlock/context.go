package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/document"
)

// contexts is the contexts file: the servers that a user works with, by name.
type contexts struct {
	Current  string                   `yaml:"current,omitempty" json:"current"`
	Contexts map[string]serverContext `yaml:"contexts,omitempty" json:"contexts"`
}

// serverContext is one server and the source of its token. The token itself is never stored.
type serverContext struct {
	Server       string `yaml:"server" json:"server"`
	TokenEnv     string `yaml:"tokenEnv,omitempty" json:"tokenEnv,omitempty"`
	TokenCommand string `yaml:"tokenCommand,omitempty" json:"tokenCommand,omitempty"`
	CA           string `yaml:"ca,omitempty" json:"ca,omitempty"`
	Cert         string `yaml:"cert,omitempty" json:"cert,omitempty"`
	Key          string `yaml:"key,omitempty" json:"key,omitempty"`
}

// contextsFile returns the path of the contexts file: INTERLOCK_CONTEXTS, or
// interlock/contexts.yaml in the user's configuration directory.
func (a *app) contextsFile() (string, error) {
	if name := a.getenv("INTERLOCK_CONTEXTS"); name != "" {
		return name, nil
	}
	dir := a.getenv("XDG_CONFIG_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = a.getenv("APPDATA")
	}
	if home := a.getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	if dir == "" {
		return "", errors.New("the configuration directory is unknown: set HOME, XDG_CONFIG_HOME or INTERLOCK_CONTEXTS")
	}
	return filepath.Join(dir, "interlock", "contexts.yaml"), nil
}

// readContexts returns the stored contexts. There are none if the file does not exist or there is
// no home directory.
func (a *app) readContexts() (contexts, error) {
	c := contexts{Contexts: map[string]serverContext{}}
	name, err := a.contextsFile()
	if err != nil {
		return c, nil // without a home directory there are no contexts
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read the contexts: %w", err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("read the contexts in %s: %w; correct the file, or delete it and add the contexts again", name, err)
	}
	if c.Contexts == nil { // the file says null
		c.Contexts = map[string]serverContext{}
	}
	return c, nil
}

// editContexts applies edit to the stored contexts, replaces the file atomically, and prints the
// text that edit returns.
func (a *app) editContexts(edit func(all *contexts) (message string, err error)) error {
	all, err := a.readContexts()
	if err != nil {
		return err
	}
	message, err := edit(&all)
	if err != nil {
		return err
	}
	name, err := a.contextsFile()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := writeWhole(name, text); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, message)
	return nil
}

// find returns a context by name.
func (c contexts) find(name string) (serverContext, error) {
	found, ok := c.Contexts[name]
	if !ok {
		return found, usagef("there is no context %q%s", name, cmp.Or(document.DidYouMean(name, slices.Sorted(maps.Keys(c.Contexts))),
			fmt.Sprintf("; `interlock context list` lists them, `interlock context add %s --server URL` adds it", name)))
	}
	return found, nil
}

// token reads the context's token from the environment or from the output of its command.
func (c serverContext) token(a *app) (string, error) {
	switch {
	case c.TokenEnv != "":
		token := a.getenv(c.TokenEnv)
		if token == "" {
			return "", fmt.Errorf("the environment variable %s, which holds the context's token, is not set", c.TokenEnv)
		}
		return token, nil
	case c.TokenCommand != "":
		shell, flag := "sh", "-c"
		if runtime.GOOS == "windows" {
			shell, flag = "cmd", "/C"
		}
		cmd := exec.Command(shell, flag, c.TokenCommand)
		cmd.Stdin, cmd.Stderr = a.stdin, a.stderr // the command may ask for a password
		out, err := cmd.Output()
		token := strings.TrimSpace(string(out))
		if err != nil || token == "" {
			return "", fmt.Errorf("the context's token command %q printed no token: %w", c.TokenCommand, errors.Join(err, errNoToken(token)))
		}
		return token, nil
	}
	return "", nil
}

func errNoToken(token string) error {
	if token == "" {
		return errors.New("its output is empty")
	}
	return nil
}

func newContext(a *app) *cobra.Command {
	return group("context", "Manage the servers that you work with", newContextAdd(a), newContextUse(a), newContextList(a), newContextRemove(a))
}

func newContextAdd(a *app) *cobra.Command {
	var c serverContext
	cmd := &cobra.Command{
		Use: "add NAME --server URL", Short: "Add or replace a context",
		Long: "Add a context: a short name for a server and for where its token comes from. The token itself is never stored.\n" +
			"The first context becomes the current one. Contexts are stored in interlock/contexts.yaml in your\n" +
			"configuration directory; INTERLOCK_CONTEXTS names another file.",
		Example: "  interlock context add prod --server https://interlock.example.com --token-env PROD_TOKEN\n" +
			"  interlock context add prod --server https://interlock.example.com --token-command 'pass interlock/prod'",
		Args: arguments("NAME"),
	}
	addFilled(cmd, &c.TokenEnv, "token-env", "environment `VARIABLE` that holds the token")
	addFilled(cmd, &c.TokenCommand, "token-command", "`COMMAND` that prints the token, run by the shell")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case a.remote.server == "":
			return usagef("context add needs --server URL")
		case a.remote.token != "":
			return usagef("tokens are never stored; use --token-env or --token-command to say where the token comes from")
		case c.TokenEnv != "" && c.TokenCommand != "":
			return usagef("use --token-env or --token-command, not both")
		}
		c.Server, c.CA, c.Cert, c.Key = withScheme(a.remote.server), a.remote.ca, a.remote.cert, a.remote.key
		return a.editContexts(func(all *contexts) (string, error) {
			all.Contexts[args[0]] = c
			all.Current = cmp.Or(all.Current, args[0])
			return fmt.Sprintf("context %s is %s; the current context is %s", args[0], c.Server, all.Current), nil
		})
	}
	return cmd
}

func newContextUse(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Make a context the current one",
		Example: "  interlock context use prod", Args: arguments("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.editContexts(func(all *contexts) (string, error) {
				c, err := all.find(args[0])
				all.Current = args[0]
				return fmt.Sprintf("the current context is %s, %s", args[0], c.Server), err
			})
		},
	}
}

func newContextRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a context",
		Example: "  interlock context remove staging", Args: arguments("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.editContexts(func(all *contexts) (string, error) {
				_, err := all.find(args[0])
				delete(all.Contexts, args[0])
				if all.Current == args[0] {
					all.Current = ""
				}
				return fmt.Sprintf("context %s is removed", args[0]), err
			})
		},
	}
}

func newContextList(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the contexts", Example: "  interlock context list", Args: noArguments}
	format := addFormat(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		all, err := a.readContexts()
		if err != nil {
			return err
		}
		return a.print(format, all, func() { a.writeContextList(all) })
	}
	return cmd
}

func (a *app) writeContextList(all contexts) {
	if len(all.Contexts) == 0 {
		fmt.Fprintln(a.stdout, "There are no contexts. `interlock context add NAME --server URL` adds one.")
		return
	}
	var rows [][]cell
	for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
		mark, paint := "", a.outStyle.bold
		if name == all.Current {
			mark, paint = "*", a.outStyle.green
		}
		rows = append(rows, []cell{plain(mark), {name, paint}, plain(all.Contexts[name].Server), plain(all.Contexts[name].tokenText())})
	}
	a.sheet([]column{col(""), col("CONTEXT"), col("SERVER"), textCol("TOKEN")}, rows)
}

// tokenText says where the token comes from.
func (c serverContext) tokenText() string {
	switch {
	case c.TokenEnv != "":
		return "from $" + c.TokenEnv
	case c.TokenCommand != "":
		return "from `" + c.TokenCommand + "`"
	}
	return "–"
}
