package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// FuzzLoad passes arbitrary bytes to the loader, as a pipeline, a calendar and an archetype at
// once.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/seeds/*.yaml", "testdata/seeds/fragments/*.yaml", "../../examples/medallion/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files match %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(olderPipeline))
	f.Add([]byte(olderArchetype))
	kinds := all.Kinds()
	f.Fuzz(func(t *testing.T, data []byte) {
		src := pipeline.Source{File: "fuzz.yaml", Data: data}
		pipeline.Classify(src)
		set := pipeline.Load([]pipeline.Source{src}, pipeline.Options{
			Jobs: kinds, Platform: pipeline.AWS, Calendars: []pipeline.Source{src}, Archetypes: []pipeline.Source{src}, Whole: true,
		})
		for _, p := range set.Problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" || (p.Severity != document.Error && p.Severity != document.Warning) {
				t.Errorf("problem without position or text: %+v", p)
			}
		}
		for _, d := range set.Definitions {
			if !d.ID.Valid() || d.Gate == nil || d.Facts == nil || d.Schedule == nil {
				t.Errorf("accepted an incomplete definition: %+v", d)
			}
		}
	})
}
