package explain_test

import (
	"context"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var ctx = context.Background()

// world is a controller whose runs the tests explain. Jobs run until a test reports their result.
type world struct {
	*testing.T
	*controllertest.Controller
}

// newWorld starts with the given pipeline files.
func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	w := &world{t, controllertest.New(t, memory.New(), map[string]job.Type{"command": controllertest.Idle{}})}
	w.Apply(files...)
	w.Settle()
	return w
}

// finish reports the result of a run's job, with all consequences.
func (w *world) finish(key string, r run.Report) {
	w.Helper()
	k, err := run.ParseKey(key)
	w.Check(err)
	done, err := w.Router.Report(ctx, run.Outcome{Key: k, Report: r}, w.Now())
	w.Check(err)
	if done.Late {
		w.Fatalf("nobody waits for a result of %s: it is %s", key, done.Run.Status)
	}
	w.Settle()
}

// explain asks about a period; "" leaves it open.
func (w *world) explain(id, date string) explain.Explanation {
	w.Helper()
	q := explain.Question{Pipeline: pipeline.ID(id)}
	if date != "" {
		p, err := period.Parse(date)
		w.Check(err)
		q.Period = p
	}
	x, err := explain.Explain(ctx, explain.Sources{Store: w.Store, Catalog: w.Catalog}, q, w.Now())
	w.Check(err)
	return x
}

// says fails unless the explanation's text contains all of these.
func (w *world) says(x explain.Explanation, state explain.State, parts ...string) {
	w.Helper()
	text := x.Text()
	if x.State != state {
		w.Errorf("state is %q, want %q\n%s", x.State, state, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			w.Errorf("nothing is said of %q\n%s", part, text)
		}
	}
}
