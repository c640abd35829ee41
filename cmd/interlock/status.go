package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [PIPELINE]",
		Short: "Show the state of pipelines",
		Example: "  interlock status\n" +
			"  interlock status orders",
		Args: atMostOne("PIPELINE"),
	}
	limit := addLimit(cmd, 0)
	return a.watchable(cmd, func(ctx context.Context, c *connection, args []string) error {
		if len(args) == 1 {
			p, err := c.Pipeline(ctx, args[0], c.raw())
			return c.show(err, func() { a.writePipeline(p) })
		}
		l, err := read(c, limit, func(p client.Paging) (client.Page[client.Pipeline], error) {
			return c.Pipelines(ctx, p, c.raw())
		})
		if err != nil {
			return err
		}
		needs, err := c.Attention(ctx, client.AttentionQuery{Paging: client.Paging{Limit: 1}})
		return showList(c, l, err, func(pipelines []client.Pipeline) {
			a.writePipelines(pipelines)
			a.more(l.next, "pipelines")
			a.writeNeeds(needs.Total)
		})
	})
}

func (a *app) writePipelines(pipelines []client.Pipeline) {
	if len(pipelines) == 0 {
		fmt.Fprintln(a.stdout, "There are no pipelines. Put a file into the server's pipelines directory; `interlock init` writes examples.")
		return
	}
	s := a.outStyle
	var rows [][]cell
	for _, p := range pipelines {
		period, status, attempt := "–", plain("–"), "–"
		if r := p.LastRun; r != nil {
			period, status, attempt = r.Date, a.statusCell(*r), fmt.Sprint(r.Attempt)
		}
		next := comingFire(p)
		rows = append(rows, []cell{
			{p.ID, s.bold},
			a.stateCell(p), plain(period), status, plain(a.tableTime(next.BreachAt)), plain(a.tableTime(next.FireAt)),
			plain(fmt.Sprint(p.OpenRuns)), plain(attempt),
		})
	}
	a.sheet([]column{col("PIPELINE"), col("STATE"), col("LAST PERIOD"), col("STATUS"), extraCol("DUE BY"), extraCol("NEXT FIRE"), extraCol("OPEN RUNS"), extraCol("ATTEMPT")}, rows)
	fmt.Fprintf(a.stdout, "\n%s\n", stateCounts(pipelines))
	a.writeAttention(pipelines...)
	a.writePauseAll(pipelines)
	for _, p := range shareProblems(pipelines) {
		a.writeTrouble(p)
	}
}

// shareProblems shows a problem that several pipelines have, such as an unreadable folder, only on
// the first of them, with the number of the others.
func shareProblems(pipelines []client.Pipeline) []client.Pipeline {
	count := map[string]int{}
	for _, p := range pipelines {
		for _, problem := range p.Problems {
			count[problem]++
		}
	}
	all := slices.Clone(pipelines)
	for i := range all {
		var problems []string
		for _, problem := range all[i].Problems {
			n := count[problem] - 1
			count[problem] = 0
			switch {
			case n > 0:
				problems = append(problems, fmt.Sprintf("%s (and %s)", problem, plural(n, "more pipeline")))
			case n == 0:
				problems = append(problems, problem)
			}
		}
		all[i].Problems = problems
	}
	return all
}

// comingFire returns the next fire that opens a run. A fire during a pause does not count.
func comingFire(p client.Pipeline) client.NextFire {
	if fire := p.Next.FireAt; p.Pause.Paused && fire != nil && (p.Pause.Until == nil || p.Pause.Until.After(*fire)) {
		return client.NextFire{}
	}
	return p.Next
}

// conditionOf returns a pipeline's state in one word; needing attention takes precedence.
func conditionOf(p client.Pipeline) string {
	switch {
	case len(p.Attention) > 0:
		return p.Attention[0].Code
	case p.State == client.StateOK && p.DryRun:
		return "dry run"
	}
	return string(p.State)
}

