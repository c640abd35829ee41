package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Print a completion script for your shell",
		Example:   "  source <(interlock completion bash)",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("completion needs the name of one shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			default:
				return usagef("there is no completion script for %q%s", args[0], document.Choice(args[0], shells))
			}
		},
	}
}

// completionLimit is how long a completion waits for the server.
const completionLimit = 2 * time.Second

// completer returns candidates for the word being typed, which starts with begin.
type completer func(begin string) []string

// addCompletions registers completions for pipelines, runs, event types and contexts on every
// command that accepts one.
func addCompletions(root *cobra.Command, a *app) {
	byFlag := map[string]completer{
		"pipeline": a.completePipeline, "type": fixed(event.Types()), "context": a.completeContext, "status": fixed(statuses()),
	}
	byArgument := map[string]completer{"PIPELINE": a.completePipeline, "RUN": a.completeRun, "PIPELINE|RUN": a.completePipelineOrRun, "NAME": a.completeContext}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		for flag, complete := range byFlag {
			if cmd.Flags().Lookup(flag) != nil || cmd == root && cmd.PersistentFlags().Lookup(flag) != nil {
				// Registering fails only if the flag does not exist or already has a completion.
				_ = cmd.RegisterFlagCompletionFunc(flag, complete.shell)
			}
		}
		words := strings.Fields(strings.Trim(cmd.Use, "[]"))
		if cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0 || len(words) < 2 || words[1] == "NAME" && (cmd.Parent() == nil || cmd.Parent().Name() != "context") {
			return
		}
		if complete, ok := byArgument[strings.Trim(words[1], "[]")]; ok {
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return complete.shell(cmd, args, begin)
			}
		}
	}
	visit(root)
}

func (c completer) shell(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
	words := slices.DeleteFunc(c(begin), func(word string) bool { return !strings.HasPrefix(word, begin) })
	return words, cobra.ShellCompDirectiveNoFileComp
}

func fixed(words []string) completer {
	return func(string) []string { return slices.Clone(words) }
}

func statuses() []string {
	var words []string
	for _, s := range run.Statuses() {
		words = append(words, string(s))
	}
	return words
}

// completeFrom calls read with a client of the server. If the server does not answer in time, there
// are no completions.
func (a *app) completeFrom(read func(context.Context, *client.Client) ([]string, error)) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completionLimit)
	defer cancel()
	c, err := a.server()
	if err != nil {
		return nil
	}
	words, err := read(ctx, c)
	if err != nil {
		return nil
	}
	return words
}

func (a *app) completePipeline(string) []string {
	return a.completeFrom(func(ctx context.Context, c *client.Client) (ids []string, err error) {
		page, err := c.Pipelines(ctx, client.Paging{Limit: client.MaxPage})
		for _, p := range page.Items {
			ids = append(ids, p.ID)
		}
		return ids, err
	})
}

// completeRun lists the latest runs; once the pipeline's name is complete, only runs of that
// pipeline.
func (a *app) completeRun(begin string) []string {
	pipeline, _, named := strings.Cut(begin, "/")
	if !named {
		ids := a.completePipeline(begin)
		for i := range ids {
			ids[i] += "/"
		}
		return ids
	}
	return a.completeFrom(func(ctx context.Context, c *client.Client) (keys []string, err error) {
		page, err := c.Runs(ctx, client.RunQuery{Pipeline: pipeline, Paging: client.Paging{Limit: 50}})
		for _, r := range page.Items {
			keys = append(keys, r.Key().String())
		}
		return keys, err
	})
}

// completePipelineOrRun lists pipelines or, once the pipeline's name is complete, its runs.
func (a *app) completePipelineOrRun(begin string) []string {
	if strings.Contains(begin, "/") {
		return a.completeRun(begin)
	}
	return a.completePipeline(begin)
}

func (a *app) completeContext(string) []string {
	all, err := a.readContexts()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(all.Contexts))
}
