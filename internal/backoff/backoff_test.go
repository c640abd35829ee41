package backoff_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
)

func TestWaitDoublesUpToTheMost(t *testing.T) {
	d := backoff.Doubling{First: 250 * time.Millisecond, Most: 10 * time.Second}
	for failures, want := range map[int]time.Duration{
		math.MinInt: 250 * time.Millisecond,
		0:           250 * time.Millisecond,
		1:           250 * time.Millisecond,
		2:           500 * time.Millisecond,
		6:           8 * time.Second,
		7:           10 * time.Second,
		math.MaxInt: 10 * time.Second,
	} {
		if got := d.After(failures); got != want {
			t.Errorf("waits %s after %d failures, want %s", got, failures, want)
		}
	}
}

func TestWaitNeverOverflows(t *testing.T) {
	for _, d := range []backoff.Doubling{{1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}, {}, {-time.Second, time.Second}} {
		if got := d.After(math.MaxInt); got < 0 || got > d.Most {
			t.Errorf("%v waits %s", d, got)
		}
	}
}

func TestSpreadIsRepeatableAndAtMostAFifthShorter(t *testing.T) {
	d := backoff.Doubling{First: time.Minute, Most: time.Hour}
	seen := map[time.Duration]bool{}
	for n := range 1000 {
		id := fmt.Sprintf("orders/2026-03-03/%d", n)
		got := d.Spread(3, id)
		if got > 4*time.Minute || got < 4*time.Minute*4/5 || got != d.Spread(3, id) {
			t.Fatalf("%s waits %s, then %s", id, got, d.Spread(3, id))
		}
		seen[got] = true
	}
	if len(seen) < 500 {
		t.Errorf("1000 ids have only %d different waits", len(seen))
	}
}
