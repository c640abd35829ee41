package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// fill stores ten kilobytes each ten minutes, as a write and as an event.
func (f *fixture) fill(from, minutes int) {
	f.t.Helper()
	for i := from; i < from+minutes; i += 10 {
		at := after(time.Duration(i) * time.Minute)
		w := write("2026-03-01", int64(i))
		w.Reading.Fields = sensor.Fields{"n": int64(i), "text": strings.Repeat("x", 9600)}
		f.put(at, w)
		f.commitAt(at, func(b *store.Batch) { b.Emit(newEvent(orders, strings.Repeat("e", 9000)+fmt.Sprint(i), at)) })
	}
}

func fitKeeps(f *fixture) {
	f.fill(0, 180)
	limits := store.Retention{EventsBytes: 100_000, HistoryBytes: 200_000, History: 30 * keepDay}
	now := after(3 * time.Hour)
	keep, err := f.s.Fit(f.ctx, limits, now)
	f.check(err)
	f.same("what fits is kept as long as before", keep.History, limits.History)
	if keep.Events < 75*time.Minute || keep.Events > 2*time.Hour {
		f.t.Errorf("events are kept for %s", keep.Events)
	}
	f.trimAll(keep, now)
	f.fill(180, 120)
	now = after(5 * time.Hour)
	keep, err = f.s.Fit(f.ctx, limits, now)
	f.check(err)
	if keep.History < 3*time.Hour || keep.History > 4*time.Hour {
		f.t.Errorf("writes are kept for %s", keep.History)
	}
	again, err := f.s.Fit(f.ctx, limits, now)
	f.check(err)
	f.same("asked again", again, keep)
	f.trimAll(keep, now)
	if n := len(f.history("rows")); n < 18 || n > 21 {
		f.t.Errorf("%d writes are left", n)
	}
	limits.HistoryBytes = 1
	keep, err = f.s.Fit(f.ctx, limits, now.Add(2*time.Minute))
	f.check(err)
	f.same("however small the limit", keep.History >= store.LeastFit, true)
}
