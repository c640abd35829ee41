package scenario_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

var update = flag.Bool("update", false, "write the logs of the stories anew; read what changed before you commit it")

// usualTime is the duration of a job that the story does not mention.
const usualTime = document.Duration(time.Minute)

// platforms are all platforms that play the stories. The first one writes the logs anew.
var platforms = []struct {
	name  string
	clock bool                      // it has its own clock; the others use that of a bubble
	looks bool                      // it evaluates at other moments than the server: its log is compared without times
	where func(t testing.TB) string // the location of its data; nil means a folder
	build func(t *testing.T, s story, where string) platform
}{
	{"memory", false, false, nil, func(t *testing.T, s story, _ string) platform {
		return &loop{T: t, keeper: onMemory(t), jobs: newTarget(s.Jobs, time.Now), every: time.Duration(s.Watch)}
	}},
	{"sqlite", false, false, nil, func(t *testing.T, s story, dir string) platform {
		return &loop{T: t, keeper: onSQLite(t, dir), jobs: newTarget(s.Jobs, time.Now), every: time.Duration(s.Watch)}
	}},
	{"engine-memory", false, false, nil, func(t *testing.T, s story, _ string) platform {
		return &process{T: t, keeper: onMemory(t), jobs: newTarget(s.Jobs, time.Now), every: time.Duration(s.Watch)}
	}},
	{"engine-sqlite", false, false, nil, func(t *testing.T, s story, dir string) platform {
		return &process{T: t, keeper: onSQLite(t, dir), jobs: newTarget(s.Jobs, time.Now), every: time.Duration(s.Watch)}
	}},
	{"redis", false, false, redistest.Shared, func(t *testing.T, s story, url string) platform {
		return &loop{T: t, keeper: onRedis(t, url), jobs: newTarget(s.Jobs, time.Now), every: time.Duration(s.Watch)}
	}},
	{"dynamo", false, false, dynamotest.Shared, func(t *testing.T, s story, url string) platform {
		return &loop{T: t, keeper: onDynamo(t, url), jobs: newTarget(s.Jobs, time.Now), every: time.Duration(s.Watch)}
	}},
	{"sim", true, false, nil, func(_ *testing.T, s story, _ string) platform {
		return &world{begins: s.begins, plays: s.Jobs, every: time.Duration(s.Watch)}
	}},
	{"aws", true, true, nil, func(t *testing.T, s story, _ string) platform {
		return newDeployment(t, s, func(func() time.Time) awslambdatest.Tables { return awslambdatest.NewMemory() })
	}},
}

func TestE1SameHistorySameDecisions(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for i, p := range platforms {
				if p.name == "dynamo" && !onRealTables(s) {
					continue
				}
				t.Run(p.name, func(t *testing.T) {
					where := t.TempDir()
					if p.where != nil {
						where = p.where(t)
					}
					play := func(t *testing.T) {
						log := tell(t, s, p.build(t, s, where))
						if p.looks {
							compareRuns(t, s, log)
							return
						}
						compare(t, s, log, *update && i == 0)
					}
					if p.clock {
						play(t)
						return
					}
					synctest.Test(t, func(t *testing.T) {
						time.Sleep(time.Until(s.begins)) // bubbles begin with the year 2000
						play(t)
					})
				})
			}
		})
	}
}

// compare compares a log with the one beside the story.
func compare(t *testing.T, s story, log string, write bool) {
	t.Helper()
	path := filepath.Join(folder, s.name+".events.jsonl")
	if write {
		if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; `go test ./internal/scenario -update` writes it", err)
	}
	if log != string(want) {
		t.Errorf("the log differs (-want +got):\n%s", cmp.Diff(string(want), log, cmpopts.AcyclicTransformer("lines", lines)))
	}
}

func lines(log string) []string { return strings.Split(log, "\n") }
