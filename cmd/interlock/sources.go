package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

func newSources(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sources", Short: "Show event sources and their activity",
		Long: "Show each event source: how many events matched, when the last one was received, how many readings were\n" +
			"written, and the last problem. Source files with errors are listed with their problems. Events that no source\n" +
			"matched are counted, with some samples.",
		Example: "  interlock sources\n  interlock sources test sources/orders.yaml event.json",
		Args:    noArguments,
	}
	cmd.AddCommand(newSourcesTest(a))
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		all, err := c.Sources(ctx, c.raw())
		return c.show(err, func() { a.writeSources(all) })
	})
}

func (a *app) writeSources(all client.Sources) {
	if len(all.Items)+len(all.Rejected) == 0 {
		fmt.Fprintln(a.stdout, "There are no sources. `interlock serve --sources DIR` reads source files.")
	}
	if len(all.Items) > 0 {
		var rows [][]cell
		for _, s := range all.Items {
			problems := plain(fmt.Sprint(s.Problems))
			if s.Problems > 0 {
				problems.paint = a.outStyle.yellow
			}
			rows = append(rows, []cell{
				{s.ID, a.outStyle.bold},
				plain(s.Format), plain(a.tableTime(s.LastEvent)), plain(fmt.Sprint(s.Matched)),
				plain(fmt.Sprint(s.Written)), plain(fmt.Sprint(s.Repeated)), problems, plain(s.Owner),
			})
		}
		a.sheet([]column{col("SOURCE"), col("FORMAT"), col("LAST EVENT"), col("MATCHED"), col("WRITTEN"), extraCol("REPEATED"), col("PROBLEMS"), extraCol("OWNER")}, rows)
	}
	for _, s := range all.Items {
		a.writeSourceNotes(s)
	}
	a.writeRejected(all)
	if n := all.Unmatched; n.CloudEvents+n.OpenLineage+n.JSON > 0 {
		fmt.Fprintf(a.stdout, "\nSince the server started, no source matched %s, %s and %s. The latest:\n",
			plural(int(n.CloudEvents), "CloudEvent"), plural(int(n.OpenLineage), "OpenLineage event"), plural(int(n.JSON), "JSON event"))
		for _, s := range n.Samples {
			fmt.Fprintf(a.stdout, "  %s  %s  %s\n", shortTime(&s.At), s.Format, printable(s.Event))
		}
	}
}

// writeRejected lists the source files with errors, and the errors.
func (a *app) writeRejected(all client.Sources) {
	active := map[string]bool{}
	for _, s := range all.Items {
		active[s.File] = true
	}
	for i, f := range all.Rejected {
		if i > 0 || len(all.Items) > 0 {
			fmt.Fprintln(a.stdout)
		}
		stays := "no version of the source is active"
		if active[f.File] {
			stays = "the last good version of the source stays active"
		}
		fmt.Fprintf(a.stdout, "%s %s: %s\n", a.outStyle.red("rejected"), printable(f.File), stays)
		for _, p := range f.Problems {
			fmt.Fprintln(a.stdout, "  "+problemLine(document.Problem{
				File: f.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message, Severity: document.Severity(p.Severity),
			}, a.outStyle))
		}
	}
}

// writeSourceNotes prints notes about a source.
func (a *app) writeSourceNotes(s client.EventSource) {
	if s.Silence != nil {
		fmt.Fprintf(a.stdout, "\n%s\n", a.outStyle.red(printable(*s.Silence)))
	}
	if c := s.Confirmation; c != nil {
		fmt.Fprintf(a.stdout, "\n%s %s. Check the topic, then open this link; interlock does not:\n  %s\n", a.outStyle.yellow(s.ID+":"), printable(c.Message), printable(c.Link))
	}
	if s.LastProblem != nil {
		fmt.Fprintf(a.stdout, "\n%s %s\n", a.outStyle.yellow("problem at "+shortTime(s.ProblemAt)+":"), printable(*s.LastProblem))
	}
	if len(s.Recent) > 0 {
		fmt.Fprintf(a.stdout, "\n%s: the last events\n", a.outStyle.bold(s.ID))
		for _, e := range s.Recent {
			fmt.Fprintf(a.stdout, "  %s  %s  %s\n", shortTime(&e.At), plural(e.Written, "reading"), printable(e.Event))
		}
	}
}

// wouldWrite is a reading that an event would write.
type wouldWrite struct {
	Pipeline string         `json:"pipeline"`
	Key      string         `json:"key"`
	Date     *string        `json:"date"`
	Instant  *time.Time     `json:"instant"` // if set, the date is the slice of the pipeline that holds it
	Data     map[string]any `json:"data"`
	TTL      *string        `json:"ttl"`
}

