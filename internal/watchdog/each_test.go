package watchdog

import (
	"errors"
	"sync"
	"testing"
)

func TestEachIsLookedAtOnceHoweverManyLook(t *testing.T) {
	for _, workers := range []int{0, 1, 8, 200} {
		var mu sync.Mutex
		seen := map[int]int{}
		var all []int
		for i := range 100 {
			all = append(all, i)
		}
		found, err := each(workers, all, func(one int) (int, error) {
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
				t.Errorf("%d workers: one was looked at %d times", workers, n)
			}
		}
	}
}

func TestLookThatFailsEndsTheCheck(t *testing.T) {
	gone := errors.New("the store is gone")
	looked := 0
	_, err := each(0, make([]int, 10), func(int) (int, error) {
		if looked++; looked == 3 {
			return 0, gone
		}
		return 0, nil
	})
	if !errors.Is(err, gone) || looked != 3 {
		t.Errorf("%d looks, %v", looked, err)
	}
}
