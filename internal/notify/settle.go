package notify

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/sink"
)

const (
	minWait = time.Second
	maxWait = 5 * time.Minute
	// patience is how long an alert may be on its way. Older ones are buried once the sink was tried often enough.
	patience   = 24 * time.Hour
	enoughFor  = 5  // tries, of an alert that is older
	enoughEver = 20 // tries that failed while the sink took others
)

// Settled is what became of a letter, for the host to tell.
type Settled struct {
	Sent   bool
	Buried int   // letters that were kept as dead
	Err    error // why the sink did not take it; nil where it only asked for time
	Tell   bool  // it is the first since the sink took one
	Back   bool  // the sink takes alerts again after it had been told that it does not
}

// Settle takes note of what the sink said to a letter. Its error is that of the store; the letter stays where it was then.
func (o *Outbox) Settle(ctx context.Context, l *Letter, said error, now time.Time) (Settled, error) {
	l.sending = false
	o.sending--
	if said == nil {
		return o.taken(l, now), nil
	}
	s := Settled{Err: said}
	var busy *sink.Busy
	if errors.As(said, &busy) && busy.After > 0 { // neither this one is wrong nor the sink
		o.until = later(o.until, now.Add(busy.After))
		l.back()
		return Settled{}, nil
	}
	if l.tries++; o.failures == 0 || o.stuckBehind(l) {
		l.alone++
	}
	if errors.As(said, new(*sink.Refused)) || l.alone >= enoughEver {
		return o.refused(ctx, l, s, now)
	}
	l.back()
	if o.failures == 0 || !now.Before(o.until) { // several that were under way fail as one
		o.failures++
	}
	o.until = later(o.until, now.Add(o.backoff(l, o.failures)))
	l.retryAt = now.Add(o.backoff(l, l.tries))
	s.Tell, o.told = !o.told, true
	buried, err := o.buryOld(ctx, said, now)
	s.Buried = buried
	return s, err
}

// taken removes a letter that the sink took. One that only follows, and never failed, shows nothing about the sink: it may
// have had nothing to say.
func (o *Outbox) taken(l *Letter, now time.Time) Settled {
	o.remove(l, now)
	if l.follow && l.tries == 0 {
		return Settled{}
	}
	s := Settled{Sent: true, Back: o.told}
	o.failures, o.told, o.refusing = 0, false, false
	return s
}

// stuckBehind says that no more is read, so that there may be no others that the sink could take, because of letters such
// as l: one that failed more than once while the sink took others.
func (o *Outbox) stuckBehind(l *Letter) bool { return l.alone > 1 && o.crowded() }

// back takes note that a letter stays where it was.
func (l *Letter) back() {
	if l.group != nil {
		l.group.back()
	}
}

// refused buries a letter that the sink does not take although it takes others.
func (o *Outbox) refused(ctx context.Context, l *Letter, s Settled, now time.Time) (Settled, error) {
	if !l.follow { // what was only to be brought up to date is no loss
		if err := o.n.bury(ctx, o.name, &o.lease, l.alert, l.tries, s.Err, now); err != nil {
			l.retryAt = now.Add(minWait)
			return s, err
		}
		s.Buried = 1
	}
	o.remove(l, now)
	s.Tell, o.refusing = !o.refusing, true
	return s, nil
}

// backoff is how long to wait after so many failures in a row.
func (o *Outbox) backoff(l *Letter, failures int) time.Duration {
	return rerun.Backoff(minWait, maxWait, failures-1, o.name+"/"+l.alert.Event.ID)
}

// buryOld buries what has been on its way for too long.
func (o *Outbox) buryOld(ctx context.Context, why error, now time.Time) (buried int, err error) {
	for _, q := range o.lanes {
		for len(q.letters) > 0 {
			l := q.letters[0]
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
