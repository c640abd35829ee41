package sqlite

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/store/row"
)

// TestLogStaysBoundedInABurst writes as fast as it can while others read all the time, so that there
// is hardly an instant without a read, and one of them reads many pages. It measures the log after
// each commit.
func TestLogStaysBoundedInABurst(t *testing.T) {
	const after, pageSize = 50, 4096 + walFrameHeader
	e := opened(t, empty(t), Options{checkpointAfter: after})
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	text := strings.Repeat("x", 2000)
	for r := range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				_, err := e.Scan(ctx, []row.Range{{Kind: "run", Part: "burst", Limit: 1 + 40*r}})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	most := int64(0)
	for n := range 600 {
		ref := row.Ref{Kind: "run", Part: "burst", Key: fmt.Sprint(n % 200)}
		tx := row.Tx{ID: fmt.Sprint(n), Ops: []row.Op{{If: row.Any, Row: row.Row{Ref: ref, Version: int64(n + 1), Body: fmt.Appendf(nil, `{"text":%q}`, text)}}}}
		if err := e.Apply(ctx, tx, noon); err != nil {
			t.Fatal(err)
		}
		most = max(most, size(e.conn.path+"-wal"))
	}
	t.Logf("the log had at most %d bytes, %.1f times the pages from which on it is copied", most, float64(most)/(after*pageSize))
	if most > logLimit*after*pageSize {
		t.Errorf("the log grew to %d bytes, more than %d", most, logLimit*after*pageSize)
	}
}
