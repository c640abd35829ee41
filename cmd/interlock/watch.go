package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// watchPace is the interval of --watch.
const watchPace = 2 * time.Second

// clearScreen moves the cursor to the top left and clears the screen.
const clearScreen = "\x1b[H\x1b[2J"

// watchable is asking with a --watch flag, which repeats the request every two seconds until
// Ctrl-C. A terminal shows the latest answer; in a pipe, an answer is printed if it differs from
// the previous one.
func (a *app) watchable(cmd *cobra.Command, ask func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	var watch bool
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "refresh every 2 seconds until Ctrl-C")
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		if !watch {
			return ask(ctx, c, args)
		}
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		return a.watch(ctx, func(ctx context.Context) error { return ask(ctx, c, args) })
	})
}

// watch repeats ask until ctx ends. It returns an error only for the first request; after that, it
// reports an unreachable server and retries.
func (a *app) watch(ctx context.Context, ask func(context.Context) error) error {
	out := a.stdout
	defer func() { a.stdout = out }()
	var last string
	for first := true; ; first = false {
		var answer bytes.Buffer
		a.stdout = &answer
		err := ask(ctx)
		a.stdout = out
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !errors.Is(err, errNo) && first:
			return err
		case err != nil && !errors.Is(err, errNo):
			a.lost(err)
		case a.terminal:
			fmt.Fprint(out, clearScreen, answer.String())
		case answer.String() != last:
			if !first {
				fmt.Fprintln(out)
			}
			fmt.Fprint(out, answer.String())
		}
		if err == nil {
			last = answer.String()
		}
		if err := a.flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.after(watchPace):
		}
	}
}
