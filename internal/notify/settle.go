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
	enoughEver = 20 // tries, of one that fails while the sink takes others
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
		s := Settled{Sent: true, Back: o.told}
		o.failures, o.told, o.refusing = 0, false, false
		o.remove(l, now)
		return s, nil
	}
	s := Settled{Err: said}
	l.tries++
	var busy *sink.Busy
	switch {
	case errors.As(said, new(*sink.Refused)), l.tries >= enoughEver && o.failures == 0:
		return o.refused(ctx, l, s, now)
	case errors.As(said, &busy) && busy.After > 0:
		o.until = later(o.until, now.Add(busy.After))
		l.tries--             // it is not this one that is wrong
		return Settled{}, nil // nor is the sink
	}
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

// refused buries a letter that the sink does not take although it takes others.
func (o *Outbox) refused(ctx context.Context, l *Letter, s Settled, now time.Time) (Settled, error) {
	if !l.follow { // what was only to be brought up to date is no loss
		if err := o.n.bury(ctx, o.name, l.alert, l.tries, s.Err, now); err != nil {
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
			if l.sending || !tried || now.Sub(l.alert.Since) < patience {
				break
			}
			if !l.follow {
				if err := o.n.bury(ctx, o.name, l.alert, l.tries, why, now); err != nil {
					return buried, err
				}
				buried++
			}
			o.remove(l, now)
		}
	}
	return buried, nil
}
