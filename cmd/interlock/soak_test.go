//go:build unix

package main

import (
	"bufio"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

var soak = flag.Duration("soak", 0, "how long TestSoak loads a controller; from 15m on it also sees what retention deletes")

// gauged is a figure of a loaded controller, with the growth between the second and the last third
// of the time that is not a leak: a share of the figure, or an amount.
type gauged struct {
	name   string
	share  float64
	amount float64
	reason string // why it may grow without limit, if it may
}

// resources are all figures but those of rows, which follow.
var resources = []gauged{
	{"resident memory, MB", 0.25, 16, ""},
	{"Go heap, MB", 0.3, 16, ""},
	{"goroutines", 0.1, 20, ""},
	{"threads", 0.1, 8, ""},
	{"descriptors", 0.1, 10, ""},
	{"files", 0.5, 50, ""},
	{"write-ahead log, MB", 0.25, 8, ""},
	{"processor per run, ms", 0.5, 20, ""},
	{"p99 of a sensor write, ms", 2, 250, ""},
	{"log lines per minute", 0.5, 30, ""}, // two alerts for each of the commands that fail
	{"database, MB", 0, 0, "runs are kept"},
	{"runs", 0, 0, "the load"},
}

// rowsOf returns the resource of a kind of rows. Some are kept as long as their run, which is for
// ever; others for a time, which a short soak does not see.
func rowsOf(kind string) gauged {
	r := gauged{name: "rows: " + kind, share: 0.25, amount: 50}
	switch kind {
	case "run", "snapshot", "sensor", "config", "baseline", "rerun":
		r.reason = "kept with their runs"
	case "applied": // store.CommitLife
		r.reason = keptFor(time.Hour)
	default:
		r.reason = keptFor(5 * time.Minute)
	}
	return r
}

// keptFor returns the reason why rows that are kept for that long may still grow: they do so until
// the second third of the soak.
func keptFor(d time.Duration) string {
	if *soak >= 3*d {
		return ""
	}
	return fmt.Sprintf("kept for %s, which the soak is too short to see", d)
}

const soakConfig = `retention: {events: 5m, history: 5m, jobLog: 5m}
egress: {allow: [127.0.0.0/8]}
alerts:
  webhooks: [{name: flapping, url: %q}]
`

// soaked is a controller under a mixed load.
type soaked struct {
	*daemon
	ctx    context.Context
	period atomic.Int64 // the day of the next run

	mu   sync.Mutex
	puts []time.Duration
	lost []error

	cpu, ended float64 // at the last sample
	lines      int
	at         time.Time
}

// TestSoak loads a controller as a busy installation does: readings, commands that succeed and fail,
// workers, followers, silences, a sink that fails half of the time, short retention. It prints each
// resource with its slope, and fails if one grows without a reason.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("slow; run it with -soak 10m, or make soak")
	}
	var asked atomic.Int64
	flapping := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(flapping.Close)
	g := newGround(t, builtBinary(t), fmt.Sprintf(soakConfig, flapping.URL))
	const pipelines = 10
	for i := range pipelines {
		g.pipeline(fmt.Sprintf("p%d", i), "schedule: {trigger: {key: landed, check: exists}}\nsla: {maxDuration: 2m}\n"+
			"job: {type: command, config: {command: 'true'}, pollInterval: 1s}\n")
	}
	g.pipeline("broken", "schedule: {trigger: {key: landed, check: exists}}\n"+
		"job: {type: command, config: {command: 'false'}, pollInterval: 1s, maxRetries: 0}\n")
	g.pipeline("orders", externalJob)
	s := &soaked{daemon: g.start(), at: time.Now()}
	s.put("orders", "landed", map[string]any{})
	ctx, stop := context.WithTimeout(t.Context(), *soak)
	defer stop()
	s.ctx = ctx
	var load sync.WaitGroup
	s.every(&load, 50*time.Millisecond, func(n int) error { return s.write(fmt.Sprintf("p%d", n%pipelines), "noise") })
	s.every(&load, 500*time.Millisecond, func(n int) error { return s.write(fmt.Sprintf("p%d", n%pipelines), "landed") })
	s.every(&load, 10*time.Second, func(int) error { return s.write("broken", "landed") })
	s.every(&load, 20*time.Second, func(int) error {
		_, err := s.api.Silence(ctx, client.SilenceRequest{Pipeline: "p*", Until: "5s", Reason: "soak"})
		return err
	})
	for range 2 {
		s.every(&load, 5*time.Second, s.exec)
	}
	for range 20 {
		load.Go(s.follow)
	}
	seen := s.watch(max(*soak/90, 2*time.Second))
	load.Wait()
	for _, err := range s.lost {
		t.Errorf("lost: %v", err)
	}
	printSlopes(t, seen)
	if lines := strings.Split(s.said(), "\n"); t.Failed() {
		t.Logf("the end of the log:\n%s", strings.Join(lines[max(0, len(lines)-50):], "\n"))
	}
}

// every does something at an interval until the soak ends.
func (s *soaked) every(load *sync.WaitGroup, d time.Duration, do func(n int) error) {
	load.Go(func() {
		for n := 0; ; n++ {
			err := do(n)
			if err != nil && s.ctx.Err() == nil {
				s.mu.Lock()
				s.lost = append(s.lost, err)
				s.mu.Unlock()
			}
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(d):
			}
		}
	})
}

// write writes a reading of a new day, and notes how long that took.
func (s *soaked) write(pipeline, key string) error {
	day := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(s.period.Add(1))%40_000)
	if key == "noise" {
		day = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	began := time.Now()
	_, err := s.api.PutSensor(s.ctx, pipeline, key+"#"+day.Format(time.DateOnly), map[string]any{"n": began.UnixNano()})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts = append(s.puts, time.Since(began))
	return err
}

