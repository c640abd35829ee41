// Package demo implements `interlock demo`: a small project with two simulated sources, and a story
// that it narrates while the real controller works. It simulates everything outside the controller:
// the sources that write bronze files and push sensors over HTTP, the jobs that produce silver and
// gold, the operator, and the narrator. It decides nothing about pipelines and invents no outcome:
// each sentence follows an event that the controller has stored, and if an expected event does not
// come, the demo ends with an error that names it.
//
// The project's files are in project/; cmd/interlock/demo.go starts the controller.
package demo

import (
	"context"
	"io"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// events is the part of the store that the story reads.
type events interface {
	EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error)
	EventsChanged() <-chan struct{}
	JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error)
}

// Options configure the demo.
type Options struct {
	Project string // the directory that Write has filled
	Address string // of the controller's API
	Command string // the beginning of commands for that controller
	Store   events // of that controller
	Out     io.Writer
	Colours bool
	Speed   float64 // of the sources and the narration; 1 is for reading along
	Stay    bool    // continue after the story, until ctx ends or Enough returns
	Enough  func()  // returns when the viewer wants to end the demo; it is called after the story, and may be nil
	Now     func() time.Time
}

// Run narrates the story and a summary, and continues if Stay is set. It returns nil when ctx ends.
func Run(ctx context.Context, o Options) error {
	s := newStory(o)
	var err error
	if s.api, err = client.New(o.Address); err != nil {
		return err
	}
	err = s.tell(ctx)
	s.summary()
	if err == nil && o.Stay {
		living, end := context.WithCancel(ctx)
		defer end()
		if o.Enough != nil {
			go func() {
				o.Enough()
				end()
			}()
		}
		if err = s.live(living); living.Err() != nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
