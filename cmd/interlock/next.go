package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/sla"
)

const (
	defaultSlots = 10
	mostSlots    = 10000
	// lastYear is the last year in RFC 3339.
	lastYear = 9999
)

type nextFlags struct {
	from    instantOrDay
	count   count
	folders *folderFlags
	format  *choice
}

func newNext(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "next FILE",
		Short: "List a pipeline's next periods, fires and deadlines",
		Long: "List the next periods of a pipeline: when each fires, when its deadline warns and breaches,\n" +
			"and which of them the calendar excludes. Times are in the pipeline's zone and in UTC, which\n" +
			"shows the effect of clock changes.",
		Example: "  interlock next pipelines/orders.yaml --from 2026-03-06 --count 5",
		Args:    oneFile,
	}
	f := &nextFlags{count: count{value: defaultSlots, most: mostSlots}}
	cmd.Flags().Var(&f.from, "from", "list periods at or after this time, RFC 3339 or a date (default now)")
	cmd.Flags().Var(&f.count, "count", "how many to list")
	f.folders = addFolderFlags(cmd)
	f.format = addFormat(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.next(args[0], f) }
	return cmd
}

func (a *app) next(file string, f *nextFlags) error {
	def, err := a.loadOne(file, *f.folders)
	if err != nil {
		return err
	}
	from := f.from.in(def.Schedule.Zone(), a.now())
	list := comingSlots(def, from, f.count.value)
	return a.print(f.format, slotReports(list), func() { writeSlots(a.stdout, def, list, a.outStyle) })
}

// coming is an expected period with its times. A time that does not exist is zero.
type coming struct {
	schedule.Slot
	sla.Instants
}

// comingSlots lists the first periods that fire at or after from; a schedule without fires counts
// from the period's start. A pipeline that is only triggered by hand has none. Excluded periods and
// dry runs have no deadlines.
func comingSlots(def *pipeline.Definition, from time.Time, count int) []coming {
	var list []coming
	if def.Opens == pipeline.ByHand {
		return nil
	}
	for slot := range def.Schedule.Slots(from) {
		if len(list) == count || slot.Period.Start(def.Schedule.Zone()).Year() > lastYear {
			break
		}
		next := coming{Slot: slot}
		if slot.Excluded == "" && !def.DryRun {
			next.Instants = def.SLA.For(slot.Period, slot.FireAt, def.Schedule)
		}
		list = append(list, next)
	}
	return list
}

// slotReport is an item in the output of `next --format json`. All keys are always present.
type slotReport struct {
	FireAt   *string `json:"fireAt"`
	Date     string  `json:"date"`
	Excluded bool    `json:"excluded"`
	Reason   *string `json:"reason"` // why it is excluded
	WarnAt   *string `json:"warnAt"`
	BreachAt *string `json:"breachAt"`
}

func slotReports(list []coming) []slotReport {
	reports := []slotReport{}
	for _, c := range list {
		reports = append(reports, slotReport{
			FireAt: timeOrNull(c.FireAt), Date: c.Period.String(),
			Excluded: c.Excluded != "", Reason: textOrNull(c.Excluded),
			WarnAt: timeOrNull(c.Warn), BreachAt: timeOrNull(c.Breach),
		})
	}
	return reports
}

// timeOrNull formats a time as RFC 3339 in UTC; nil for a zero time.
func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return textOrNull(period.Stamp(t))
}

// writeSlots prints the coming periods as a table, below a line about the schedule.
func writeSlots(w io.Writer, def *pipeline.Definition, list []coming, s style) {
	fmt.Fprintln(w, s.bold(string(def.ID))+"  "+strings.Join(aboutSchedule(def), "  "))
	switch {
	case def.Opens == pipeline.ByHand:
		fmt.Fprintln(w, "It has no schedule: its runs are opened by hand, with `interlock trigger`.")
		return
	case len(list) == 0:
		fmt.Fprintln(w, "There are no further periods.")
		return
	}
	fmt.Fprintf(w, "\n%s", table(slotRows(def, list, s)))
	if notes := scheduleNotes(def); len(notes) > 0 {
		fmt.Fprintf(w, "\nnote: %s\n", strings.Join(notes, "\nnote: "))
	}
}

func aboutSchedule(def *pipeline.Definition) []string {
	about := []string{def.Schedule.Zone().String(), "period " + def.Schedule.Size().String()}
	if cron := def.Schedule.Cron(); cron != nil {
		about = append([]string{"cron " + cron.String()}, about...)
	}
	if def.DryRun {
		about = append(about, "dry run")
	}
	return about
}

func slotRows(def *pipeline.Definition, list []coming, s style) [][]cell {
	zone, deadlines := def.Schedule.Zone(), def.SLA.Deadline != nil && !def.DryRun
	rows := [][]cell{headRow(def, deadlines, s)}
	var before time.Time
	for _, c := range list {
		at := c.FireAt
		if at.IsZero() {
			at = c.Period.Start(zone)
		}
		at = at.In(zone)
		row := []cell{plain(c.Period.String()), plain(localTime(at)), plain(at.UTC().Format("2006-01-02 15:04Z"))}
		if deadlines {
			row = append(row, plain(deadlineText(c.Warn, zone)), plain(deadlineText(c.Breach, zone)))
		}
		row = append(row, plain(slotNote(c, before, at)))
		if c.Excluded != "" {
			for i := range row {
				row[i].paint = s.dim
			}
		}
		rows, before = append(rows, row), at
	}
	return rows
}

func headRow(def *pipeline.Definition, deadlines bool, s style) []cell {
	titles := []string{"PERIOD", "FIRES", "UTC"}
	if def.Opens != pipeline.ByCron {
		titles[1] = "STARTS"
	}
	if deadlines {
		titles = append(titles, "WARNS", "BREACHES")
	}
	var row []cell
	for _, title := range titles {
		row = append(row, cell{title, s.dim})
	}
	return row
}

// localTime formats a time with its weekday, zone abbreviation and offset, so that a clock change
// is visible. Some zones have only an offset as abbreviation; it is shown once.
func localTime(t time.Time) string {
	if name, _ := t.Zone(); strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return t.Format("Mon 2006-01-02 15:04 -07:00")
	}
	return t.Format("Mon 2006-01-02 15:04 MST -07:00")
}

func deadlineText(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

// slotNote says why a period is excluded, and whether the clock changed since the previous one.
func slotNote(c coming, before, at time.Time) string {
	var notes []string
	if c.Excluded != "" {
		notes = append(notes, "excluded: "+printable(c.Excluded))
	}
	if !before.IsZero() && before.Format("-07:00") != at.Format("-07:00") {
		notes = append(notes, fmt.Sprintf("clock change: %s to %s", before.Format("-07:00"), at.Format("-07:00")))
	}
	return strings.Join(notes, "; ")
}

func scheduleNotes(def *pipeline.Definition) []string {
	var notes []string
	if def.Opens == pipeline.ByStream {
		notes = append(notes, "these are the periods it is expected to run for; a reading or an upstream opens each")
	}
	if def.DryRun {
		notes = append(notes, "a dry run has no deadlines")
	} else if def.SLA.Max > 0 {
		notes = append(notes, fmt.Sprintf("besides these, a run must complete within %s of the first reading of its start condition", document.Duration(def.SLA.Max)))
	}
	return notes
}
