package main

import (
	"bytes"
	"cmp"
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
			"--follow, wait for the job to start and print new output. If the attempt fails and is retried, continue with the\n" +
			"next one, after a line on stderr that says so; exit when the run ends. With --attempt, exit when that attempt ends.\n" +
			"As JSON, --follow prints one object per line, each with the attempt and its whole output.",
		Example: "  interlock logs orders/stream/2026-03-03 --follow\n" +
			"  interlock logs orders --date 2026-03-03 --attempt 1",
		Args: arguments("RUN"),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new output until the run ends or Ctrl-C")
	cmd.Flags().Var(attempt, "attempt", "the attempt (default the latest); with --follow, only this one")
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
		l.only = l.query.Attempt > 0
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
	client  *connection
	key     client.RunKey
	query   client.OutputQuery
	only    bool // only the attempt in query, not the next ones
	json    bool
	shown   string // the end of the printed output of this attempt
	printed string // the latest line of JSON
	noted   string // the latest note
	absent  int    // how often there was no such run or attempt
}

// follow prints output as it arrives, until the run ends. It returns an error only for the first
// request; after that, it reports an unreachable server and retries.
func (l *logs) follow(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for first := true; ; first = false {
		asked := l.query
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
		case l.query.Seen != asked.Seen || l.query.Attempt != asked.Attempt:
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
	if problem, ok := errors.AsType[*client.Problem](err); ok && problem.Type == "urn:interlock:problem:unknown-run" {
		return l.await(ctx, err)
	}
	if err != nil {
		return false, err
	}
	answer, changed := l.client.answer, out.Seen != l.query.Seen || !out.Running
	var r client.RunDetail
	if !out.Running {
		if r, err = l.client.Run(ctx, l.key); err != nil {
			return false, err
		}
		if r.Attempt == out.Attempt && unstarted(r.Status) {
			l.note("waiting for the job to start")
			return true, nil
		}
	}
	// From now on, request this attempt only: the output of a retry must not look like a
	// continuation.
	l.query = client.OutputQuery{Attempt: out.Attempt, Seen: out.Seen, Follow: logsHold}
	if l.json && changed {
		var line bytes.Buffer
		if err := json.Compact(&line, answer); err != nil {
			return false, fmt.Errorf("print the answer: %w", err)
		}
		if line.String() != l.printed { // an attempt that has ended is asked for until the next one begins
			l.printed = line.String()
			fmt.Fprintln(l.stdout, escapedJSON(l.printed))
		}
	} else if !l.json {
		l.more(out)
	}
	if out.Running {
		return true, l.flush()
	}
	return l.proceed(r, out.Attempt), l.flush()
}

// opening is how often follow asks again for a run or an attempt that does not exist.
const opening = 5

// await waits for a run or an attempt that does not exist; why is the answer that says so. Either may
// be about to open: a reading is handled just after its write was acknowledged. It gives up after a
// while, unless the run goes on and may still reach the attempt.
func (l *logs) await(ctx context.Context, why error) (bool, error) {
	r, err := l.client.Run(ctx, l.key)
	if err != nil || runOver(r.Status) {
		if l.absent++; l.absent > opening {
			return false, why
		}
	}
	what := "run to open"
	if err == nil {
		what = fmt.Sprintf("start of attempt %d", l.query.Attempt)
	}
	l.note("waiting for the " + what)
	return true, nil
}

// unstarted reports whether a run's latest attempt has not ended: if it has no output, its job has
// not started, or started after the output was read.
func unstarted(s client.Status) bool {
	return s == client.Pending || s == client.Triggering || s == client.Running
}

// runOver reports whether a run has ended.
func runOver(s client.Status) bool {
	return slices.Contains([]client.Status{client.Completed, client.FailedFinal, client.ValidationExhausted, client.Cancelled}, s)
}

// proceed says what follows the end of an attempt, and reports whether that is another attempt or
// not known yet.
func (l *logs) proceed(r client.RunDetail, attempt int) bool {
	switch {
	case l.only:
		return false
	case r.Attempt > attempt:
		result := "ended"
		if i := slices.IndexFunc(r.Attempts, func(a client.Attempt) bool { return a.Attempt == attempt }); i >= 0 {
			result = howEnded(r.Attempts[i])
		}
		l.note(fmt.Sprintf("attempt %d %s; attempt %d follows", attempt, result, attempt+1))
		l.query, l.shown = client.OutputQuery{Attempt: attempt + 1, Follow: logsHold}, ""
		return true
	}
	return !runOver(r.Status)
}

// howEnded says how an attempt ended.
func howEnded(a client.Attempt) string {
	text := map[string]string{"success": "succeeded", "fail": "failed", "timeout": "timed out"}[orZero(a.Result)]
	if text = cmp.Or(text, "ended"); orZero(a.Message) != "" {
		text += " (" + *a.Message + ")"
	}
	return text
}

// more prints the output that earlier answers did not contain.
func (l *logs) more(out client.RunOutput) {
	if out.Running && !out.Live {
		l.note(unreadable)
	}
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
