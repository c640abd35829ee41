package router

import (
	"context"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// reportDry reports late data, and what would follow for a real run: for a rerun once per
// content, otherwise once per sensor.
func (h *lateHandler) reportDry(ctx context.Context, found lateData) error {
	o := order{asks: byLateData, cause: found.rerunCause(), entry: found.entry, run: found.run}
	v := o.allowed(found.now)
	var b store.Batch
	for _, l := range found.all {
		about := event.Of(found.run, found.now)
		about.CausedBy = found.cause
		why, follows := found.noRerun(l, v.Reason)
		if found.wantsRerun() && v.Open {
			why, follows = lateRerun, "a rerun would follow"
			about.Which += " " + l.Sensor() + " " + l.Content
		} else {
			follows = strings.Replace(follows, "no rerun follows", "no rerun would follow", 1)
			about.Which += " " + l.Sensor() + " " + why
		}
		b.ID = "dry-late/" + about.Which
		b.Events = append(b.Events[:0:0], event.New(event.DryRunLateData, about, found.message(l, "the dry run", follows), found.detail(l, why)))
		if err := h.commit(ctx, b, found.now); err != nil {
			return err
		}
	}
	return nil
}

// reportDry reports drift, and whether a real run would be rerun for it, and stores the
// baseline of a sensor that had none. As for a real run, nothing follows if the calendar excludes
// the period.
func (h *postRunHandler) reportDry(ctx context.Context, c comparison, seen store.SeenSensor, drifts []moved) error {
	old, post := c.run, c.stored
	barred, err := h.barred(ctx, c.entry, old.Key)
	if err != nil || barred != "" {
		return err
	}
	follows := "; a rerun would follow"
	o := order{asks: byDrift, cause: run.CauseDrift, entry: c.entry, run: old}
	if v := o.allowed(c.now); !v.Open {
		follows = "; no rerun would follow: " + v.Reason
	}
	b := store.Batch{ID: fmt.Sprintf("dry-drift/%s/v%d/%s/%s", old.Life(), post.Version, c.ruleKey(), seen.Content)}
	for _, m := range drifts {
		if m.Known && !m.Drifted {
			continue
		}
		about := event.Of(old, c.now)
		about.Which += " " + m.sensor + " " + m.field + " " + plain(m.is)
		message := fmt.Sprintf("%s of sensor %s %s", m.field, m.sensor, m.Reason)
		if m.Drifted {
			message += follows
		}
		b.ID += "/" + about.Which
		b.Emit(event.New(event.DryRunDrift, about, message, m.detail()))
	}
	if len(c.next.Baseline) != len(post.Baseline) || post.Attempt != c.next.Attempt {
		b.SwapPostRun(post, c.next)
	}
	return h.commit(ctx, b, c.now)
}
