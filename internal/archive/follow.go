package archive

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// maxNews is how many events and changes are taken together. The more, the less often is a run copied for an event, and
// once more for the change that came with it.
const maxNews = store.MaxPage

// news is what was announced since: events, and changes in the feed. They are taken together, since most of them tell of
// the same runs.
type news struct {
	events  []store.StoredEvent
	rows    []row // the events, as they are archived
	changes []store.Change
}

// follow copies what was announced after a place, until there is nothing left. While something is copied, the next is
// read, and what came before is written.
func (p *pass) follow(ctx context.Context, after store.Position) error {
	n, err := p.archiver.first(ctx, after)
	before := taking{}
	for err == nil && len(n.events)+len(n.changes) > 0 {
		after = n.end(after)
		next := p.archiver.ahead(ctx, after)
		now := taking{news: n}
		now.written, err = p.take(ctx, n)
		then := <-next // whatever came of it is held by now
		if err != nil {
			return err
		}
		if err := before.settle(ctx, p.archiver); err != nil {
			return err
		}
		before, n, err = now, then.news, then.err
	}
	if settled := before.settle(ctx, p.archiver); settled != nil {
		return settled
	}
	return err
}

// taking is news that are on their way to the archive.
type taking struct {
	news    news
	written <-chan error // nil if there are none
}

// settle waits until they are there, and tells the store.
func (n taking) settle(ctx context.Context, a *Archiver) error {
	if n.written == nil {
		return nil
	}
	if err := <-n.written; err != nil {
		return err
	}
	return a.taken(ctx, n.news)
}

// end is the place of the last event; the one before, if there is none.
func (n news) end(before store.Position) store.Position {
	if last := len(n.events) - 1; last >= 0 {
		return n.events[last].Position
	}
	return before
}

// read is what reading came to.
type read struct {
	news news
	err  error
}

// ahead reads what comes next while something else goes on.
func (a *Archiver) ahead(ctx context.Context, after store.Position) <-chan read {
	done := make(chan read, 1)
	go func() {
		n, err := a.next(ctx, after)
		done <- read{n, err}
	}()
	return done
}

// taken tells the store what is safe; until then it keeps everything.
func (a *Archiver) taken(ctx context.Context, n news) error {
	if last := len(n.events) - 1; last >= 0 {
		if err := a.store.SetCursor(ctx, Name, n.events[last].Position); err != nil {
			return err
		}
	}
	if err := a.store.Done(ctx, Name, n.changes); err != nil {
		return err
	}
	a.held = a.held[len(n.changes):]
	return nil
}

// first reads what a pass begins with: the changes that the one before received and could not archive, which the store
// does not give again.
func (a *Archiver) first(ctx context.Context, after store.Position) (n news, err error) {
	if len(a.held) == 0 {
		return a.next(ctx, after)
	}
	n.changes = a.held
	return n, n.read(ctx, a.store, after)
}

// next reads what comes next.
func (a *Archiver) next(ctx context.Context, after store.Position) (n news, err error) {
	if err := n.read(ctx, a.store, after); err != nil {
		return n, err
	}
	n.changes, err = receive(ctx, a.store, a.consumer, len(a.held))
	a.held = append(a.held, n.changes...)
	return n, err
}

// read reads the events after a place.
func (n *news) read(ctx context.Context, from source, after store.Position) (err error) {
	if n.events, err = from.EventsAfter(ctx, after, maxNews); err != nil {
		return err
	}
	for _, e := range n.events {
		r, err := eventRow(e)
		if err != nil {
			return err
		}
		n.rows = append(n.rows, r)
	}
	return nil
}

// patience is how long a pass waits for changes that the store says there are and another process may hold.
const patience = time.Second

// receive gives the next changes; none if there are none, or if others hold them. So many are held here.
func receive(ctx context.Context, s source, consumer string, held int) ([]store.Change, error) {
	n, _, err := s.Backlog(ctx, Name)
	if err != nil || n <= held {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	changes, err := s.Receive(waiting, Name, consumer, maxNews)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return changes, err
}

// take copies news, and what it is about, as that is now. How far all of it is comes with the last rows, which are not
// written yet when it returns.
func (p *pass) take(ctx context.Context, n news) (written <-chan error, err error) {
	if err := p.runs(ctx, n.runs()); err != nil {
		return nil, err
	}
	if err := p.requests(ctx, n.requested()); err != nil {
		return nil, err
	}
	if err := p.writes(ctx, n.written()); err != nil {
		return nil, err
	}
	for _, r := range n.rows {
		p.ledger.add(events, r)
	}
	return p.ledger.begin(n.places(p.now)), nil
}

// runs are those that it tells of. Some are named by an event alone: what is new about them is in their job logs.
func (n news) runs() []run.Key {
	var keys []run.Key
	for _, e := range n.events {
		if key, about := subject(e.Event); about {
			keys = append(keys, key)
		}
	}
	for _, c := range n.changes {
		if c.Kind == store.RunMoved {
			keys = append(keys, c.Run)
		}
	}
	return distinct(keys)
}

// requested are the runs that somebody asked another attempt of, whether there is such a run or not.
func (n news) requested() []run.Key {
	var keys []run.Key
	for _, e := range n.events {
		if key, about := subject(e.Event); about && (e.Event.Type == event.RerunAccepted || e.Event.Type == event.RerunRejected) {
			keys = append(keys, key)
		}
	}
	return distinct(keys)
}

// subject is the run that an event is about.
func subject(e event.Event) (run.Key, bool) {
	key := run.Key{Pipeline: e.Detail.Pipeline, Schedule: e.Detail.Schedule, Period: e.Detail.Date}
	return key, key.Schedule != "" && !key.Period.IsZero()
}

// written names the writes that it tells of.
func (n news) written() []store.WriteID {
	var ids []store.WriteID
	for _, c := range n.changes {
		if c.Kind == store.ReadingWritten {
			ids = append(ids, store.WriteID{Pipeline: c.Pipeline, Key: c.Sensor, Version: c.Version})
		}
	}
	return ids
}

// places says how far all of it is.
func (n news) places(at time.Time) rows {
	all := rows{table: cursors}
	if last := len(n.events) - 1; last >= 0 {
		all.rows = append(all.rows, cursorRow(eventsCursor, int64(n.events[last].Position), at))
	}
	if last := len(n.changes) - 1; last >= 0 {
		all.rows = append(all.rows, cursorRow(changesCursor, int64(n.changes[last].Position), at))
	}
	return all
}
