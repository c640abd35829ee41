package main

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

var execs = flag.Int("execs", 12, "how many `interlock exec` TestManyExecsLoseNothing runs at once; with 100 or more they also outlast their heartbeat limit")

const execHeartbeat = 30 * time.Second

// TestManyExecsLoseNothing has many workers run their commands at the same time on one server. Each
// claim is granted, no heartbeat is lost, so that no worker counts as lost, and each report arrives
// with its output.
func TestManyExecsLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	g := newGround(t, builtBinary(t), "")
	t.Parallel()
	g.pipeline("orders", fmt.Sprintf("job: {type: external, config: {heartbeat: %s}, maxRetries: 1, retryBackoff: 1s}\n", execHeartbeat))
	f := &flood{daemon: g.start()}
	idle, cpu := f.memory("VmRSS:"), f.seconds()
	f.resetPeak()
	day := func(i int) string {
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i).Format(time.DateOnly)
	}
	var ends sync.WaitGroup
	for i := range *execs {
		cmd := f.command("exec", "orders", "--date", day(i), "--wait", "10m", "--", "sh", "-c", `touch begun-$1; until test -e go; do sleep 1; done; echo done with $1`, "sh", day(i))
		ends.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("exec for %s: %v: %s", cmd.Args[4], err, out)
			}
		})
	}
	until(t, "all commands to run", func() bool {
		begun, _ := filepath.Glob(f.path("begun-*")) // the pattern is valid
		return len(begun) == *execs
	})
	if *execs >= 100 {
		<-time.After(2 * execHeartbeat) // longer than a worker may be silent
	}
	_, err := exec.Command("touch", f.path("go")).Output()
	f.check(err)
	ends.Wait()
	for i := range *execs {
		r := f.reaches("orders/manual/"+day(i), client.Completed)
		if len(r.Attempts) != 1 || r.Attempts[0].Output == nil || !strings.Contains(*r.Attempts[0].Output, "done with "+day(i)) {
			t.Errorf("run %s: %+v", day(i), r)
		}
	}
	lost := slices.DeleteFunc(f.events(), func(e client.Event) bool { return e.Detail.Severity == "info" })
	if len(lost) > 0 {
		t.Errorf("there were problems: %+v", lost)
	}
	t.Logf("%d workers: %.1f s of processor, %.1f ms for each; the memory grew from %d kB by %d kB", *execs,
		f.seconds()-cpu, (f.seconds()-cpu)*1000/float64(*execs), idle, f.memory("VmHWM:")-idle)
}

// seconds returns how long the server has used a processor.
func (f *flood) seconds() (s float64) {
	f.Helper()
	_, value, _ := strings.Cut(f.metric("process_cpu_seconds_total"), " ")
	_, err := fmt.Sscanf(value, "%g", &s)
	f.check(err)
	return s
}
