package sqlite

import (
	"cmp"
	"context"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// queueLength is how many calls may wait. More wait as well, but at the channel's door.
const queueLength = 1024

// newWriter reads where the file stands.
func newWriter(c *conn, o Options) (*writer, error) {
	w := &writer{
		conn:      c,
		condition: &condition{reserve: o.reserve},
		queue:     make(chan *request, queueLength),
		overlay:   &overlay{fresh: newGeneration()},
		leases:    newLeases(),
		feed:      &feed{groups: map[string]*group{}},
		cursors:   newCursors(),
		tips:      map[sensorID]tip{},
		rows:      map[rowID]*reading{},
		runs:      newRecent[run.Key, run.Run](),
		pipelines: newRecent[pipeline.ID, store.Pipeline](),
		foldAfter: cmp.Or(o.foldAfter, foldRows),
		foldStep:  cmp.Or(o.foldStep, foldStep),
	}
	for _, step := range []func() error{w.readPositions, w.readGroups, w.readCursors, w.readLog, w.readLeases, w.newEpoch} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// readPositions takes care that no position is ever used twice, also where the last rows were forgotten.
func (w *writer) readPositions() (err error) {
	read := func(n *int64, query string) {
		if err == nil {
			*n, err = w.conn.number(query)
		}
	}
	read(&w.feed.start, "SELECT value FROM meta WHERE name = 'forgotten_changes'")
	read(&w.pos, "SELECT max(pos) FROM log")
	var gap int64 // see Repair
	read(&gap, "SELECT value FROM meta WHERE name = 'last_change'")
	w.pos = max(w.pos, w.feed.start, gap)
	w.committed.Store(w.pos)
	var last int64
	read(&last, "SELECT value FROM meta WHERE name = 'last_event'")
	read(&w.event, "SELECT max(pos) FROM events")
	w.event = max(w.event, last)
	read(&w.high, "SELECT high FROM events ORDER BY pos DESC LIMIT 1")
	return err
}

func (w *writer) readGroups() error {
	return w.conn.query("SELECT name, place FROM feed_groups", func(r row) error {
		w.feed.groups[r.text(0)] = &group{place: r.int(1), given: r.int(1)}
		return nil
	})
}

func (w *writer) readCursors() error {
	return w.conn.query("SELECT name, pos FROM cursors", func(r row) error {
		w.cursors.at[r.text(0)] = r.int(1)
		return nil
	})
}

// readLog brings back the writes that were not folded when the process ended.
func (w *writer) readLog() error {
	folded, err := w.conn.number("SELECT value FROM meta WHERE name = 'folded'")
	if err != nil {
		return err
	}
	return w.conn.query(`SELECT pos, kind, at, pipeline, sensor, period, prev_same, ord, extra, body FROM log
		WHERE pos > ? AND kind <= ? ORDER BY pos`, func(row row) error {
		r := &reading{
			sensorID: sensorID{pipeline.ID(row.text(3)), sensor.Key(row.text(4))},
			version:  row.int(0), changed: row.int(1) == kindChanged, at: row.int(2),
			prevSame: row.int(6), order: row.int(7), extra: row.text(8), body: row.text(9),
		}
		var err error
		if r.period, err = period.Parse(row.text(5)); row.text(5) != "" && err != nil {
			return err
		}
		if k := w.overlay.fresh.keys[r.sensorID]; k != nil {
			r.prev = k.tip
		} else if r.prev, err = storedTip(w.conn, r.sensorID); err != nil {
			return err
		}
		w.overlay.fresh.add(r)
		return nil
	}, folded, kindChanged)
}

// readLeases brings back what was held when the store was closed. After a crash there is nothing: nobody is left to hold it.
func (w *writer) readLeases() error {
	if err := w.conn.query("SELECT task, token, until, moved FROM leases", func(r row) error {
		w.leases.held[r.text(0)] = &lease{token: r.int(1), until: fromNanos(r.int(2)), moved: r.int(3) == 1}
		return nil
	}); err != nil {
		return err
	}
	return w.conn.exec("DELETE FROM leases")
}

// newEpoch makes the tokens of this process larger than those of any before it.
func (w *writer) newEpoch() error {
	if err := w.conn.exec("UPDATE meta SET value = value + 1 WHERE name = 'epoch'"); err != nil {
		return err
	}
	epoch, err := w.conn.number("SELECT value FROM meta WHERE name = 'epoch'")
	w.leases.token = epoch << 32
	return err
}

// finish stores what is in memory alone. A crash does without it: readings and places are read from the log again.
func (w *writer) finish() error {
	if err := w.foldAll(); err != nil {
		return err
	}
	return w.condition.withReserve(w.storePlaces)
}

// storePlaces stores the places of groups and cursors, and who holds which task.
func (w *writer) storePlaces() error {
	for name, place := range w.feed.unsaved() {
		if err := w.conn.exec(upsertPlace, name, place); err != nil {
			return err
		}
	}
	for name, at := range w.cursors.moved() {
		if err := w.conn.exec(upsertCursor, name, at); err != nil {
			return err
		}
	}
	for task, l := range w.leases.held {
		if err := w.conn.exec("INSERT OR REPLACE INTO leases (task, token, until, moved) VALUES (?, ?, ?, ?)", task, l.token, nanos(l.until), l.moved); err != nil {
			return err
		}
	}
	return w.conn.run(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
}
