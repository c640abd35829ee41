package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/source"
)

//go:generate go run . schema --dir ../../api/schema

// schemas are the kinds of files that have a schema, the default first.
var schemas = []struct {
	name string
	make func() *jsonschema.Schema
}{
	{"pipeline", func() *jsonschema.Schema { return pipeline.Schema(all.Kinds()) }},
	{"server", settings.Schema},
	{"calendar", pipeline.CalendarSchema},
	{"archetype", pipeline.ArchetypeSchema},
	{"source", source.Schema},
}

func newSchema(a *app) *cobra.Command {
	var names []string
	for _, s := range schemas {
		names = append(names, s.name)
	}
	var dir string
	cmd := &cobra.Command{
		Use:   "schema [" + strings.Join(names, " | ") + "]",
		Short: "Print the JSON Schema of a kind of file",
		Long: "Print the JSON Schema of pipeline files, or of another kind of file. With it, an editor\n" +
			"completes keys, shows their meaning and marks mistakes as you type.",
		Example: "  interlock schema > pipeline.schema.json\n" +
			"  interlock schema server > server.schema.json\n" +
			"  interlock schema --dir schemas",
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			if dir != "" && len(args) > 0 {
				return usagef("--dir writes all schemas; remove %q", args[0])
			}
			if len(args) > 1 {
				return usagef("schema takes one of %s, not %q", strings.Join(names, ", "), strings.Join(args, " "))
			}
			if len(args) == 1 && !slices.Contains(names, args[0]) {
				return usagef("there is no schema %q%s", args[0], document.Choice(args[0], names))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if dir != "" {
				return a.writeSchemas(dir)
			}
			for _, s := range schemas {
				if len(args) == 0 || s.name == args[0] {
					return writeJSON(a.stdout, s.make())
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the schemas of all kinds of files into `DIR`")
	addFormat(cmd).value = jsonFormat // a schema is JSON in every format
	return cmd
}

// writeSchemas writes each schema to its own file.
func (a *app) writeSchemas(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the directory of the schemas: %w", err)
	}
	for _, s := range schemas {
		var text bytes.Buffer
		if err := writeJSON(&text, s.make()); err != nil {
			return err
		}
		path := filepath.Join(dir, s.name+".schema.json")
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write a schema: %w", err)
		}
		fmt.Fprintln(a.stdout, path)
	}
	return nil
}
