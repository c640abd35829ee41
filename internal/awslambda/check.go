package awslambda

import (
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

// FileCheck is the files that a deployment is about to put, by name.
type FileCheck struct {
	Pipelines  map[string]string `json:"pipelines"`
	Calendars  map[string]string `json:"calendars"`
	Archetypes map[string]string `json:"archetypes"`
	Sources    map[string]string `json:"sources"`
}

// FileReport is the errors and warnings of files as text; both are empty for valid files.
type FileReport struct {
	Problems string `json:"problems"`
	Warnings string `json:"warnings"`
}

// check validates files as when they are put, but stores nothing.
func (h *Host) check(c FileCheck) FileReport {
	set := pipeline.Load(sources(c.Pipelines), pipeline.Options{
		Jobs: all.Kinds(), Calendars: sources(c.Calendars), Archetypes: sources(c.Archetypes), Whole: true,
		Platform: pipeline.AWS, TimeLimit: h.TimeLimit, Offers: h.Settings.Offers(),
	})
	names := set.Names()
	loaded := source.Load(sources(c.Sources), source.Options{
		Pipelines: func(id pipeline.ID) bool { return slices.Contains(names, string(id)) }, Names: set.Names, Unknown: document.Error,
	})
	var problems, warnings []string
	for _, p := range slices.Concat(set.Problems, loaded.Problems) {
		if p.Severity == document.Warning {
			warnings = append(warnings, p.String())
		} else {
			problems = append(problems, p.String())
		}
	}
	return FileReport{Problems: strings.Join(problems, "\n"), Warnings: strings.Join(warnings, "\n")}
}

func sources(files map[string]string) (all []pipeline.Source) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, pipeline.Source{File: name, Data: []byte(files[name])})
	}
	return all
}
