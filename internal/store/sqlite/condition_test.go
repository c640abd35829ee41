package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// heldPages simulates a reserve on a disk filled by full: releasing it lets the file grow by that
// many pages.
type heldPages struct {
	engine *Engine
	size   int
	held   bool
	space  bool // there is enough space to take it again
}

func (p *heldPages) Held() bool { return p.held }

func (p *heldPages) Release() bool {
	if !p.held {
		return false
	}
	n, err := p.engine.conn.number("PRAGMA page_count")
	if err == nil {
		_, err = p.engine.conn.number(fmt.Sprintf("PRAGMA max_page_count = %d", n+int64(p.size)))
	}
	p.held = err != nil
	return err == nil
}

func (p *heldPages) Take() error {
	if !p.held && !p.space {
		return datadir.ErrNoReserve
	}
	p.held = true
	return nil
}

// fill puts large rows until the engine rejects one.
func fill(t *testing.T, e *Engine) error {
	t.Helper()
	for n := range 1000 {
		if err := e.Apply(t.Context(), row.Tx{Ops: []row.Op{large(fmt.Sprint("large/", n))}}, noon); err != nil {
			return err
		}
	}
	t.Fatal("the disk does not fill up")
	return nil
}

func wantFault(t *testing.T, what string, err error, kind store.FaultKind) {
	t.Helper()
	f := store.FaultOf(err)
	if f == nil || f.Kind != kind || f.Remedy == "" {
		t.Errorf("%s: got %v, want a %s fault", what, err, kind)
	}
}

// A full disk frees the reserve, so that the controller's own changes are stored. The store reports
// that it is full until the reserve is taken again.
func TestFullDiskFreesTheReserve(t *testing.T) {
	r := &heldPages{size: 500, space: true}
	s := opened(t, empty(t), Options{reserve: r})
	r.engine, r.space = s, false
	check(t, s.Probe(t.Context()))
	full(t, s, 20)
	for n := 0; r.held; n++ {
		put(t, s, large(fmt.Sprint("large/", n))) // the one that needs the reserve is stored too
	}
	wantFault(t, "trouble", s.Trouble(), store.Full)
	wantFault(t, "probe", s.Probe(t.Context()), store.Full)
	check(t, s.Apply(t.Context(), opening("x"), noon))
	wantFault(t, "trouble after a commit", s.Trouble(), store.Full)

	full(t, s, 1<<20)
	wantFault(t, "probe before the reserve fits", s.Probe(t.Context()), store.Full)
	r.space = true
	check(t, s.Probe(t.Context()))
	if err := s.Trouble(); err != nil || !r.held {
		t.Errorf("with space again: %v, reserve held: %t", err, r.held)
	}
}

// Without a reserve, or once it is used up, the store reports the full disk, and accepts changes
// again by itself.
func TestFullDiskWithoutReserveIsReported(t *testing.T) {
	s := opened(t, empty(t), Options{})
	full(t, s, 20)
	wantFault(t, "write", fill(t, s), store.Full)
	if err := fill(t, s); !errors.Is(err, store.ErrAway) {
		t.Errorf("a full disk is not ErrAway: %v", err)
	}
	wantFault(t, "trouble", s.Trouble(), store.Full)
	full(t, s, 1<<20)
	check(t, s.Probe(t.Context()))
	check(t, s.Trouble())
}

func TestReadOnlyStoreIsReported(t *testing.T) {
	s := opened(t, empty(t), Options{})
	check(t, s.Probe(t.Context()))
	err := s.write(t.Context(), opFunc(func(tx *tx) error {
		if err := tx.run(t.Context(), "PRAGMA query_only = ON"); err != nil {
			return err
		}
		return probe{}.do(tx)
	}), 1)
	wantFault(t, "write", err, store.ReadOnly)
	wantFault(t, "trouble", s.Trouble(), store.ReadOnly)
	wantFault(t, "probe", s.Probe(t.Context()), store.ReadOnly)
}

// A probe writes only if no other commit has shown that the store accepts changes.
func TestProbeOfABusyStoreWritesNothing(t *testing.T) {
	s := opened(t, empty(t), Options{})
	probes := func() (n int64) {
		t.Helper()
		check(t, s.read(t.Context(), func(c *conn) (err error) {
			n, err = c.number("SELECT value FROM meta WHERE name = 'probe'")
			return err
		}))
		return n
	}
	check(t, s.Probe(t.Context()))
	before := probes()
	for range 3 {
		put(t, s, reading("rows", 1))
		check(t, s.Probe(t.Context()))
	}
	if n := probes(); n != before {
		t.Errorf("%d probes were stored despite other commits", n-before)
	}
	s.condition.proved()
	check(t, s.Probe(t.Context()))
	if n := probes(); n != before+1 {
		t.Errorf("%d probes were stored, want 1", n-before)
	}
}

func TestReserveFileSurvivesARestart(t *testing.T) {
	const size = 1 << 20
	dir := empty(t)
	s := opened(t, dir, Options{Reserve: size})
	name := filepath.Join(dir, "reserve")
	reserved := func() int64 {
		t.Helper()
		info, err := os.Stat(name)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	if n := reserved(); n != size {
		t.Fatalf("%d bytes are reserved", n)
	}
	check(t, s.Trouble())
	if !s.condition.reserve.Release() || reserved() != 0 {
		t.Fatal("the reserve was not freed")
	}
	wantFault(t, "trouble", s.Trouble(), store.Full)
	check(t, s.Probe(t.Context()))
	check(t, s.Close())
	if n := reserved(); n != size {
		t.Errorf("%d bytes are reserved after Close", n)
	}
	s = opened(t, dir, Options{})
	if n := reserved(); n != 0 {
		t.Errorf("%d bytes are reserved after a start without reserve", n)
	}
	check(t, s.Trouble())
}