// stateCounts counts pipelines by their state.
func stateCounts(pipelines []client.Pipeline) string {
	counts := map[string]int{}
	for _, p := range pipelines {
		if len(p.Attention) > 0 {
			counts[needAttention]++
		} else {
			counts[conditionOf(p)]++
		}
	}
	var parts []string
	for _, state := range []string{"ok", "dry run", "paused", "degraded", "rejected", "removed", needAttention} {
		if n := counts[state]; n == 1 && state == needAttention {
			parts = append(parts, "1 needs attention")
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return plural(len(pipelines), "pipeline") + ": " + strings.Join(parts, ", ")
}

const needAttention = "need attention"

// writeAttention lists the runs that need attention. writeTrouble prints the problems of files.
func (a *app) writeAttention(pipelines ...client.Pipeline) {
	var rows [][]cell
	var key client.RunKey
	for _, p := range pipelines {
		for _, n := range p.Attention {
			if n.Schedule == nil || n.Date == nil {
				continue
			}
			key = client.RunKey{Pipeline: p.ID, Schedule: *n.Schedule, Date: *n.Date}
			rows = append(rows, []cell{{key.String(), a.outStyle.bold}, {n.Code, a.outStyle.red}, plain(a.tableTime(n.Since)), plain(n.Reason)})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout)
		a.sheet([]column{col("NEEDS ATTENTION"), col("WHAT"), extraCol("SINCE"), wrapCol("REASON")}, rows)
		of := "PIPELINE --date PERIOD"
		if len(rows) == 1 {
			of = fmt.Sprintf("%s --date %s", key.Pipeline, key.Date)
		}
		fmt.Fprintf(a.stdout, "`interlock explain %s` shows why, and what to do.\n", of)
	}
}

// writeTrouble says why a pipeline's file is not active, and whether the pipeline is paused.
func (a *app) writeTrouble(p client.Pipeline) {
	if len(p.Problems) > 0 {
		fmt.Fprintf(a.stdout, "\n%s is %s:\n", p.ID, p.State)
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(a.stdout, "  - %s\n", printable(problem))
	}
	if p.Pause.Paused {
		fmt.Fprintf(a.stdout, "%s is %s\n", p.ID, pausedText(p.Pause))
	}
}

// writePauseAll describes the pause of all pipelines, if there is one.
func (a *app) writePauseAll(pipelines []client.Pipeline) {
	i := slices.IndexFunc(pipelines, func(p client.Pipeline) bool { return p.PauseAll.Paused })
	if i >= 0 {
		fmt.Fprintf(a.stdout, "all pipelines are %s\n", pausedText(pipelines[i].PauseAll))
	}
}

// pausedText says who paused a pipeline, when, why and until when.
func pausedText(p client.Pause) string {
	text := "paused"
	if p.By != nil {
		text += " by " + *p.By
	}
	if p.Since != nil {
		text += " since " + shortTime(p.Since)
	}
	if p.Until != nil {
		text += " until " + shortTime(p.Until)
	}
	if p.HoldSLA {
		text += ", deadlines cancelled"
	}
	if p.Why != nil {
		text += ": " + *p.Why
	}
	return printable(text)
}

func (a *app) writePipeline(p client.Pipeline) {
	s := a.outStyle
	state := a.stateCell(p)
	fmt.Fprintf(a.stdout, "%s  %s\n", s.bold(p.ID), state.paint(state.text))
	if p.Description != "" {
		fmt.Fprintln(a.stdout, printable(p.Description))
	}
	fmt.Fprintln(a.stdout)
	a.facts(
		fact("owner", p.Owner),
		fact("tags", tagsText(p.Tags)),
		fact("opens by", opensText(p)),
		fact("job", jobText(p)),
		fact("file", fileText(p)),
		fact("next fire", fireText(comingFire(p))),
		fact("last run", lastRunText(p.LastRun)),
		fact("open runs", fmt.Sprint(p.OpenRuns)),
	)
	a.writeAttention(p)
	if p.Pause.Paused || p.PauseAll.Paused {
		fmt.Fprintln(a.stdout)
		a.writePauseAll([]client.Pipeline{p})
	}
	a.writeTrouble(p)
}

func tagsText(tags map[string]string) string {
	var parts []string
	for name, value := range tags {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func opensText(p client.Pipeline) string {
	if p.Schedule == nil {
		return ""
	}
	text := *p.Schedule
	if len(p.After) > 0 {
		text += ", after " + strings.Join(p.After, ", ")
	}
	if p.Period != nil && p.Timezone != nil {
		text += fmt.Sprintf("; one run per %s, %s", *p.Period, *p.Timezone)
	}
	return text
}

func jobText(p client.Pipeline) string {
	text := "none: results are reported from outside"
	switch {
	case p.State == client.StateRejected || p.State == client.StateRemoved:
		return ""
	case p.JobType != nil:
		text = *p.JobType
	}
	if p.MaxActive > 0 {
		text += fmt.Sprintf(", at most %d at once", p.MaxActive)
	}
	if p.DryRun {
		text += "; dry run, starts no job"
	}
	return text
}

func fileText(p client.Pipeline) string {
	if p.File == nil || p.Version == nil {
		return ""
	}
	return fmt.Sprintf("%s, version %s since %s", *p.File, *p.Version, shortTime(p.AcceptedAt))
}

func fireText(n client.NextFire) string {
	if n.FireAt == nil {
		return ""
	}
	text := fmt.Sprintf("%s for %s", shortTime(n.FireAt), orDash(n.Date))
	if n.BreachAt != nil {
		text += ", due by " + shortTime(n.BreachAt)
	}
	return text
}

func lastRunText(r *client.Run) string {
	if r == nil {
		return "none yet"
	}
	text := fmt.Sprintf("%s: %s, attempt %d", r.Key(), statusText(*r), r.Attempt)
	if reason := reasonText(*r); reason != "" {
		text += ": " + reason
	}
	return text
}

func (a *app) stateCell(p client.Pipeline) cell {
	paint := a.outStyle.yellow
	switch {
	case len(p.Attention) > 0:
		paint = a.outStyle.red
	case p.State == client.StateOK:
		paint = a.outStyle.green
	}
	return cell{conditionOf(p), paint}
}

func (a *app) statusCell(r client.Run) cell {
	paint := a.outStyle.yellow
	switch r.Status {
	case client.Completed:
		paint = a.outStyle.green
	case client.Failed, client.FailedFinal, client.ValidationExhausted, client.JobPollExhausted:
		paint = a.outStyle.red
	case client.Pending, client.Triggering, client.Running, client.Cancelled:
	}
	if r.Phase == phaseHeld || r.Phase == phaseUnread {
		paint = a.outStyle.red
	}
	return cell{statusText(r), paint}
}
