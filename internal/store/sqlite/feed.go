package sqlite

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store/row"
)

// progress holds acknowledgements of groups that are not yet in the database. The next commit saves
// them; after a crash before that, changes are received again.
type progress struct {
	mu    sync.Mutex
	moved map[string]*row.Progress
}

func (p *progress) add(group string, to row.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved[group] = &to
}

func (p *progress) all() map[string]*row.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.moved)
}

// remove removes saved entries, unless the group has moved on since.
func (p *progress) remove(saved map[string]*row.Progress) {
	if len(saved) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.moved, func(name string, of *row.Progress) bool { return saved[name] == of })
}

func (tx *tx) saveProgress() (map[string]*row.Progress, error) {
	all := tx.w.progress.all()
	for name, p := range all {
		open, err := json.Marshal(p.Open)
		if err != nil {
			return nil, err
		}
		if err := tx.exec("INSERT OR REPLACE INTO groups (name, through, open) VALUES (?, ?, ?)",
			name, p.Through, string(open)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// restoreGroups reads the saved acknowledgements of the groups.
func (e *Engine) restoreGroups(ctx context.Context) error {
	e.progress.moved = map[string]*row.Progress{}
	e.Groups = row.NewGroups(e, e.progress.add)
	return e.conn.query("SELECT name, through, open FROM groups", func(v values) error {
		p := row.Progress{Through: v.int(1)}
		if err := json.Unmarshal([]byte(v.text(2)), &p.Open); err != nil {
			return err
		}
		return e.Groups.Restore(ctx, v.text(0), p)
	})
}

// ChangesAfter and CountAfter implement the source of row.Groups.
func (e *Engine) ChangesAfter(ctx context.Context, position int64, limit int) (changes []row.Change, err error) {
	err = e.read(ctx, func(c *conn) error {
		return c.query("SELECT last, n, at, bodies FROM changes WHERE last > ? ORDER BY last", func(v values) error {
			at, bodies := time.Unix(0, v.int(2)).UTC(), v.blob(3)
			for next := v.int(0) - v.int(1) + 1; len(bodies) > 0; next++ {
				length, n := binary.Uvarint(bodies)
				if n <= 0 || length > uint64(len(bodies)-n) {
					return errors.New("the log of changes holds a row that cannot be read; run interlock repair")
				}
				end := n + int(length)
				if next > position {
					changes = append(changes, row.Change{Position: next, At: at, Body: bodies[n:end:end]})
				}
				if len(changes) == limit {
					return errStop
				}
				bodies = bodies[end:]
			}
			return nil
		}, position)
	})
	return changes, err
}

// CountAfter adds up the changes of each transaction after the position.
func (e *Engine) CountAfter(ctx context.Context, position int64) (n int, err error) {
	err = e.read(ctx, func(c *conn) error {
		sum, err := c.number("SELECT sum(min(n, last - ?)) FROM changes WHERE last > ?", position, position)
		n = int(sum)
		return err
	})
	return n, err
}
