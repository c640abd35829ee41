package sqlite

import (
	"testing"

	"github.com/interlock-go/interlock/internal/store"
)

// sqlPlace is where a cursor stands in the file.
func sqlPlace(t *testing.T, s *Store, name string) (at int64) {
	t.Helper()
	check(t, s.read(t.Context(), func(c *conn) (err error) {
		at, err = c.number("SELECT pos FROM cursors WHERE name = ?", name)
		return err
	}))
	return at
}

func TestCursorThatMovesOnIsTakenAlongByTheNextCommit(t *testing.T) {
	s := opened(t, empty(t), Options{})
	check(t, s.SetCursor(t.Context(), "hook", 1))
	if at := sqlPlace(t, s, "hook"); at != 1 {
		t.Errorf("a new cursor stands at %d in the file, want 1", at)
	}
	check(t, s.SetCursor(t.Context(), "hook", 5))
	if at := sqlPlace(t, s, "hook"); at != 1 {
		t.Errorf("a cursor that moved on had a commit of its own: it stands at %d", at)
	}
	check(t, s.Commit(t.Context(), opening(orders), noon))
	if at := sqlPlace(t, s, "hook"); at != 5 {
		t.Errorf("after the next commit it stands at %d in the file, want 5", at)
	}
}

func TestCursorMovedBackStaysThere(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{})
	for _, at := range []store.Position{1, 5, 3} {
		check(t, s.SetCursor(t.Context(), "hook", at))
	}
	if at := sqlPlace(t, s, "hook"); at != 3 {
		t.Errorf("it stands at %d in the file, want 3", at)
	}
	check(t, s.SetCursor(t.Context(), "hook", 4))
	check(t, s.Close())
	at, err := opened(t, dir, Options{}).Cursor(t.Context(), "hook")
	check(t, err)
	if at != 4 {
		t.Errorf("after closing it is %d, want 4", at)
	}
}

func TestDroppedCursorDoesNotComeBack(t *testing.T) {
	s := opened(t, empty(t), Options{})
	check(t, s.SetCursor(t.Context(), "hook", 1))
	check(t, s.SetCursor(t.Context(), "hook", 5))
	check(t, s.DropCursor(t.Context(), "hook"))
	check(t, s.Commit(t.Context(), opening(orders), noon))
	var rows int64
	check(t, s.read(t.Context(), func(c *conn) (err error) {
		rows, err = c.number("SELECT count(*) FROM cursors WHERE name = ?", "hook")
		return err
	}))
	if at, err := s.Cursor(t.Context(), "hook"); at != 0 || err != nil || rows != 0 {
		t.Errorf("it is at %d, with %d rows in the file: %v", at, rows, err)
	}
}
