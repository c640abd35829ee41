// Package demo is what `interlock demo` shows: a small project with two simulated sources, and a story that is told on it
// while the real controller works. It plays everybody outside: the sources that write bronze files and push sensors over
// HTTP, the jobs that make silver and gold of them, the operator, and the narrator. It decides nothing about pipelines and
// makes up no outcome: each sentence follows an event that the controller has stored, and a story whose event does not
// come ends with an error that says which.
//
// The project's files are in project/; the command that puts the controller beside it is cmd/interlock/demo.go.
package demo

import (
	"context"
	"io"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// events is what the story is told from.
type events interface {
	EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error)
	EventsChanged() <-chan struct{}
	JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error)
}

// Options say where and how the story is told.
type Options struct {
	Project string // the directory that Write has filled
	Address string // of the controller's API
	Command string // with which commands for that controller begin
	Store   events // of that controller
	Out     io.Writer
	Colours bool
	Speed   float64 // of the sources and of the telling; 1 is made for reading along
	Stay    bool    // go on after the story, until ctx ends
	Now     func() time.Time
}

// Run tells the story and what has been seen, and goes on if it is to stay. The end of ctx ends it at any point, which is no error.
func Run(ctx context.Context, o Options) error {
	s := newStory(o)
	err := s.tell(ctx)
	s.summary()
	if err == nil && o.Stay {
		err = s.live(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
