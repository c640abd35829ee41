package pipeline

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// Schema is the JSON Schema of a pipeline file, made of the same types that decode it. job.config takes the schema of
// the job type that job.type names.
func Schema(kinds []JobKind) *jsonschema.Schema {
	s := document.Schema(File{}, document.SchemaOptions{
		ID:          "https://github.com/interlock-go/interlock/blob/main/docs/pipeline.schema.json",
		Title:       "Interlock pipeline",
		Description: "One pipeline: when it runs, which rules must pass before its job starts, and what is watched afterwards.",
	})
	job := s.Properties["job"]
	for _, kind := range kinds {
		config := document.Fragment(kind.NewConfig())
		then := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"config": config}}
		if len(config.Required) > 0 {
			then.Required = []string{"config"}
		}
		job.AllOf = append(job.AllOf, &jsonschema.Schema{
			If: &jsonschema.Schema{
				Properties: map[string]*jsonschema.Schema{"type": {Const: jsonschema.Ptr[any](kind.Name)}},
				Required:   []string{"type"},
			},
			Then: then,
		})
	}
	return s
}
