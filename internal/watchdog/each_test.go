package watchdog

import (
	"errors"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
)

func TestEachPipelineIsLookedAtOnceHoweverManyLook(t *testing.T) {
	for _, workers := range []int{0, 1, 8, 200} {
		var mu sync.Mutex
		seen := map[*store.Pipeline]int{}
		p := pass{entries: make([]watched, 100)}
		for i := range p.entries {
			p.entries[i].row = &store.Pipeline{}
		}
		found, err := New(Deps{Workers: workers}).each(p, func(e watched) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[e.row]++
			return 2, nil
		})
		if err != nil || found != 200 || len(seen) != 100 {
			t.Errorf("%d workers: found %d in %d pipelines, %v", workers, found, len(seen), err)
		}
		for _, n := range seen {
			if n != 1 {
				t.Errorf("%d workers: one was looked at %d times", workers, n)
			}
		}
	}
}

func TestLookThatFailsEndsTheCheck(t *testing.T) {
	gone := errors.New("the store is gone")
	looked := 0
	_, err := New(Deps{}).each(pass{entries: make([]watched, 10)}, func(watched) (int, error) {
		if looked++; looked == 3 {
			return 0, gone
		}
		return 0, nil
	})
	if !errors.Is(err, gone) || looked != 3 {
		t.Errorf("%d looks, %v", looked, err)
	}
}
