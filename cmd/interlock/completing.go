package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

// completionLimit is how long a shell waits for the server.
const completionLimit = 2 * time.Second

// completer returns words that begin like the one that is being typed.
type completer func(begin string) []string

// addCompletions has the shell complete pipelines, runs, event types and contexts wherever a command takes one.
func addCompletions(root *cobra.Command, a *app) {
	byFlag := map[string]completer{
		"pipeline": a.completePipeline, "type": fixed(event.Types()), "context": a.completeContext, "status": fixed(statuses()),
	}
	byArgument := map[string]completer{"PIPELINE": a.completePipeline, "RUN": a.completeRun, "NAME": a.completeContext}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		for flag, complete := range byFlag {
			if cmd.Flags().Lookup(flag) != nil || cmd == root && cmd.PersistentFlags().Lookup(flag) != nil {
				// It fails only for a flag that does not exist, or that has its own already.
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

// completePipeline asks the server. One that does not answer completes nothing.
func (a *app) completePipeline(string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completionLimit)
	defer cancel()
	c, err := a.server()
	if err != nil {
		return nil
	}
	page, err := c.Pipelines(ctx, client.Paging{Limit: client.MaxPage})
	if err != nil {
		return nil
	}
	var ids []string
	for _, p := range page.Items {
		ids = append(ids, p.ID)
	}
	return ids
}

// completeRun lists the latest runs: of the pipeline, once its name is complete.
func (a *app) completeRun(begin string) []string {
	pipeline, _, named := strings.Cut(begin, "/")
	if !named {
		ids := a.completePipeline(begin)
		for i := range ids {
			ids[i] += "/"
		}
		return ids
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionLimit)
	defer cancel()
	c, err := a.server()
	if err != nil {
		return nil
	}
	page, err := c.Runs(ctx, client.RunQuery{Pipeline: pipeline, Paging: client.Paging{Limit: 50}})
	if err != nil {
		return nil
	}
	var keys []string
	for _, r := range page.Items {
		keys = append(keys, r.Key().String())
	}
	return keys
}

func (a *app) completeContext(string) []string {
	all, err := a.readContexts()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(all.Contexts))
}
