package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// TestWayOutOfADamagedStore damages the store of a controller in several ways. Each time the
// controller must name the damage, interlock check must find it, and interlock restore must lead back
// to a controller that has everything of the backup and accepts writes.
func TestWayOutOfADamagedStore(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	garble := func(g *ground, name string, at int64) {
		f, err := os.OpenFile(g.path(name), os.O_WRONLY, 0)
		g.check(err)
		_, err = f.WriteAt(bytes.Repeat([]byte("damaged!"), 512), at)
		g.check(err)
		g.check(f.Close())
	}
	for name, c := range map[string]struct {
		killed  bool // before the damage
		damage  func(*ground)
		refused []string // what a controller says that does not start; otherwise /readyz does
		found   string   // by interlock check
	}{
		"the table of all records":  {false, func(g *ground) { g.damageTable("rows") }, []string{"damaged", "interlock restore"}, "rows"},
		"a table that is read late": {false, func(g *ground) { g.damageTable("applied") }, nil, "applied"},
		"the first page":            {false, func(g *ground) { garble(g, "data/interlock.db", 0) }, []string{"damaged or no database", "interlock restore"}, "not a database"},
		"the write-ahead log":       {true, func(g *ground) { garble(g, "data/interlock.db-wal", 0) }, []string{"interlock.db-wal cannot be replayed", "interlock restore"}, "cannot be replayed"},
		"a lost write-ahead log":    {true, func(g *ground) { g.check(os.Remove(g.path("data/interlock.db-wal"))) }, []string{"interlock.db-wal is missing", "restored backup"}, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, binary, "")
			g.pipeline("orders", prompt)
			d := g.start()
			d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
			d.reaches("orders/stream/2026-03-03", client.Completed)
			g.walks(0, "is a copy of the store", "backup", "saved.db", "--data", "data")
			d.put("orders", "landed#2026-03-04", map[string]any{"n": 1})
			d.reaches("orders/stream/2026-03-04", client.Completed)
			if c.killed {
				d.kill()
				g.endKeepers()
			} else {
				d.stop()
			}
			c.damage(g)
			if c.refused != nil {
				g.refuses(c.refused...)
			} else {
				d = g.start()
				until(t, "readyz names the damage", func() bool {
					status, text := d.readiness()
					return status == http.StatusServiceUnavailable && strings.Contains(text, "damaged") && strings.Contains(text, "interlock restore")
				})
				g.walks(2, "in use", "restore", "saved.db", "--data", "data")
				d.stop()
			}
			g.walks(1, c.found, "check", "--data", "data")
			g.walks(0, "is kept as", "restore", "saved.db", "--data", "data")
			g.walks(0, "not damaged", "check", "--data", "data")
			d = g.start()
			d.reaches("orders/stream/2026-03-03", client.Completed)
			d.put("orders", "landed#2026-03-05", map[string]any{"n": 1})
			d.reaches("orders/stream/2026-03-05", client.Completed)
			if len(d.runs()) != 2 {
				t.Errorf("runs %v, want those of the backup and the new one", d.runs())
			}
		})
	}
}

// walks runs a command in the controller's directory, and expects its exit code and output.
func (g *ground) walks(code int, says string, args ...string) {
	g.Helper()
	cmd := exec.Command(g.binary, args...)
	cmd.Dir = g.dir
	got := runToEnd(g.T, cmd)
	if got.code != code || !strings.Contains(got.stdout+got.stderr, says) {
		g.Errorf("interlock %s: %+v, want code %d and %q", strings.Join(args, " "), got, code, says)
	}
}
