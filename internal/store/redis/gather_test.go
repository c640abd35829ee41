package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

func TestCallsGoTogetherWithinBounds(t *testing.T) {
	var all []*putCall
	for _, c := range []putCall{{count: 100}, {count: 100}, {count: 1}, {count: 1000}, {count: 1, size: sizeTogether}, {count: 1, size: 1}} {
		all = append(all, &c)
	}
	for _, want := range []int{2, 1, 1, 1, 1} {
		if got := goTogether(all); got != want {
			t.Fatalf("%d calls go, want %d", got, want)
		}
		all = all[want:]
	}
}

func TestEachOfManyWritersIsAnsweredForItsOwn(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	var writers sync.WaitGroup
	for w := range 20 {
		writers.Go(func() {
			for n := range int64(20) {
				one := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: sensor.Key(fmt.Sprintf("rows-%d", w)), Fields: sensor.Fields{"count": n}}}
				puts, err := s.PutReadings(t.Context(), []store.Write{one, one}, noon)
				if err != nil || len(puts) != 2 {
					t.Errorf("answered %v, %v", puts, err)
					return
				}
				if puts[1].Version <= puts[0].Version || !puts[0].Changed || puts[1].Changed {
					t.Errorf("writer %d: the second write of the same answered %+v after %+v", w, puts[1], puts[0])
				}
				got, err := s.LatestReadings(t.Context(), store.LatestQuery{Pipeline: "orders"})
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range got.Items {
					if r.Key == one.Reading.Key && r.Version != puts[1].Version {
						t.Errorf("writer %d: version %d is there, and %d was answered", w, r.Version, puts[1].Version)
					}
				}
			}
		})
	}
	writers.Wait()
}

func TestWriterThatGivesUpIsToldSo(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.PutReadings(gone, write(1), noon); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