// exec runs a command of a new day as an outside worker.
func (s *soaked) exec(int) error {
	day := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(s.period.Add(1))%40_000)
	cmd := s.command("exec", "orders", "--date", day.Format(time.DateOnly), "--", "true")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("exec: %w: %s", err, out)
	}
	return nil
}

// follow reads the event stream, and opens it again whenever it ends.
func (s *soaked) follow() {
	for s.ctx.Err() == nil {
		r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url+"/api/v1/events/stream", nil)
		if err != nil {
			return
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			}
			answer.Body.Close()
		}
	}
}

// watch samples all resources until the soak ends.
func (s *soaked) watch(interval time.Duration) (seen []map[string]float64) {
	for tick := time.NewTicker(interval); ; {
		select {
		case <-s.ctx.Done():
			return seen
		case <-tick.C:
			seen = append(seen, s.sample())
		}
	}
}

func (s *soaked) sample() map[string]float64 {
	proc := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	now, metrics := map[string]float64{}, s.metrics()
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		s.Skip("this system has no /proc for the use of resources")
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		switch n, _ := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64); name {
		case "VmRSS":
			now["resident memory, MB"] = n / 1024
		case "Threads":
			now["threads"] = n
		}
	}
	open, err := os.ReadDir(proc + "fd")
	s.check(err)
	now["descriptors"], now["files"] = float64(len(open)), float64(filesBelow(s.T, s.path("data")))
	now["goroutines"], now["Go heap, MB"] = metrics["go_goroutines"], metrics["go_memstats_heap_inuse_bytes"]/(1<<20)
	now["database, MB"], now["write-ahead log, MB"] = s.size("interlock.db"), s.size("interlock.db-wal")
	now["runs"] = metrics["interlock_job_outcomes_total"]
	cpu := metrics["process_cpu_seconds_total"]
	now["processor per run, ms"] = (cpu - s.cpu) * 1000 / max(1, now["runs"]-s.ended)
	lines := strings.Count(s.said(), "\n")
	now["log lines per minute"] = float64(lines-s.lines) / time.Since(s.at).Minutes()
	s.cpu, s.ended, s.lines, s.at = cpu, now["runs"], lines, time.Now()
	s.mu.Lock()
	slices.Sort(s.puts)
	if len(s.puts) > 0 {
		now["p99 of a sensor write, ms"] = float64(s.puts[len(s.puts)*99/100].Microseconds()) / 1000
	}
	s.puts = nil
	s.mu.Unlock()
	maps.Copy(now, s.rows())
	return now
}

// size returns the size of a file of the data directory in MB.
func (s *soaked) size(name string) float64 {
	info, err := os.Stat(s.path("data/" + name))
	s.check(err)
	return float64(info.Size()) / (1 << 20)
}

// metrics returns the controller's metrics, summed over their labels.
func (s *soaked) metrics() map[string]float64 {
	answer, err := http.Get(s.url + "/metrics")
	s.check(err)
	defer answer.Body.Close()
	sums := map[string]float64{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if i := strings.LastIndexByte(lines.Text(), ' '); i > 0 {
			value = lines.Text()[i+1:]
		}
		name, _, _ = strings.Cut(name, "{")
		n, _ := strconv.ParseFloat(value, 64) // a comment is no number
		sums[name] += n
	}
	return sums
}

// rows counts the rows of the database by kind.
func (s *soaked) rows() map[string]float64 {
	db, err := sql.Open("sqlite", "file:"+s.path("data/interlock.db")+"?mode=ro")
	s.check(err)
	defer db.Close()
	found, err := db.Query("SELECT substr(ref, 1, instr(ref, '/') - 1), count(*) FROM rows GROUP BY 1 UNION ALL SELECT 'changes', count(*) FROM changes UNION ALL SELECT 'applied', count(*) FROM applied")
	s.check(err)
	defer found.Close()
	counts := map[string]float64{}
	for found.Next() {
		var kind string
		var n float64
		s.check(found.Scan(&kind, &n))
		counts["rows: "+kind] = n
	}
	s.check(found.Err())
	return counts
}

// printSlopes prints each resource with its slope, and fails if one grows without a reason. A typical
// value, the median of a third of the samples, is what counts: peaks are no growth.
func printSlopes(t *testing.T, seen []map[string]float64) {
	t.Helper()
	third := len(seen) / 3
	if third == 0 {
		t.Fatal("the soak was too short for three samples")
	}
	all := slices.Clone(resources)
	for _, name := range slices.Sorted(maps.Keys(seen[len(seen)-1])) {
		if kind, found := strings.CutPrefix(name, "rows: "); found {
			all = append(all, rowsOf(kind))
		}
	}
	t.Logf("%-28s %12s %12s %14s", "", "middle third", "last third", "slope per hour")
	for _, r := range all {
		middle, last := typical(seen[third:2*third], r.name), typical(seen[2*third:], r.name)
		slope := (last - middle) / (soak.Hours() / 3)
		t.Logf("%-28s %12.1f %12.1f %14.1f  %s", r.name, middle, last, slope, r.reason)
		if last-middle > max(r.share*middle, r.amount) && r.reason == "" {
			t.Errorf("%s grows from %.1f to %.1f without a reason", r.name, middle, last)
		}
	}
}

// typical returns the median of a figure.
func typical(seen []map[string]float64, name string) float64 {
	var values []float64
	for _, one := range seen {
		if v := one[name]; !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// filesBelow counts files and directories.
func filesBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // removed meanwhile
		}
		n++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
