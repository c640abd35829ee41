package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/artifact"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

func newIngest(a *app) *cobra.Command {
	return group("ingest", "Write readings from the results of dbt, Great Expectations or Soda",
		newIngestDbt(a), newIngestExpectations(a), newIngestSoda(a))
}

// ingestion is one call of an ingest command.
type ingestion struct {
	*app
	pipeline, date string
	maxAge         time.Duration
	dryRun, fail   bool
	format         *choice
}

// ingesting adds the flags of all ingest commands to cmd, which writes the readings of the files
// that read returns.
func (a *app) ingesting(cmd *cobra.Command, read func(args []string, limits artifact.Limits) (*artifact.Result, error)) *cobra.Command {
	in := &ingestion{app: a}
	var maxAge string
	addFilled(cmd, &in.pipeline, "pipeline", "`PIPELINE` that the readings are for")
	addFilled(cmd, &in.date, "date", "`PERIOD` that the readings are for (default undated)")
	addFilled(cmd, &maxAge, "max-age", "reject files that were generated longer ago, a `DURATION` such as 2h (default no limit)")
	cmd.Flags().BoolVar(&in.dryRun, "dry-run", false, "only print the readings; without a server, what only it knows is not checked")
	cmd.Flags().BoolVar(&in.fail, "fail", false, "exit with 1 if a check failed or could not be evaluated")
	in.format = addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := in.check(maxAge); err != nil {
			return err
		}
		return in.run(cmd.Context(), func(limits artifact.Limits) (*artifact.Result, error) { return read(args, limits) })
	}
	return cmd
}

const staleHelp = "\n\nWithout --date, a warning names a file from before the pipeline's current period; --max-age rejects old files."

func newIngestDbt(a *app) *cobra.Command {
	return a.ingesting(&cobra.Command{
		Use: "dbt PATH... --pipeline PIPELINE", Short: "Write readings from run_results.json, sources.json and freshness.json",
		Long: "Write readings from the files that dbt leaves in its target directory: dbt/run, dbt/node/NAME and\n" +
			"dbt/freshness/SOURCE.TABLE. A PATH is one of these files, or a directory that contains some. A manifest.json\n" +
			"provides the names of nodes.\n\n" +
			"A run_results.json counts if dbt build, run, test, seed, snapshot, retry or run-operation wrote it. One of\n" +
			"another command, such as compile or docs generate, is rejected: it calls every node a success, although none\n" +
			"ran. Without --date, a file from before the pipeline's current period is old, as is one beyond --max-age: it\n" +
			"is rejected (exit code 1) or, if it was found in a directory, skipped with a warning.",
		Example: "  interlock ingest dbt target/ --pipeline gold --date 2026-03-03\n" +
			"  interlock ingest dbt target/run_results.json --pipeline gold --max-age 2h --fail",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("ingest dbt needs a PATH: an artifact of dbt, or its target directory")
			}
			return nil
		},
	}, func(args []string, limits artifact.Limits) (*artifact.Result, error) {
		files, err := readDbtFiles(args)
		if err != nil {
			return nil, err
		}
		return artifact.Dbt(files, limits)
	})
}

func newIngestExpectations(a *app) *cobra.Command {
	var suite string
	cmd := a.ingesting(&cobra.Command{
		Use: "great-expectations FILE --pipeline PIPELINE", Short: "Write readings from a validation or checkpoint result of Great Expectations",
		Long: "Write readings from a validation or checkpoint result of Great Expectations: gx/SUITE/BATCH for each batch,\n" +
			"and gx/SUITE with the worst of them. An expectation that raised an exception leaves its batch without a\n" +
			"status, so rules on it are unknown. The form of describe() does not name the suite: name it with --suite." + staleHelp,
		Example: "  interlock ingest great-expectations result.json --pipeline gold --date 2026-03-03 --fail\n" +
			"  interlock ingest great-expectations described.json --suite orders --pipeline gold",
		Args: arguments("a FILE"),
	}, func(args []string, limits artifact.Limits) (*artifact.Result, error) {
		file, err := readArtifact(args[0])
		if err != nil {
			return nil, err
		}
		return artifact.GreatExpectations(file, suite, limits)
	})
	addFilled(cmd, &suite, "suite", "`NAME` of the suite, for a FILE from describe()")
	return cmd
}

