package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/sensor"
)

func newSensor(a *app) *cobra.Command {
	return group("sensor", "Write and read sensors", newSensorSet(a), newSensorGet(a), newSensorHistory(a), newSensorDelete(a))
}

func newSensorSet(a *app) *cobra.Command {
	var file, source, ttl string
	cmd := &cobra.Command{
		Use:   "set PIPELINE KEY FIELD=VALUE... | --json FILE",
		Short: "Write a sensor",
		Long: "Write a sensor of a pipeline. JSON numbers, true, false and null keep their type,\n" +
			"anything else is text (to write a number as text, quote it: count='\"7\"').\n" +
			"The period of the reading may be part of the key (KEY#2026-03-03T07), or in the fields date, hour, minute.",
		Example: "  interlock sensor set orders landed complete=true count=1200\n" +
			"  interlock sensor set orders landed#2026-03-03 --json landed.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("sensor set needs PIPELINE and KEY")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "json", "", "`FILE` with the fields as a JSON object; - reads stdin")
	cmd.Flags().StringVar(&source, "source", "", "`NAME` of the writer (default the user's)")
	addFilled(cmd, &ttl, "ttl", "how long the reading is valid, a `DURATION` such as 2h (default no limit)")
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		fields, err := a.sensorFields(args[2:], file)
		if err != nil {
			return err
		}
		options, err := a.sensorOptions(source, ttl)
		if err != nil {
			return err
		}
		written, err := c.PutSensor(ctx, args[0], args[1], fields, append(options, c.raw())...)
		if err == nil && written.Warning != nil {
			a.warn(*written.Warning)
		}
		return c.show(err, func() {
			key, _, _ := strings.Cut(args[1], "#")
			fmt.Fprintf(a.stdout, "%s %s is written %s, version %d\n", args[0], key, periodText(orZero(written.Date)), written.Version)
		})
	})
}

func (a *app) sensorOptions(source, ttl string) ([]client.CallOption, error) {
	var options []client.CallOption
	if source == "" {
		source = a.person()
	}
	if source != "" {
		options = append(options, client.WithSource(source))
	}
	if ttl != "" {
		d, err := document.ParseDuration(ttl)
		if err != nil || d <= 0 {
			return nil, usagef("--ttl %q is not a positive duration; write it like 2h", ttl)
		}
		options = append(options, client.WithTTL(d))
	}
	return options, nil
}

// sensorFields reads the fields of a reading from arguments or a file.
func (a *app) sensorFields(pairs []string, file string) (map[string]any, error) {
	switch {
	case file != "" && len(pairs) > 0:
		return nil, usagef("use FIELD=VALUE or --json, not both")
	case file == "" && len(pairs) == 0:
		return nil, usagef("there are no fields; use FIELD=VALUE, or --json FILE")
	case file != "":
		return a.fieldsFile(file)
	}
	fields := map[string]any{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usagef("%q is not FIELD=VALUE", pair)
		}
		if _, twice := fields[name]; twice {
			return nil, usagef("the field %q is set twice", name)
		}
		fields[name] = fieldValue(text)
	}
	return fields, nil
}

// fieldValue parses a JSON scalar; anything else is a string.
func fieldValue(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return text
	}
	if _, err := d.Token(); err != io.EOF {
		return text
	}
	switch value.(type) {
	case json.Number, bool, string, nil:
		return value
	default:
		return text
	}
}

func (a *app) fieldsFile(file string) (map[string]any, error) {
	data, err := a.readInput("the fields", file, sensor.MaxBytes)
	if err != nil {
		return nil, err
	}
	if file == stdinName {
		file = "stdin"
	}
	fields, err := sensor.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return fields, nil
}

