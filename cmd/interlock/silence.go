package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newSilence(a *app) *cobra.Command {
	return group("silence", "Silence alerts for a while; the events are still recorded",
		newSilenceAdd(a), newSilenceList(a), newSilenceEnd(a))
}

func newSilenceAdd(a *app) *cobra.Command {
	var q client.SilenceRequest
	var length string
	var until instant
	cmd := &cobra.Command{
		Use: "add --pipeline PATTERN --for DURATION --reason WHY", Short: "Silence alerts about some pipelines for a while",
		Long: "Hold back alerts about some pipelines for a while, such as during maintenance. Nothing is hidden: the events are\n" +
			"recorded, and `interlock events` shows which silence held back the alert.",
		Example: "  interlock silence add --pipeline 'silver-*' --for 2h --reason 'source is moved'\n" +
			"  interlock silence add --pipeline orders --type SLA_WARNING --for 1d --reason 'known to be late'",
		Args: noArguments,
	}
	addFilled(cmd, &q.Pipeline, "pipeline", "`PATTERN` of pipeline ids, with * for any characters")
	addFilled(cmd, &q.Type, "type", "only events of this `TYPE`, such as SLA_WARNING")
	addFilled(cmd, &length, "for", "end automatically after this `DURATION`, at most 30d")
	cmd.Flags().Var(&until, "until", "end automatically at this time")
	addReason(cmd, &q.Reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		var err error
		if q.Until, err = endOf(length, until); err != nil {
			return err
		}
		switch {
		case q.Pipeline == "":
			return usagef("silence add needs --pipeline, such as --pipeline 'silver-*'")
		case q.Until == "":
			return usagef("silence add needs --for or --until, because every silence must end")
		case blank(q.Reason):
			return usagef("silence add needs --reason")
		}
		q.RequestedBy = a.person()
		s, err := c.Silence(ctx, q, c.raw())
		if err == nil && !strings.ContainsAny(q.Pipeline, `*?[\`) {
			if _, missing := c.Pipeline(ctx, q.Pipeline); missing != nil { // a misspelt id silences nothing
				a.warn(missing.Error())
			}
		}
		return c.show(err, func() {
			fmt.Fprintf(a.stdout, "silence %s holds back alerts about %s until %s\n", s.ID, silenced(s), shortTime(&s.Until))
		})
	})
}

// silenced describes the alerts that a silence covers.
func silenced(s client.Silence) string {
	if s.Type != nil {
		return printable(s.Pipeline + " of type " + *s.Type)
	}
	return printable(s.Pipeline)
}

func newSilenceList(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List active silences and how many alerts they held back",
		Example: "  interlock silence list --all", Args: noArguments,
	}
	cmd.Flags().BoolVar(&all, "all", false, "include ended silences")
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		silences, err := c.Silences(ctx, all, c.raw())
		return c.show(err, func() { a.writeSilences(silences, all) })
	})
}

func (a *app) writeSilences(silences []client.Silence, all bool) {
	if len(silences) == 0 {
		if all {
			fmt.Fprintln(a.stdout, "There are no silences.")
		} else {
			fmt.Fprintln(a.stdout, "No silence is active. `--all` lists ended ones.")
		}
		return
	}
	var rows [][]cell
	for _, s := range silences {
		rows = append(rows, []cell{
			{s.ID, a.outStyle.bold},
			plain(silenced(s)), a.silenceState(s), plain(a.tableTime(&s.Until)), plain(s.RequestedBy),
			plain(a.tableTime(&s.Since)), plain(fmt.Sprint(s.Suppressed)), plain(s.Reason + endedText(s)),
		})
	}
	a.sheet([]column{col("SILENCE"), col("ABOUT"), col("STATE"), col("UNTIL"), extraCol("BY"), extraCol("SINCE"), extraCol("HELD BACK"), wrapCol("REASON")}, rows)
}

func (a *app) silenceState(s client.Silence) cell {
	switch {
	case s.Active:
		return cell{"active", a.outStyle.yellow}
	case s.EndedAt != nil:
		return plain("ended")
	}
	return plain("over")
}

// endedText says who ended a silence early, and why.
func endedText(s client.Silence) string {
	if s.EndedAt == nil {
		return ""
	}
	return fmt.Sprintf("; ended %s by %s: %s", shortTime(s.EndedAt), orDash(s.EndedBy), orDash(s.EndedReason))
}

func newSilenceEnd(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "end SILENCE", Short: "End a silence early",
		Example: "  interlock silence end s-1f2e3d4c --reason 'done early'", Args: arguments("a SILENCE"),
	}
	addReason(cmd, &reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		s, err := c.EndSilence(ctx, args[0], a.asked(reason), c.raw())
		return c.show(err, func() {
			if s.EndedAt == nil {
				fmt.Fprintf(a.stdout, "silence %s had already ended at %s\n", s.ID, shortTime(&s.Until))
				return
			}
			fmt.Fprintf(a.stdout, "silence %s has ended\n", s.ID)
		})
	})
}
