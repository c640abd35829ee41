package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// writeSlots prints the coming periods as a table under a line about the schedule.
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
	fmt.Fprintf(w, "\n%s", table("", slotRows(def, list, s)))
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

// localTime shows the weekday, and the zone's abbreviation and offset, without which a clock change cannot be seen.
// Zones without an abbreviation of their own have the offset in its place, which need not be said twice.
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

// slotNote says why a period is excluded, and that the clock was changed since the one before it.
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
