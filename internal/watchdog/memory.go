package watchdog

import (
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/run"
)

// reach is how far a check has come: in the pass at that instant it looked at everything that had settled. It is lost with the
// process, and then the check goes as far back as it ever does.
type reach struct{ at, settled time.Time }

// judged is an attempt that a check is done with, by one version of its pipeline's file.
type judged struct {
	run     run.Key
	attempt int
	config  string
}

func judgedBy(e *catalog.Entry, key run.Key, attempt int) judged {
	return judged{key, attempt, e.Version}
}

// memory is what a check is done with, so that it does not look at the same attempts in every pass. It is lost with the
// process, and then they are looked at once more. What a whole pass did not come across is forgotten.
type memory struct {
	mu          sync.Mutex
	before, now map[judged]bool
}

// begin starts a pass.
func (m *memory) begin() { m.before, m.now = m.now, map[judged]bool{} }

// has says that the check is done with an attempt since an earlier pass.
func (m *memory) has(j judged) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before[j] {
		m.now[j] = true
	}
	return m.before[j]
}

// keep notes that it is done with one.
func (m *memory) keep(j judged) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now[j] = true
}
