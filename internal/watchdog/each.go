package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// failure is an error in checking one pipeline.
type failure struct {
	pipeline pipeline.ID
	err      error
}

// failures are the errors of a check. Each concerns one pipeline; the check continues with the
// others.
type failures []failure

// maxShown is how many failures an error message spells out.
const maxShown = 5

func (f failures) Error() string {
	var texts []string
	for _, one := range f[:min(len(f), maxShown)] {
		texts = append(texts, fmt.Sprintf("pipeline %s: %v", one.pipeline, one.err))
	}
	if more := len(f) - maxShown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

func (f failures) Unwrap() []error {
	errs := make([]error, len(f))
	for i, one := range f {
		errs[i] = one.err
	}
	return errs
}

// orNil returns f as an error, or nil if it is empty.
func (f failures) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// pipelines lists the pipelines that an error of a check concerns, sorted, each once.
func pipelines(err error) []string {
	all, ok := errors.AsType[failures](err)
	if !ok {
		return []string{}
	}
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = string(one.pipeline)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// everyones reports whether err affects every pipeline, so that the check should stop.
func everyones(ctx context.Context, err error) bool {
	return errors.Is(err, store.ErrAway) || ctx.Err() != nil
}

// handled returns one finding, unless handling it failed.
func handled(err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// eachPipeline is each for pipelines.
func (w *Watchdog) eachPipeline(ctx context.Context, all []watched, check func(e watched) (int, error)) (int, error) {
	return each(ctx, w.Workers, all, func(e watched) pipeline.ID { return e.ID }, check)
}

// each calls check for every item, concurrently if there are several workers, and adds up the
// findings. An error or a panic affects only the item's own pipeline, unless the store is down or
// ctx ends.
func each[T any](ctx context.Context, workers int, all []T, owner func(T) pipeline.ID, check func(one T) (int, error)) (int, error) {
	var next, found atomic.Int64
	var mu sync.Mutex
	var failed failures
	var whole error
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
			err := panicked.Catch(func() error {
				n, err := check(all[i])
				found.Add(int64(n))
				return err
			})
			if err == nil {
				continue
			}
			mu.Lock()
			if everyones(ctx, err) {
				next.Store(int64(len(all)))
				whole = err
			}
			failed = append(failed, failure{owner(all[i]), err})
			mu.Unlock()
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if whole != nil {
		return int(found.Load()), whole
	}
	return int(found.Load()), failed.orNil()
}
