package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/artifact"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

func newIngest(a *app) *cobra.Command {
	return group("ingest", "Write readings from the results of dbt, Great Expectations or Soda",
		newIngestDbt(a), newIngestOne(a, "great-expectations", "a validation or checkpoint result of Great Expectations", "gx/SUITE", artifact.GreatExpectations),
		newIngestOne(a, "soda", "the result of a Soda scan", "soda/CHECK", artifact.Soda))
}

// ingestFlags are the flags of all ingest commands.
type ingestFlags struct {
	pipeline, date string
	dryRun, fail   bool
	format         *choice
}

func addIngestFlags(cmd *cobra.Command) *ingestFlags {
	f := &ingestFlags{}
	addFilled(cmd, &f.pipeline, "pipeline", "`PIPELINE` that the readings are for")
	addFilled(cmd, &f.date, "date", "`PERIOD` that the readings are for (default undated)")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only print the readings; needs no server")
	cmd.Flags().BoolVar(&f.fail, "fail", false, "exit with 1 if a check failed or could not be evaluated")
	f.format = addFormat(cmd)
	return f
}

func newIngestDbt(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "dbt PATH... --pipeline PIPELINE", Short: "Write readings from run_results.json, sources.json and freshness.json",
		Long: "Write readings from the files that dbt leaves in its target directory: dbt/run, dbt/node/NAME and\n" +
			"dbt/freshness/SOURCE.TABLE. A PATH is one of these files, or a directory that contains some. A manifest.json provides the names of nodes.",
		Example: "  interlock ingest dbt target/ --pipeline gold --date 2026-03-03\n" +
			"  interlock ingest dbt target/run_results.json --pipeline gold --fail",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("ingest dbt needs a PATH: an artifact of dbt, or its target directory")
			}
			return nil
		},
	}
	f := addIngestFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		files, err := readDbtFiles(args)
		if err != nil {
			return err
		}
		result, err := artifact.Dbt(files)
		return a.ingest(cmd, f, result, err)
	}
	return cmd
}

func newIngestOne(a *app, name, what, keys string, read func(artifact.File) (*artifact.Result, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " FILE --pipeline PIPELINE", Short: "Write readings from " + what,
		Long:    "Write readings from " + what + ": " + keys + ". A check that could not be evaluated has no status, so rules on it are unknown.",
		Example: fmt.Sprintf("  interlock ingest %s result.json --pipeline gold --date 2026-03-03 --fail", name),
		Args:    arguments("a FILE"),
	}
	f := addIngestFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := readArtifact(args[0])
		if err != nil {
			return err
		}
		result, err := read(file)
		return a.ingest(cmd, f, result, err)
	}
	return cmd
}

// readDbtFiles reads files. In a directory it reads the files with dbt's usual names.
func readDbtFiles(paths []string) ([]artifact.File, error) {
	var files []artifact.File
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		var found []artifact.File
		if info.IsDir() {
			found, err = readTarget(path)
		} else {
			found = make([]artifact.File, 1)
			found[0], err = readArtifact(path)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// readTarget reads the files in a target directory of dbt.
func readTarget(dir string) ([]artifact.File, error) {
	var files []artifact.File
	for _, name := range artifact.DbtFiles {
		file, err := readArtifact(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s contains none of dbt's files (%s); run dbt first, or name its target directory", dir, strings.Join(artifact.DbtFiles, ", "))
	}
	return files, nil
}

func readArtifact(name string) (artifact.File, error) {
	data, err := os.ReadFile(name)
	return artifact.File{Name: name, Data: data}, err
}

// ingested is the JSON output of ingest.
type ingested struct {
	Pipeline string             `json:"pipeline"`
	Date     *string            `json:"date"`
	Written  bool               `json:"written"`
	Passed   bool               `json:"passed"`
	Failed   []string           `json:"failed"`
	Unknown  []string           `json:"unknown"`
	Readings []artifact.Reading `json:"readings"`
}

func (a *app) ingest(cmd *cobra.Command, f *ingestFlags, result *artifact.Result, err error) error {
	if err != nil {
		return err
	}
	if !pipeline.ID(f.pipeline).Valid() {
		return usagef("ingest needs --pipeline with the id of a pipeline")
	}
	if f.date != "" {
		p, err := period.Parse(f.date)
		if err != nil {
			return usagef("--date: %s", err)
		}
		f.date = p.String()
	}
	if !f.dryRun {
		if err := a.connected(cmd.Context(), func(c *client.Client) error { return send(cmd.Context(), c, f, result) }); err != nil {
			return err
		}
	}
	return verdict(!f.fail || result.Passed(), a.writeIngested(f, result))
}

// maxSent is how many readings the server accepts in one request.
const maxSent = 1000

func send(ctx context.Context, c *client.Client, f *ingestFlags, result *artifact.Result) error {
	for readings := range slices.Chunk(result.Readings, maxSent) {
		var writes []client.SensorWrite
		for _, r := range readings {
			key := r.Key
			if f.date != "" {
				key += "#" + f.date
			}
			writes = append(writes, client.SensorWrite{Pipeline: f.pipeline, Key: key, Data: r.Fields, Source: "interlock ingest"})
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

func (a *app) writeIngested(f *ingestFlags, result *artifact.Result) error {
	if f.format.value == jsonFormat {
		return writeJSON(a.stdout, ingested{
			Pipeline: f.pipeline, Date: textOrNull(f.date), Written: !f.dryRun, Passed: result.Passed(), Failed: append([]string{}, result.Failed...),
			Unknown: append([]string{}, result.Unknown...), Readings: append([]artifact.Reading{}, result.Readings...),
		})
	}
	verb := "wrote"
	if f.dryRun {
		verb = "would write"
		for _, r := range result.Readings {
			fmt.Fprintf(a.stdout, "%s %s\n", r.Key, printable(sensor.Literal(r.Fields)))
		}
	}
	fmt.Fprintf(a.stdout, "%s %s to %s, %s\n", verb, plural(len(result.Readings), "reading"), f.pipeline, periodText(f.date))
	for _, what := range result.Failed {
		fmt.Fprintf(a.stdout, "%s %s\n", a.outStyle.red("failed:"), printable(what))
	}
	for _, what := range result.Unknown {
		fmt.Fprintf(a.stdout, "%s %s\n", a.outStyle.yellow("unknown:"), printable(what))
	}
	return nil
}
