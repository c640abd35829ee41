package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

// writeRun prints everything that is stored about a run.
func (a *app) writeRun(r client.RunDetail) {
	status := a.statusCell(r.Run)
	fmt.Fprintf(a.stdout, "%s  %s\n\n", a.outStyle.bold(r.Key().String()), status.paint(status.text))
	a.facts(
		fact("attempt", fmt.Sprint(r.Attempt)),
		fact("reason", reasonText(r.Run)),
		fact("held since", someTime(r.HeldSince)),
		fact("started without", strings.Join(r.Degraded, ", ")),
		fact("requested by", askedText(r.Run)),
		fact("opened", someTime(r.OpenedAt)),
		fact("started", someTime(r.StartedAt)),
		fact("ended", someTime(r.EndedAt)),
		fact("window", windowText(r.Run)),
		fact("job", orZero(r.Handle)),
		fact("file version", orZero(r.ConfigVersion)),
	)
	writeLeft(a.stdout, r.Run)
	a.writeAttempts(r.Attempts)
	a.writeGate(r.Gate)
	a.writeJobLog(r.JobLog)
	if len(r.Deadlines) > 0 {
		a.section("Deadlines")
		a.writeDeadlines(r.Deadlines)
	}
	a.writeReruns(r.Reruns)
	if n := len(r.Attempts); n > 0 {
		a.writeJobOutput(orZero(r.Attempts[n-1].Output))
	}
}

func (a *app) section(title string) { fmt.Fprintf(a.stdout, "\n%s\n", a.outStyle.bold(title)) }

func askedText(r client.Run) string {
	if r.RequestedBy == nil {
		return ""
	}
	text := *r.RequestedBy
	if r.RequestReason != nil {
		text += ": " + *r.RequestReason
	}
	if r.Forced {
		text += " (forced)"
	}
	if r.GateBypassed {
		text += " (gate bypassed)"
	}
	return text
}

// windowText says until when the gate of a waiting run is evaluated.
func windowText(r client.Run) string {
	if r.Status != client.Pending || r.WindowEnd == nil {
		return ""
	}
	text := "until " + someTime(r.WindowEnd)
	if r.NextEvaluation != nil {
		text += ", next evaluation at " + someTime(r.NextEvaluation)
	}
	return text
}

func (a *app) writeAttempts(attempts []client.Attempt) {
	if len(attempts) == 0 {
		return
	}
	a.section("Attempts")
	var rows [][]cell
	for _, t := range attempts {
		result := orDash(t.Result)
		if t.Category != nil {
			result += " " + *t.Category
		}
		rows = append(rows, []cell{
			plain(fmt.Sprint(t.Attempt)), plain(orDash(t.Cause)), plain(result), plain(a.tableTime(t.StartedAt)),
			plain(a.tableTime(t.EndedAt)), plain(a.tableTime(t.OpenedAt)), plain(orDash(t.RequestedBy)), plain(orDash(t.Message)),
		})
	}
	a.sheet([]column{col("ATTEMPT"), col("CAUSE"), col("RESULT"), extraCol("STARTED"), extraCol("ENDED"), extraCol("OPENED"), extraCol("BY"), wrapCol("MESSAGE")}, rows)
}

func (a *app) writeGate(g *client.Shown) {
	if g == nil {
		return
	}
	title := "Gate at the start, " + someTime(&g.At)
	if g.Live {
		title = "Gate now"
	}
	if g.Bypassed {
		title += " (bypassed by an operator)"
	}
	a.section(title)
	if len(g.Rules) == 0 {
		fmt.Fprintln(a.stdout, "There are no rules.")
	}
	fmt.Fprint(a.stdout, table(a.ruleRows(g.Rules)))
	for _, line := range timeLines(g.PreferUntil, g.OpensAt, g.Degraded) {
		fmt.Fprintf(a.stdout, "%s\n", line)
	}
	a.writeFiles(g.Files)
}

