package archive

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// maxNews is how many events and changes are read together. A larger page means that fewer runs are
// copied twice: once for an event, and again for the change that came with it.
const maxNews = store.MaxPage

// news is a page of new events and changes. They are read together because most of them concern the
// same runs.
type news struct {
	events  []store.StoredEvent
	rows    []row // the events as archive rows
	changes []store.Change
}

// follow copies everything announced after a position, until nothing is left. While it copies one
// page, it reads the next and the ledger writes the previous one.
func (p *pass) follow(ctx context.Context, after store.Position) error {
	n, err := p.archiver.first(ctx, after)
	before := taking{}
	for err == nil && len(n.events)+len(n.changes) > 0 {
		after = n.end(after)
		next := p.archiver.ahead(ctx, after)
		now := taking{news: n}
		now.written, err = p.take(ctx, n)
		then := <-next // ahead has stored its changes in held by now
		if err != nil {
			return err
		}
		if err := before.acknowledge(ctx, p.archiver); err != nil {
			return err
		}
		before, n, err = now, then.news, then.err
	}
	if failed := before.acknowledge(ctx, p.archiver); failed != nil {
		return failed
	}
	return err
}

// taking is a page of news on its way to the archive.
type taking struct {
	news    news
	written <-chan error // nil if there is no page
}

// acknowledge waits until the page is written, and then acknowledges it to the store.
func (n taking) acknowledge(ctx context.Context, a *Archiver) error {
	if n.written == nil {
		return nil
	}
	if err := <-n.written; err != nil {
		return err
	}
	return a.taken(ctx, n.news)
}

// end returns the position of the last event, or before if there are no events.
func (n news) end(before store.Position) store.Position {
	if last := len(n.events) - 1; last >= 0 {
		return n.events[last].Position
	}
	return before
}

// read is the result of ahead.
type read struct {
	news news
	err  error
}

// ahead reads the next page in the background.
func (a *Archiver) ahead(ctx context.Context, after store.Position) <-chan read {
	done := make(chan read, 1)
	go func() {
		n, err := a.next(ctx, after)
		done <- read{n, err}
	}()
	return done
}

// taken acknowledges an archived page to the store, which keeps everything until then.
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

// first reads the first page of a pass. It begins with the changes that the previous pass received
// but could not archive, because the store does not deliver them again.
func (a *Archiver) first(ctx context.Context, after store.Position) (n news, err error) {
	if len(a.held) == 0 {
		return a.next(ctx, after)
	}
	n.changes = a.held
	return n, n.read(ctx, a.store, after)
}

// next reads the next page of events and changes.
func (a *Archiver) next(ctx context.Context, after store.Position) (n news, err error) {
	if err := n.read(ctx, a.store, after); err != nil {
		return n, err
	}
	n.changes, err = receive(ctx, a.store, a.consumer, len(a.held))
	a.held = append(a.held, n.changes...)
	return n, err
}

// read reads the events after a position.
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

// patience is how long a pass waits for changes in the backlog that another process may have
// received.
const patience = time.Second

// receive returns the next changes. It returns none if there are none or if other consumers have
// received them. held is how many changes this process has received and not yet acknowledged.
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

// take copies a page of news and the current state of the runs and readings it names. The cursors
// go with the last batch, which is not yet written when take returns.
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
	return p.ledger.queueBatch(n.places(p.now)), nil
}

// runs returns the runs that the page concerns. Some are named only by an event: only their job log
// has changed.
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

// requested returns the runs for which a rerun was requested, whether the run exists or not.
func (n news) requested() []run.Key {
	var keys []run.Key
	for _, e := range n.events {
		if key, about := subject(e.Event); about && (e.Event.Type == event.RerunAccepted || e.Event.Type == event.RerunRejected) {
			keys = append(keys, key)
		}
	}
	return distinct(keys)
}

// subject returns the run that an event is about.
func subject(e event.Event) (run.Key, bool) {
	key := run.Key{Pipeline: e.Detail.Pipeline, Schedule: e.Detail.Schedule, Period: e.Detail.Date}
	return key, key.Schedule != "" && !key.Period.IsZero()
}

// written returns the ids of the sensor writes in the page.
func (n news) written() []store.WriteID {
	var ids []store.WriteID
	for _, c := range n.changes {
		if c.Kind == store.ReadingWritten {
			ids = append(ids, store.WriteID{Pipeline: c.Pipeline, Key: c.Sensor, Version: c.Version})
		}
	}
	return ids
}

// places returns the cursor rows for the end of the page.
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
