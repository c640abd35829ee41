package sim

import (
	"testing"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// A rejected file would leave its pipeline out of every world.
func TestEveryVariantOfAFileIsAccepted(t *testing.T) {
	for _, where := range places {
		for _, template := range templates {
			for variant := range template.variants {
				f := folder{place: where, texts: map[string]string{}}
				f.set(template, variant)
				set := pipeline.Load(f.files().Pipelines, pipeline.Options{Jobs: kinds})
				if len(set.Definitions) != 1 {
					t.Errorf("%s, variant %d, in %s: %v", template.id, variant, where.zone, set.Problems)
				}
			}
		}
	}
}
