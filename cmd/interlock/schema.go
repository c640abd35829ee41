package main

import (
	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

func newSchema(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a pipeline file",
		Long: "Print the JSON Schema of a pipeline file. With it, an editor completes\n" +
			"keys, shows their meaning and marks mistakes as you type.",
		Example: "  interlock schema > pipeline.schema.json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			return writeJSON(a.stdout, pipeline.Schema(all.Kinds()))
		},
	}
	addFormat(cmd).value = jsonFormat // a schema is JSON either way
	return cmd
}
