package watchdog

import (
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/run"
)

// reach records how far a check has come: in the pass at that time it checked everything up to settled. It is lost on
// restart; then the check goes back to its full look-back.
type reach struct{ at, settled time.Time }

// judged identifies an attempt that a check has finished with, for one version of the pipeline's file.
type judged struct {
	run     run.Key
	attempt int
	config  string
}

func judgedBy(e *catalog.Entry, key run.Key, attempt int) judged {
	return judged{key, attempt, e.Version}
}

// memory remembers the attempts that a check has finished with, so that it does not check them in every pass. It is
// lost on restart; then they are checked once more. Attempts not met during a whole pass are forgotten.
type memory struct {
	mu          sync.Mutex
	before, now map[judged]bool
}

// begin starts a pass.
func (m *memory) begin() { m.before, m.now = m.now, map[judged]bool{} }

// has reports whether an earlier pass finished with an attempt.
func (m *memory) has(j judged) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before[j] {
		m.now[j] = true
	}
	return m.before[j]
}

// keep records that the check has finished with an attempt.
func (m *memory) keep(j judged) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now[j] = true
}
