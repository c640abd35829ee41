package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/sensor"
)

func newSensor(a *app) *cobra.Command {
	return group("sensor", "Write and read sensors", newSensorSet(a), newSensorGet(a), newSensorHistory(a))
}

func newSensorSet(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "set PIPELINE KEY [FIELD=VALUE...]",
		Short: "Write a sensor",
		Long: "Write a sensor of a pipeline. A value that is a JSON number, true, false or null is taken as such,\n" +
			"anything else as text (quote it in JSON to make a number text: count='\"7\"').\n" +
			"The key may carry the period the reading is for (KEY#2026-03-03T07); so may fields date, hour, minute.",
		Example: "  interlock sensor set orders landed complete=true count=1200",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("sensor set needs PIPELINE and KEY")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "json", "", "`FILE` with the fields as a JSON object; - reads stdin")
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := a.sensorFields(args[2:], file)
		if err != nil {
			return err
		}
		c, err := a.ask()
		if err != nil {
			return err
		}
		w, err := c.PutSensor(cmd.Context(), args[0], args[1], fields)
		if err != nil {
			return err
		}
		if format.value == jsonFormat {
			return writeJSON(a.stdout, w)
		}
		fmt.Fprintf(a.stdout, "%s %s: version %d for %s\n", args[0], args[1], w.Version, periodText(w.Date))
		return nil
	}
	return cmd
}

func periodText(date *string) string {
	if date == nil {
		return "no period (undated)"
	}
	return *date
}

// sensorFields reads the fields of a write from arguments or a file.
func (a *app) sensorFields(pairs []string, file string) (map[string]any, error) {
	switch {
	case file != "" && len(pairs) > 0:
		return nil, usagef("give the fields as FIELD=VALUE or with --json, not both")
	case file == "" && len(pairs) == 0:
		return nil, usagef("there are no fields; give FIELD=VALUE, or --json FILE")
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
			return nil, usagef("the field %q is given twice", name)
		}
		fields[name] = fieldValue(text)
	}
	return fields, nil
}

// fieldValue takes a JSON scalar as it is, and anything else as text.
func fieldValue(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil || d.More() {
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
	in := a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, sensor.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	fields, err := sensor.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return fields, nil
}

func newSensorGet(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get PIPELINE KEY", Short: "Show the latest reading of a sensor",
		Example: "  interlock sensor get orders landed", Args: arguments("PIPELINE", "KEY"),
	}
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.remoteRead(cmd, format, apiPath("pipelines", args[0], "sensors", args[1]), nil, func(raw json.RawMessage) error {
			var r client.Reading
			if err := json.Unmarshal(raw, &r); err != nil {
				return err
			}
			a.writeReadings([]client.Reading{r})
			return nil
		})
	}
	return cmd
}

func newSensorHistory(a *app) *cobra.Command {
	limit := count{value: 20, most: 500}
	cmd := &cobra.Command{
		Use: "history PIPELINE KEY", Short: "List the writes of a sensor, newest first",
		Example: "  interlock sensor history orders landed --limit 5", Args: arguments("PIPELINE", "KEY"),
	}
	cmd.Flags().Var(&limit, "limit", "how many to list")
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.remoteRead(cmd, format, apiPath("pipelines", args[0], "sensors", args[1], "history"), query("limit", limit.String()), func(raw json.RawMessage) error {
			var page client.Page[client.Reading]
			if err := json.Unmarshal(raw, &page); err != nil {
				return err
			}
			a.writeReadings(page.Items)
			return nil
		})
	}
	return cmd
}

func (a *app) writeReadings(readings []client.Reading) {
	s := a.outStyle
	rows := [][]cell{heads(s, "WRITTEN", "PERIOD", "VERSION", "BY", "DATA")}
	for _, r := range readings {
		rows = append(rows, []cell{
			plain(shortTime(&r.UpdatedAt)), plain(orDash(r.Date)), plain(fmt.Sprint(r.Version)), plain(printable(orDash(r.Source))), plain(printable(literal(r.Data))),
		})
	}
	fmt.Fprint(a.stdout, table("", rows))
}

// heads is the first row of a table.
func heads(s style, titles ...string) []cell {
	row := make([]cell, len(titles))
	for i, title := range titles {
		row[i] = cell{title, s.dim}
	}
	return row
}