func newSensorGet(a *app) *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use: "get PIPELINE [KEY]", Short: "Show the latest reading of a sensor, or of each one",
		Long: "Show the latest reading of a sensor or, with --date or a KEY#PERIOD, what a rule sees for that period.\n" +
			"Without KEY: the latest reading of each sensor of the pipeline.",
		Example: "  interlock sensor get orders landed", Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("sensor get needs PIPELINE")
			case len(args) > 2:
				return usagef("sensor get takes no more than PIPELINE and KEY, but got %q", args[2])
			case len(args) == 1 && date != "":
				return usagef("--date needs a KEY")
			}
			return nil
		},
	}
	addFilled(cmd, &date, "date", "what a rule sees for this `PERIOD`")
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		if len(args) == 1 {
			readings, err := c.Sensors(ctx, args[0], c.raw())
			return c.show(err, func() { a.writeReadings(args[0], readings) })
		}
		r, err := c.Sensor(ctx, args[0], args[1], date, c.raw())
		return c.show(err, func() { a.writeReadings(args[0], []client.Reading{r}) })
	})
}

func newSensorHistory(a *app) *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use: "history PIPELINE KEY", Short: "List the writes of a sensor, newest first",
		Example: "  interlock sensor history orders landed --limit 5", Args: arguments("PIPELINE", "KEY"),
	}
	addFilled(cmd, &date, "date", "only writes for this `PERIOD`")
	limit := addLimit(cmd, 20)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		l, err := read(c, limit, func(p client.Paging) (client.Page[client.Reading], error) {
			return c.SensorHistory(ctx, args[0], args[1], client.SensorQuery{Date: date, Paging: p}, c.raw())
		})
		return showList(c, l, err, func(readings []client.Reading) {
			a.writeReadings(args[0], readings)
			a.more(l.next, "writes")
		})
	})
}

func newSensorDelete(a *app) *cobra.Command {
	var date, source string
	cmd := &cobra.Command{
		Use: "delete PIPELINE KEY", Short: "Delete a reading of a sensor",
		Long: "Delete the reading that was written for one period (--date or KEY#PERIOD) or, without a period, the undated one.\n" +
			"For rules it is then as if it had never been written. The history shows the reading and who deleted it.",
		Example: "  interlock sensor delete orders hold\n" +
			"  interlock sensor delete orders landed --date 2026-03-03",
		Args: arguments("PIPELINE", "KEY"),
	}
	addFilled(cmd, &date, "date", "the `PERIOD` whose reading is deleted (default the undated reading)")
	cmd.Flags().StringVar(&source, "source", "", "`NAME` of who deletes it (default the user's)")
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		options, err := a.sensorOptions(source, "")
		if err != nil {
			return err
		}
		gone, err := c.DeleteSensor(ctx, args[0], args[1], date, append(options, c.raw())...)
		return c.show(err, func() {
			key, _, _ := strings.Cut(args[1], "#")
			fmt.Fprintf(a.stdout, "the %s of %s %s is deleted, version %d\n", readingFor(gone.Date), args[0], key, gone.Version)
		})
	})
}

// readingFor describes a reading by its period.
func readingFor(date *string) string {
	if date == nil {
		return "undated reading"
	}
	return "reading for " + *date
}

func (a *app) writeReadings(pipeline string, readings []client.Reading) {
	if len(readings) == 0 {
		fmt.Fprintf(a.stdout, "There are no readings. `interlock sensor set %s KEY FIELD=VALUE` writes a sensor.\n", pipeline)
		return
	}
	var rows [][]cell
	for _, r := range readings {
		data := sensor.Literal(r.Data)
		if r.Deleted {
			data = "deleted"
		}
		rows = append(rows, []cell{
			{r.Key, a.outStyle.bold},
			plain(orDash(r.Date)),
			plain(a.tableTime(&r.UpdatedAt)),
			plain(fmt.Sprint(r.Version)),
			plain(orDash(r.Source)),
			plain(a.tableTime(r.ExpiresAt)),
			plain(data),
		})
	}
	a.sheet([]column{col("KEY"), col("PERIOD"), col("WRITTEN"), extraCol("VERSION"), extraCol("BY"), extraCol("EXPIRES"), textCol("DATA")}, rows)
}