// sourceTest is the JSON output of sources test.
type sourceTest struct {
	Source     string                `json:"source"`
	Format     string                `json:"format"`
	Matched    bool                  `json:"matched"`
	Conditions []source.Checked      `json:"conditions"`
	Writes     []wouldWrite          `json:"writes"`
	Problems   []source.EventProblem `json:"problems"`
}

func newSourcesTest(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test FILE EVENT.json", Short: "Show what an event would write",
		Long: "Show what a source file does with an event, without a server: which conditions are met, and which readings would be\n" +
			"written. A CloudEvent must be in its JSON format, with its payload in data. Use - to read EVENT.json from stdin.\n" +
			"Exit code 1 if the event does not match, or if readings or fields would be missing.",
		Example: "  interlock sources test sources/orders.yaml event.json",
		Args:    arguments("a FILE", "an EVENT.json"),
	}
	format := addFormat(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		d, err := a.loadSource(args[0])
		if err != nil {
			return err
		}
		event, err := a.readEvent(args[1], d.Format)
		if err != nil {
			return err
		}
		t := testSource(d, event)
		return verdict(t.Matched && len(t.Problems) == 0, a.print(format, t, func() { a.writeSourceTest(t) }))
	}
	return cmd
}

// loadSource reads a single source. If its file is not valid, it prints the problems as validate
// does.
func (a *app) loadSource(file string) (*source.Definition, error) {
	read, err := readOne(file, "source")
	if err != nil {
		return nil, err
	}
	loaded := source.Load(read, source.Options{})
	if len(loaded.Definitions) != 1 {
		set := pipeline.Load(nil, pipeline.Options{})
		set.Include(read[0], loaded.Problems)
		writeProblems(a.stderr, set, a.errStyle)
		return nil, fmt.Errorf("%s is not a valid source file: %s", file, plural(errorCount(loaded.Problems), "error"))
	}
	return loaded.Definitions[0], nil
}

// readEvent reads an event and checks its envelope.
func (a *app) readEvent(file string, format source.Format) (map[string]any, error) {
	data, err := a.readInput("the event", file, source.MaxEvent)
	if err != nil {
		return nil, err
	}
	event, err := source.DecodeEvent(data)
	if err == nil {
		err = source.Check(format, event)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return event, nil
}

func testSource(d *source.Definition, event map[string]any) sourceTest {
	m, matched := d.Map(event)
	t := sourceTest{
		Source: string(d.ID), Format: string(d.Format), Matched: matched, Conditions: d.Conditions(event),
		Writes: []wouldWrite{}, Problems: append([]source.EventProblem{}, m.Problems...),
	}
	if m.Over != "" {
		t.Problems = append(t.Problems, source.EventProblem{Source: d.ID, Write: -1, Message: "nothing is written: " + m.Over})
		m.Writes = nil
	}
	for _, w := range m.Writes {
		one := wouldWrite{Pipeline: string(w.Pipeline), Key: string(w.Key), Data: w.Fields}
		if !w.Period.IsZero() {
			one.Date = new(w.Period.String())
		}
		if !w.Instant.IsZero() {
			one.Instant = &w.Instant
		}
		if w.TTL > 0 {
			one.TTL = new(document.Duration(w.TTL).String())
		}
		t.Writes = append(t.Writes, one)
	}
	return t
}

func (a *app) writeSourceTest(t sourceTest) {
	for i, c := range t.Conditions {
		if c.Element != nil && (i == 0 || *t.Conditions[i-1].Element != *c.Element) {
			fmt.Fprintf(a.stdout, "element %d\n", *c.Element)
		}
		mark := a.outStyle.green("✓")
		if !c.Holds {
			mark = a.outStyle.red("✗")
		}
		fmt.Fprintf(a.stdout, "%s %s: %s\n", mark, printable(c.Path), printable(c.Reason))
	}
	if !t.Matched {
		fmt.Fprintf(a.stdout, "source %s does not match the event; nothing would be written\n", t.Source)
	}
	for _, w := range t.Writes {
		data, _ := json.Marshal(w.Data) // never fails: Data was decoded from JSON
		when := periodText(orZero(w.Date))
		if w.Instant != nil {
			when = fmt.Sprintf("for the slice of %s that holds %s", w.Pipeline, w.Instant.Format(time.RFC3339Nano))
		}
		fmt.Fprintf(a.stdout, "would write %s %s, %s: %s\n", w.Pipeline, w.Key, when, printable(string(data)))
	}
	for _, p := range t.Problems {
		fmt.Fprintf(a.stdout, "%s %s\n", a.outStyle.yellow("problem:"), printable(p.String()))
	}
}
