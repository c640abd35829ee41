package pipeline

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// Schema returns the JSON Schema of a pipeline file, built from the same types that decode it.
// job.config uses the schema of the job type in job.type.
func Schema(kinds []JobKind) *jsonschema.Schema {
	s := document.Schema(File{}, "pipeline", "Interlock pipeline",
		"One pipeline: when it runs, which rules must pass before its job starts, and what to watch afterwards.")
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

// CalendarSchema returns the JSON Schema of a calendar file.
func CalendarSchema() *jsonschema.Schema {
	return document.Schema(calendarFile{}, "calendar", "Interlock calendar",
		"One calendar: the days that a pipeline excludes when it names this calendar.")
}

// ArchetypeSchema returns the JSON Schema of an archetype file. Its probes and rules are those of a
// pipeline file, in which each value may come from a parameter.
func ArchetypeSchema() *jsonschema.Schema {
	s := document.Schema(archetypeFile{}, "archetype", "Interlock archetype",
		"One archetype: a template of probes and rules, with parameters that pipelines set.")
	parts := document.Fragment(struct {
		Probes []ProbeSection `yaml:"probes"`
		Rules  []rule.Rule    `yaml:"rules"`
	}{})
	for name, part := range parts.Properties {
		part.Description = s.Properties[name].Description
		s.Properties[name] = orParameter(part)
	}
	if s.Defs == nil {
		s.Defs = map[string]*jsonschema.Schema{}
	}
	for name, def := range parts.Defs {
		s.Defs[name] = orParameter(def)
	}
	return s
}

// orParameter allows a text with a parameter wherever s allows a scalar.
func orParameter(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil || s.Ref != "" {
		return s
	}
	nested := false
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		for i := range list {
			list[i], nested = orParameter(list[i]), true
		}
	}
	for name, property := range s.Properties {
		s.Properties[name], nested = orParameter(property), true
	}
	if s.Items != nil {
		s.Items, nested = orParameter(s.Items), true
	}
	if s.AdditionalProperties != nil {
		if s.AdditionalProperties.Not == nil {
			s.AdditionalProperties = orParameter(s.AdditionalProperties)
		}
		nested = true
	}
	s.Then, s.Else = orParameter(s.Then), orParameter(s.Else)
	anyText := s.Enum == nil && s.Pattern == "" && (s.Type == "string" || slices.Contains(s.Types, "string"))
	if nested || anyText || s.Type == "null" || s.Type == "" && s.Types == nil && s.Enum == nil && s.Pattern == "" {
		return s
	}
	value := *s
	value.Description = ""
	return &jsonschema.Schema{Description: s.Description, AnyOf: []*jsonschema.Schema{&value, {Type: "string", Pattern: `\$\{with\.`}}}
}
