// Package command is the job type that runs a program on the controller's own machine, in a way
// that survives the controller: see Type and Keep. It starts processes and knows nothing about
// runs; other packages decide what a result means for an attempt.
package command

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/program"
)

// KeeperArg is the argument that makes a process of the binary a keeper.
const KeeperArg = "__keep"

// Options say where and how commands run.
type Options struct {
	Jobs   string                   // the directory of jobs; created on first use
	Getenv func(name string) string // the server's environment
	Grace  time.Duration            // between SIGTERM and SIGKILL; default 10 s
	// Programs reports whether and as which user commands run.
	Programs program.Policy
}

// Config is job.config of a command.
type Config struct {
	Command document.TextOrList      `yaml:"command" required:"true" doc:"The program and its arguments, as one text or as a list of words."`
	Shell   bool                     `yaml:"shell" default:"false" doc:"Pass the text to /bin/sh -c instead of splitting it into words."`
	Env     map[string]document.Text `yaml:"env" doc:"Environment variables, in addition to the few that every command gets."`
	Dir     string                   `yaml:"dir" doc:"The working directory. Default, and base of a relative path: the project directory of the pipeline file."`
	Timeout document.Duration        `yaml:"timeout" above:"0s" doc:"How long the command may run before it is stopped and fails with the category TIMEOUT; default no limit."`
}

// Argv returns the arguments to execute: the words of the command, or a shell with its text.
func (c *Config) Argv() ([]string, error) {
	if c.Shell {
		return append([]string{"/bin/sh", "-c"}, c.Command.Values...), nil
	}
	return c.Command.Words()
}

// PutWords splits the text into words before it expands variables, so that each value stays within
// its word. A shell gets the whole text and splits it itself.
func (c *Config) PutWords(raw document.Node, put func(text string) (string, error)) error {
	if c.Shell || !c.Command.IsText {
		return nil
	}
	node, _ := raw.Get("command")
	var written document.TextOrList
	written.DecodeNode(node) // it was decoded before
	words, err := written.Words()
	if err != nil {
		return err
	}
	filled := make([]string, len(words))
	for i, word := range words {
		if filled[i], err = put(word); err != nil {
			return err
		}
	}
	c.Command = document.TextOrList{Values: filled}
	return nil
}

func (c *Config) Check() []document.Finding {
	return append(c.checkCommand(), c.checkEnv()...)
}

func (c *Config) checkCommand() []document.Finding {
	wrong := func(message string) []document.Finding {
		return []document.Finding{{Path: "command", Message: message}}
	}
	if !c.Command.IsText && c.Command.Values == nil {
		return nil // missing, which is reported already
	}
	if !c.Command.IsText && c.Shell {
		return []document.Finding{{Path: "command", Message: "with shell it must be one text, not a list; write it as text or remove shell", Also: []string{"shell"}}}
	}
	argv, err := c.Argv()
	switch {
	case err != nil:
		return wrong(err.Error())
	case len(argv) == 0 || strings.TrimSpace(argv[0]) == "" || c.Shell && strings.TrimSpace(argv[len(argv)-1]) == "":
		return wrong("names no program; write it with its arguments, such as [python, load.py]")
	case strings.ContainsRune(strings.Join(argv, ""), 0):
		return wrong("contains a NUL character, which cannot be passed to a program")
	}
	return nil
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (c *Config) checkEnv() []document.Finding {
	var findings []document.Finding
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		at := document.KeyPath("env", name)
		switch {
		case !envName.MatchString(name):
			findings = append(findings, document.Finding{Path: at, Key: true, Message: fmt.Sprintf("%q is not a variable name; use letters, digits and _, starting with a letter or _", name)})
		case strings.HasPrefix(name, "INTERLOCK_"):
			findings = append(findings, document.Finding{Path: at, Key: true, Message: "names that start with INTERLOCK_ are reserved; choose another"})
		case strings.ContainsRune(string(c.Env[name]), 0):
			findings = append(findings, document.Finding{Path: at, Message: "contains a NUL character, which cannot be passed to a program"})
		}
	}
	return findings
}

// maxAWSTimeout leaves the orchestrator's function time to record the outcome.
const maxAWSTimeout = document.Duration(100 * time.Second)

// AWSFindings checks the limits of the AWS platform, where a command runs inside the orchestrator's
// function.
func (c *Config) AWSFindings() []document.Finding {
	findings := []document.Finding{{
		Path: "command", Severity: document.Warning,
		Message: "on AWS a command runs inside the orchestrator function and dies with it; prefer lambda, glue or another job type",
	}}
	switch {
	case c.Timeout == 0:
		findings = append(findings, document.Finding{Path: "timeout", Message: "is required on AWS: at most 100s"})
	case c.Timeout > maxAWSTimeout:
		findings = append(findings, document.Finding{Path: "timeout", Message: fmt.Sprintf("is %s; on AWS it must be at most 100s", c.Timeout)})
	}
	return findings
}
