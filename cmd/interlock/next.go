package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/sla"
)

const (
	defaultSlots = 10
	mostSlots    = 10000
	// lastYear is the last one that RFC 3339 can write.
	lastYear = 9999
)

type nextFlags struct {
	from   instantOrDay
	count  count
	shelf  *shelfFlags
	format *choice
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
	f.shelf = addShelfFlags(cmd)
	f.format = addFormat(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.next(args[0], f) }
	return cmd
}

func (a *app) next(file string, f *nextFlags) error {
	def, err := a.loadOne(file, *f.shelf)
	if err != nil {
		return err
	}
	from := f.from.in(def.Schedule.Zone(), a.now())
	list := comingSlots(def, from, f.count.value)
	return a.print(f.format, slotReports(list), func() { writeSlots(a.stdout, def, list, a.outStyle) })
}

// coming is one expected period with its instants; those that do not exist are zero.
type coming struct {
	schedule.Slot
	sla.Instants
}

// comingSlots lists the first periods that fire, or without fires start, at or after from. What only people open
// is never expected. An excluded period and a dry run have no deadlines.
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

// slotReport is one item of what `next --format json` prints; every key is always there.
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

// timeOrNull is RFC 3339 in UTC; an instant that does not exist is null in JSON.
func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return textOrNull(period.Stamp(t))
}
