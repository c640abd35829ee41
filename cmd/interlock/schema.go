package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

func newSchema(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema [pipeline | source]",
		Short: "Print the JSON Schema of a pipeline or source file",
		Long: "Print the JSON Schema of a pipeline file, or of a source file. With it, an editor\n" +
			"completes keys, shows their meaning and marks mistakes as you type.",
		Example: "  interlock schema > pipeline.schema.json\n" +
			"  interlock schema source > source.schema.json",
		ValidArgs: []string{"pipeline", "source"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "pipeline" && args[0] != "source" {
				return usagef("schema takes pipeline (the default) or source, not %q", strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "source" {
				return writeJSON(a.stdout, source.Schema())
			}
			return writeJSON(a.stdout, pipeline.Schema(all.Kinds()))
		},
	}
	addFormat(cmd).value = jsonFormat // a schema is JSON either way
	return cmd
}
