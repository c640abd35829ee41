package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

func TestEachItemIsCheckedOnceWithAnyNumberOfWorkers(t *testing.T) {
	for _, workers := range []int{0, 1, 8, 200} {
		var mu sync.Mutex
		seen := map[number]int{}
		found, err := each(t.Context(), workers, numbers(100), number.owner, func(one number) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[one]++
			return 2, nil
		})
		if err != nil || found != 200 || len(seen) != 100 {
			t.Errorf("%d workers: found %d in %d, %v", workers, found, len(seen), err)
		}
		for _, n := range seen {
			if n != 1 {
				t.Errorf("%d workers: one was checked %d times", workers, n)
			}
		}
	}
}

func TestErrorAffectsOnlyItsOwnPipeline(t *testing.T) {
	broken := errors.New("cannot be read")
	for _, c := range []struct {
		name   string
		err    error
		looked int
		named  []string
	}{
		{"one pipeline", broken, 10, []string{"p2"}},
		{"the store", fmt.Errorf("list runs: %w", store.ErrAway), 3, []string{}},
	} {
		looked := 0
		found, err := each(t.Context(), 0, numbers(10), number.owner, func(one number) (int, error) {
			if looked++; one == 2 {
				return 0, c.err
			}
			return 1, nil
		})
		if !errors.Is(err, c.err) || looked != c.looked || found != c.looked-1 {
			t.Errorf("%s: %d looks, %d findings, %v", c.name, looked, found, err)
		}
		if got := pipelines(fmt.Errorf("check: %w", err)); !slices.Equal(got, c.named) {
			t.Errorf("%s: names %q, want %q", c.name, got, c.named)
		}
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looked := 0
	_, err := each(ctx, 0, numbers(10), number.owner, func(number) (int, error) {
		looked++
		cancel()
		return 0, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || looked != 1 {
		t.Errorf("%d looks, %v", looked, err)
	}
}

// number is an item with a pipeline of its own.
type number int

func (n number) owner() pipeline.ID { return pipeline.ID(fmt.Sprintf("p%d", int(n))) }

func numbers(n int) []number {
	all := make([]number, n)
	for i := range all {
		all[i] = number(i)
	}
	return all
}

func TestPanicAffectsOnlyItsOwnPipeline(t *testing.T) {
	looked := 0
	found, err := each(t.Context(), 0, numbers(10), number.owner, func(one number) (int, error) {
		if looked++; one == 2 {
			panic("broken")
		}
		return 1, nil
	})
	if looked != 10 || found != 9 || !slices.Equal(pipelines(err), []string{"p2"}) {
		t.Errorf("%d looks, %d findings, %v", looked, found, err)
	}
}