// writeFiles prints the files behind a start.
func (a *app) writeFiles(files []client.UsedFile) {
	if len(files) == 0 {
		return
	}
	a.section("Files at the start")
	var rows [][]cell
	for _, f := range files {
		rows = append(rows, []cell{plain(f.Kind), plain(f.File), plain(fmt.Sprintf("%.12s", f.Digest))})
	}
	a.sheet([]column{col("KIND"), col("FILE"), col("SHA-256")}, rows)
}

func (a *app) ruleRows(rules []client.Rule) [][]cell {
	var rows [][]cell
	for _, r := range rules {
		rows = append(rows, a.ruleRow(r))
	}
	return rows
}

func (a *app) ruleRow(r client.Rule) []cell {
	key, value, reason := r.Key, "–", r.Reason
	if r.From != nil {
		key = *r.From + ":" + key
	}
	if r.Value != nil {
		value = sensor.Literal(r.Value)
	}
	if r.Group != nil {
		reason += " [" + *r.Group + "]"
	}
	switch r.Level {
	case "advisory":
		reason += " (advisory: does not count)"
	case "preferred":
		reason += " (preferred)"
	}
	if r.UpdatedAt != nil {
		reason += ", written " + someTime(r.UpdatedAt)
	}
	if r.Source != nil {
		reason += " by " + *r.Source
	}
	return []cell{
		outcomeMark(rule.OutcomeOf(r.EffectiveOutcome), r.Level == "advisory", a.outStyle),
		{printable(key), a.outStyle.bold},
		plain(shorten(ruleText(r), conditionCells)),
		plain(shorten(value, valueCells)),
		plain(reason),
	}
}

// ruleText describes a rule's condition: `status equals "ready"`.
func ruleText(r client.Rule) string {
	a := rule.Asked{Check: rule.Check(r.Check), Field: orZero(r.Field), Value: r.Needs, Time: orZero(r.Time)}
	return a.Condition()
}

func (a *app) writeJobLog(entries []client.JobEntry) {
	if len(entries) == 0 {
		return
	}
	a.section("Job log")
	var rows [][]cell
	for _, e := range entries {
		what := e.Event
		if e.Category != nil {
			what += " " + *e.Category
		}
		rows = append(rows, []cell{
			plain(shortTime(&e.At)), plain(fmt.Sprint(e.Attempt)), plain(what), plain(orDash(e.By)), plain(orDash(e.Message)),
		})
	}
	a.sheet([]column{col("AT"), col("ATTEMPT"), col("EVENT"), extraCol("BY"), wrapCol("MESSAGE")}, rows)
}

func (a *app) writeReruns(reruns []client.Rerun) {
	if len(reruns) == 0 {
		return
	}
	a.section("Rerun requests")
	var rows [][]cell
	for _, r := range reruns {
		answer := cell{"rejected", a.outStyle.red}
		if r.Accepted {
			answer = cell{"accepted", a.outStyle.green}
		}
		rows = append(rows, []cell{
			plain(a.tableTime(&r.At)), plain(r.RequestedBy), answer, plain(shorten(r.Reason, reasonCells)), plain(r.Why),
		})
	}
	a.sheet([]column{col("AT"), col("BY"), col("ANSWER"), extraCol("REASON"), wrapCol("WHY")}, rows)
}

// writeJobOutput prints the end of a job's output.
func (a *app) writeJobOutput(text string) {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return
	}
	a.section("Last lines of the job's output")
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(a.stdout, "| "+printable(line))
	}
}

// writeLeft warns that the job of an ended run may still be running.
func writeLeft(w io.Writer, r client.Run) {
	switch {
	case r.JobStopping:
		fmt.Fprintf(w, "Its job has been stopping since %s. It keeps its slot, and a rerun is rejected, until it has ended.\n", someTime(r.EndedAt))
	case r.JobMayRun:
		fmt.Fprintln(w, "Its job could not be stopped and may still be running.")
	}
}