func newIngestSoda(a *app) *cobra.Command {
	return a.ingesting(&cobra.Command{
		Use: "soda FILE --pipeline PIPELINE", Short: "Write readings from the result of a Soda scan",
		Long: "Write readings from the result of a Soda scan: soda/TABLE/CHECK-HASH for each check, soda/CHECK with the worst\n" +
			"of the checks with that name, and soda/scan. Soda leaves checks that it could not evaluate out of its file: if\n" +
			"the scan had errors, the readings of its checks that the file does not mention lose their status, so rules on\n" +
			"them are unknown." + staleHelp,
		Example: "  soda scan -d shop -s nightly -srf result.json checks.yml\n" +
			"  interlock ingest soda result.json --pipeline gold --date 2026-03-03 --fail",
		Args: arguments("a FILE"),
	}, func(args []string, limits artifact.Limits) (*artifact.Result, error) {
		file, err := readArtifact(args[0])
		if err != nil {
			return nil, err
		}
		return artifact.Soda(file, limits)
	})
}

// check checks the flags.
func (in *ingestion) check(maxAge string) error {
	if !pipeline.ID(in.pipeline).Valid() {
		return usagef("ingest needs --pipeline with the id of a pipeline")
	}
	if in.date != "" {
		p, err := period.Parse(in.date)
		if err != nil {
			return usagef("--date: %s", err)
		}
		in.date = p.String()
	}
	var err error
	if in.maxAge, err = parseLength("max-age", maxAge, "90s or 2h"); err != nil {
		return err
	}
	if maxAge != "" && in.maxAge == 0 {
		return usagef("--max-age %q would reject every file; write it like 90s or 2h", maxAge)
	}
	return nil
}

func (in *ingestion) run(ctx context.Context, read func(artifact.Limits) (*artifact.Result, error)) error {
	result, err := in.read(ctx, read)
	if rejected, ok := errors.AsType[*artifact.RejectedError](err); ok {
		in.note("%s", rejected)
		return errNo
	}
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(in.stderr, "%s %s\n", in.errStyle.yellow("warning:"), printable(warning))
	}
	if !in.dryRun {
		err := in.connected(ctx, func(c *client.Client) error { return in.send(ctx, c, result) })
		if err != nil {
			return err
		}
	}
	return verdict(!in.fail || result.Passed(), in.write(result))
}

