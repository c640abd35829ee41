package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

const (
	mostAttempts = 10_000           // the highest attempt the server accepts
	logsHold     = 30 * time.Second // how long the server waits for more output
	keptLogs     = 128 << 10        // how much printed output is kept to compare with the next answer
)

func newLogs(a *app) *cobra.Command {
	var follow bool
	attempt := &count{most: mostAttempts}
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Print the output of a run's job, or follow it live",
		Long: "Print the last output of a run's job, at most 64 KiB, for the latest attempt or another one. With\n" +
			"--follow, wait for the job to start, print new output until the job ends, then exit. As JSON, --follow prints one\n" +
			"object per line, each with the whole output.",
		Example: "  interlock logs orders/stream/2026-03-03 --follow\n" +
			"  interlock logs orders --date 2026-03-03 --attempt 1",
		Args: arguments("RUN"),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new output until the job ends or Ctrl-C")
	cmd.Flags().Var(attempt, "attempt", "the attempt (default the latest)")
	flags := addRunFlags(cmd)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		key, err := flags.key(ctx, c.Client, args[0])
		if err != nil {
			return err
		}
		l := &logs{app: a, client: c, key: key, json: c.format.value == jsonFormat}
		if l.query.Attempt = attempt.value; attempt.value == 0 {
			l.query.Attempt = attemptOf(args[0])
		}
		if follow {
			return l.follow(ctx)
		}
		out, err := c.Output(ctx, key, l.query, c.raw())
		return c.show(err, func() {
			l.print(out.Output)
			l.end(out)
		})
	})
}

// attemptOf returns the attempt number at the end of RUN, as in events and emails, or 0.
func attemptOf(run string) int {
	parts := strings.Split(run, "/")
	if len(parts) != 4 {
		return 0
	}
	n, _ := strconv.Atoi(parts[3]) // RUN was already validated
	return n
}

// logs prints the output of a run's job.
type logs struct {
	*app
	client *connection
	key    client.RunKey
	query  client.OutputQuery
	json   bool
	shown  string // the end of the printed output
	noted  string // the latest note
}

// follow prints output as it arrives, until the job ends. It returns an error only for the first
// request; after that, it reports an unreachable server and retries.
func (l *logs) follow(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for first := true; ; first = false {
		seen := l.query.Seen
		goesOn, err := l.next(ctx)
		_, away := errors.AsType[*client.UnreachableError](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || !away):
			return err
		case err != nil:
			l.lost(err)
		case !goesOn:
			return nil
		case l.query.Seen != seen:
			continue // the server holds the request until there is more
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.after(watchPace):
		}
	}
}

// next requests new output and prints it. It reports whether there may be more.
func (l *logs) next(ctx context.Context) (bool, error) {
	out, err := l.client.Output(ctx, l.key, l.query, l.client.raw())
	if err != nil {
		return false, err
	}
	changed := out.Seen != l.query.Seen || !out.Running
	if out.Running && !out.Live {
		l.note(unreadable)
	}
	if !out.Running && out.Output == "" {
		starts, err := l.starts(ctx, out.Attempt)
		if err != nil {
			return false, err
		}
		if starts {
			l.note("waiting for the job to start")
			return true, nil
		}
	}
	// From now on, request this attempt only: the output of a retry must not look like a
	// continuation.
	l.query = client.OutputQuery{Attempt: out.Attempt, Seen: out.Seen, Follow: logsHold}
	switch {
	case l.json && changed:
		var line bytes.Buffer
		if err := json.Compact(&line, l.client.answer); err != nil {
			return false, fmt.Errorf("print the answer: %w", err)
		}
		fmt.Fprintln(l.stdout, line.String())
	case !l.json:
		l.more(out)
	}
	return out.Running, l.flush()
}

// starts reports whether the attempt's job has not started yet, or started after its output was
// read.
func (l *logs) starts(ctx context.Context, attempt int) (bool, error) {
	r, err := l.client.Run(ctx, l.key)
	return err == nil && r.Attempt == attempt && slices.Contains([]client.Status{client.Pending, client.Triggering, client.Running}, r.Status), err
}

// more prints the output that earlier answers did not contain.
func (l *logs) more(out client.RunOutput) {
	fresh, gap := since(l.shown, out.Output)
	if gap {
		l.note("some output is missing here: the job prints faster than the output is read")
	}
	l.print(fresh)
	l.shown += fresh
	l.shown = l.shown[max(0, len(l.shown)-keptLogs):]
	if !out.Running {
		l.end(out)
	}
}

// since returns the part of now that comes after before; both are the end of a growing text. gap
// reports that they do not overlap, so some output may be missing. The stored output of an ended
// job may be shorter than the output already shown.
func since(before, now string) (fresh string, gap bool) {
	if strings.Contains(before, strings.TrimSpace(now)) {
		return "", false
	}
	for i := range before {
		if strings.HasPrefix(now, before[i:]) {
			return now[len(before)-i:], false
		}
	}
	return now, before != ""
}

func (l *logs) print(text string) { fmt.Fprint(l.stdout, printableLines(text)) }

// end finishes the last line, or says why there is no output.
func (l *logs) end(out client.RunOutput) {
	text := out.Output + l.shown
	switch {
	case text != "" && !strings.HasSuffix(text, "\n"):
		fmt.Fprintln(l.stdout)
	case text != "":
	case out.Running && !out.Live:
		l.note(unreadable)
	case out.Running:
		l.note("the job has printed nothing yet")
	default:
		l.note(fmt.Sprintf("there is no output of attempt %d of %s", out.Attempt, l.key))
	}
}

const unreadable = "the output of this job cannot be read while it runs"

// note prints a note to stderr, unless it repeats the latest one.
func (l *logs) note(text string) {
	if l.noted == text {
		return
	}
	l.noted = text
	fmt.Fprintln(l.stderr, l.errStyle.dim(printable("interlock: "+text)))
}
