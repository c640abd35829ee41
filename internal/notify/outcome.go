package notify

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sink"
)

const (
	minWait = time.Second
	maxWait = 5 * time.Minute
	// patience is how long an alert is retried. Older ones are buried once the sink has been tried
	// enoughFor times.
	patience   = 24 * time.Hour
	enoughFor  = 5  // tries before an alert older than patience is buried
	enoughEver = 20 // failed tries before an alert is buried although the sink accepts others
)

// Outcome is the result of sending a letter, for the host to report.
type Outcome struct {
	Sent   bool
	Buried int   // letters stored as dead letters
	Err    error // why the sink did not accept it; nil if it only asked to wait
	Back   bool  // the sink accepts alerts again after a failure
}

// Record records the sink's result for a letter. It returns store errors only; the letter then
// stays queued.
func (o *Outbox) Record(ctx context.Context, l *Letter, said error, now time.Time) (Outcome, error) {
	l.sending = false
	o.sending--
	if said == nil {
		return o.taken(l, now), nil
	}
	s := Outcome{Err: said}
	if busy, ok := errors.AsType[*sink.Busy](said); ok && busy.After > 0 { // rate limited: neither the letter nor the sink is at fault
		o.until = period.Later(o.until, now.Add(busy.After))
		l.back()
		return Outcome{}, nil
	}
	if l.tries++; o.failures == 0 || o.stuckBehind(l) {
		l.alone++
	}
	if errors.As(said, new(*sink.Refused)) || l.alone >= enoughEver {
		return o.refused(ctx, l, s, now)
	}
	l.back()
	if o.failures == 0 || !now.Before(o.until) { // concurrent failures count once
		o.failures++
	}
	o.until = period.Later(o.until, now.Add(o.pause(l, o.failures)))
	l.retryAt = now.Add(o.pause(l, l.tries))
	o.failing = true
	buried, err := o.buryOld(ctx, said, now)
	s.Buried = buried
	return s, err
}

// taken removes a letter that the sink accepted. A follow-up that never failed proves nothing about
// the sink: the sink may have had nothing to update.
func (o *Outbox) taken(l *Letter, now time.Time) Outcome {
	o.remove(l, now)
	if l.follow && l.tries == 0 {
		return Outcome{}
	}
	s := Outcome{Sent: true, Back: o.failing}
	o.failures, o.failing = 0, false
	return s
}

// stuckBehind reports whether letters such as l, which failed more than once while the sink
// accepted others, keep the outbox from reading on. Then there may be no other letters left for the
// sink to accept.
func (o *Outbox) stuckBehind(l *Letter) bool { return l.alone > 1 && o.crowded() }

// back records that a letter stays queued.
func (l *Letter) back() {
	if l.group != nil {
		l.group.back()
	}
}

// refused buries a letter that the sink rejects although it accepts others.
func (o *Outbox) refused(ctx context.Context, l *Letter, s Outcome, now time.Time) (Outcome, error) {
	if !l.follow { // losing a follow-up is harmless
		if err := o.n.bury(ctx, o.name, &o.lease, l.alert, l.tries, s.Err, now); err != nil {
			l.retryAt = now.Add(minWait)
			return s, err
		}
		s.Buried = 1
	}
	o.remove(l, now)
	return s, nil
}

// pause returns the delay after that many consecutive failures.
func (o *Outbox) pause(l *Letter, failures int) time.Duration {
	return backoff.Doubling{First: minWait, Most: maxWait}.Spread(failures, o.name+"/"+l.alert.Event.ID)
}

// buryOld buries letters that have been retried for longer than patience.
func (o *Outbox) buryOld(ctx context.Context, why error, now time.Time) (buried int, err error) {
	for lane := range o.lanes {
		for len(o.lanes[lane]) > 0 {
			l := o.lanes[lane][0]
			tried := l.tries >= enoughFor || o.failures >= enoughFor
			if l.sending || !tried || now.Sub(l.ready) < patience {
				break
			}
			if !l.follow {
				if err := o.n.bury(ctx, o.name, &o.lease, l.alert, l.tries, why, now); err != nil {
					return buried, err
				}
				buried++
			}
			o.remove(l, now)
		}
	}
	return buried, nil
}