// read reads the files, within the limits that the server knows, and adds the checks that they
// leave out.
func (in *ingestion) read(ctx context.Context, read func(artifact.Limits) (*artifact.Result, error)) (*artifact.Result, error) {
	limits := artifact.Limits{MaxAge: in.maxAge, Now: in.now()}
	if in.date == "" {
		err := in.ask(ctx, "files from before the current period are not recognised", func(ctx context.Context, c *client.Client) error {
			p, err := c.Pipeline(ctx, in.pipeline)
			if p.Slice != nil { // otherwise the server rejects the readings
				limits.Since = p.Slice.StartsAt
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	result, err := read(limits)
	if err != nil || !result.LeavesOut() {
		return result, err
	}
	return result, in.ask(ctx, "the checks that the scan left out are not listed", func(ctx context.Context, c *client.Client) error {
		sensors, err := c.Sensors(ctx, in.pipeline)
		known := make([]artifact.Reading, len(sensors))
		for i, r := range sensors {
			known[i] = artifact.Reading{Key: r.Key, Fields: r.Data}
		}
		result.AddLeftOut(known)
		return err
	})
}

// dryRunLimit is how long a dry run waits for the server.
const dryRunLimit = 5 * time.Second

// ask sends a request to the server. A dry run goes on after an error, with a warning about what it
// leaves unchecked.
func (in *ingestion) ask(ctx context.Context, without string, request func(ctx context.Context, c *client.Client) error) error {
	if in.dryRun {
		limited, cancel := context.WithTimeout(ctx, dryRunLimit)
		defer cancel()
		ctx = limited
	}
	err := in.connected(ctx, func(c *client.Client) error { return request(ctx, c) })
	if err == nil || !in.dryRun {
		return err
	}
	fmt.Fprintf(in.stderr, "%s %s\n", in.errStyle.yellow("warning:"), printableLines(fmt.Sprintf("%s: %s", without, err)))
	return nil
}

// maxSent is how many readings the server accepts in one request.
const maxSent = 1000

func (in *ingestion) send(ctx context.Context, c *client.Client, result *artifact.Result) error {
	for readings := range slices.Chunk(result.Readings, maxSent) {
		var writes []client.SensorWrite
		for _, r := range readings {
			key := r.Key
			if in.date != "" {
				key += "#" + in.date
			}
			writes = append(writes, client.SensorWrite{Pipeline: in.pipeline, Key: key, Data: r.Fields, Source: "interlock ingest"})
		}
		if _, err := c.PutSensors(ctx, writes); err != nil {
			return ofReading(err, readings)
		}
	}
	return nil
}

// ofReading returns the server's error about one of the readings in the words of the command: it
// names the reading by its key, unless the error is about the pipeline of all of them.
func ofReading(err error, readings []artifact.Reading) error {
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || len(problem.Errors) != 1 {
		return err
	}
	n, about := 0, *problem
	if _, err := fmt.Sscanf(about.Errors[0].Location, "body[%d]", &n); err != nil || n < 0 || n >= len(readings) {
		return problem
	}
	about.Detail = about.Errors[0].Message
	if about.Status != http.StatusNotFound && about.Status != http.StatusForbidden {
		about.Detail = fmt.Sprintf("reading %s: %s", readings[n].Key, about.Detail)
	}
	return &about
}

// ingested is the JSON output of ingest.
type ingested struct {
	Pipeline string             `json:"pipeline"`
	Date     *string            `json:"date"`
	Written  bool               `json:"written"`
	Passed   bool               `json:"passed"`
	Failed   []string           `json:"failed"`
	Unknown  []string           `json:"unknown"`
	Warnings []string           `json:"warnings"`
	Readings []artifact.Reading `json:"readings"`
}

// write prints what was written, or would be.
func (in *ingestion) write(result *artifact.Result) error {
	if in.format.value == jsonFormat {
		return writeJSON(in.stdout, ingested{
			Pipeline: in.pipeline, Date: textOrNull(in.date), Written: !in.dryRun, Passed: result.Passed(), Failed: append([]string{}, result.Failed...),
			Unknown: append([]string{}, result.Unknown...), Warnings: append([]string{}, result.Warnings...), Readings: append([]artifact.Reading{}, result.Readings...),
		})
	}
	verb := "wrote"
	if in.dryRun {
		verb = "would write"
		for _, r := range result.Readings {
			fmt.Fprintf(in.stdout, "%s %s\n", r.Key, printable(sensor.Literal(r.Fields)))
		}
	}
	fmt.Fprintf(in.stdout, "%s %s to %s, %s\n", verb, plural(len(result.Readings), "reading"), in.pipeline, periodText(in.date))
	for _, what := range result.Failed {
		fmt.Fprintf(in.stdout, "%s %s\n", in.outStyle.red("failed:"), printable(what))
	}
	for _, what := range result.Unknown {
		fmt.Fprintf(in.stdout, "%s %s\n", in.outStyle.yellow("unknown:"), printable(what))
	}
	return nil
}
