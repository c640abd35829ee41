package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/job/command"
)

const (
	startPipelines   = 100
	startConnections = 16
	startEvery       = 5 * time.Millisecond // 200 a second
	startRounds      = 4
	startWarmUp      = 100
	startRuns        = 250            // in each round
	startCommits     = 250            // in each round, of either kind
	startCommitEvery = startEvery / 4 // as the server commits: for the write, and when it opens, starts and ends a run
	startPatience    = time.Minute
	startStolen      = 20 * time.Millisecond // steal time after which a round is repeated,
	startAgain       = 16                    // this many times in all

	startMedianLimit = 8.0
	startTailLimit   = 25.0
)

// startRows measures the time from a sensor write to the start of the job that it triggers: on the
// program itself, over HTTP, at 200 runs a second. The ceiling is one durable commit right after
// another; a start takes four commits: the write, the run, the claim of its
// task, TRIGGERING. The table also shows the cost of a commit at the server's
// own rate, with other work in between as in a start: that is the more lenient ceiling, and has no
// limit.
func startRows() ([]row, error) { return withProgram(startRowsWith) }

func startRowsWith(dir, binary string) ([]row, error) {
	syscall.Sync() // or writing the program to disk would slow the first round
	m, err := startsAndCommits(binary, dir)
	if err != nil {
		return nil, err
	}
	commands, err := commandRow(binary, filepath.Join(dir, "command"))
	return append(m.rows(), commands), err
}

// startsMeasured holds the durations of starts and of commits: at the server's own rate, and each
// right after the other.
type startsMeasured struct {
	starts, apart, hot []time.Duration
	again              int // repeated rounds
}

// startsAndCommits alternates between starts and commits, each time on a new store: on most
// machines the duration of a commit changes within seconds by more than the effect to be measured.
// A round with too much steal time is repeated: a single pause of 50 ms becomes the p99 of a
// thousand starts and says nothing about the program.
func startsAndCommits(binary, dir string) (m startsMeasured, err error) {
	for turn := 0; turn < startRounds+m.again; turn++ {
		before := stolen()
		one, err := startRound(binary, filepath.Join(dir, fmt.Sprint("turn", turn)))
		if err != nil {
			return m, err
		}
		if stolen()-before > startStolen && m.again < startAgain {
			m.again++
			continue
		}
		m.starts, m.apart, m.hot = append(m.starts, one.starts...), append(m.apart, one.apart...), append(m.hot, one.hot...)
	}
	return m, nil
}

func startRound(binary, dir string) (m startsMeasured, err error) {
	if m.apart, err = commits(dir+"-apart", startCommits, startCommitEvery); err != nil {
		return m, err
	}
	if m.hot, err = commits(dir+"-hot", startCommits, 0); err != nil {
		return m, err
	}
	if m.starts, err = startsOverHTTP(binary, dir); err != nil {
		return m, fmt.Errorf("http jobs: %w", err)
	}
	return m, nil
}

func (m startsMeasured) rows() []row {
	commit, apart := quantile(m.hot, 0.5), quantile(m.apart, 0.5)
	var rows []row
	for _, of := range []struct {
		name     string
		quantile float64
		limit    float64
	}{{"p50", 0.5, startMedianLimit}, {"p99", 0.99, startTailLimit}} {
		at := quantile(m.starts, of.quantile)
		ratio := float64(at) / float64(commit)
		rows = append(rows, row{
			name: fmt.Sprintf("sensor write → http job start, %s / median durable commit", of.name), ratio: ratio, limit: of.limit,
			detail: fmt.Sprintf("%s and %s, %d runs, 200 a second; %.2f of %s for commits at that pace%s", round(at), round(commit), len(m.starts), float64(at)/float64(apart), round(apart), m.repeated()),
			failed: ratio > of.limit,
		})
	}
	return rows
}

// repeated describes the rounds that were discarded.
func (m startsMeasured) repeated() string {
	if m.again == 0 {
		return ""
	}
	return fmt.Sprintf("; discarded: %d rounds with steal time", m.again)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// startsOverHTTP returns how long each start took when the job is a request to a local server.
func startsOverHTTP(binary, dir string) ([]time.Duration, error) {
	seen, address, end, err := jobTarget()
	if err != nil {
		return nil, err
	}
	defer end()
	job := fmt.Sprintf("{type: http, config: {url: 'http://%s/'}}", address)
	return starts(binary, dir, job, seen, load{runs: startRuns, warmUp: startWarmUp, every: startEvery})
}

// jobTarget starts the HTTP server that jobs send their requests to.
func jobTarget() (seen *arrivals, address string, end func(), err error) {
	seen = &arrivals{at: map[string]time.Time{}, more: make(chan struct{}, 1)}
	address, end, err = serveOn(&http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen.note(r.Header.Get("Idempotency-Key"), time.Now())
	})})
	return seen, address, end, err
}

// arrivals records when each job was seen to start.
type arrivals struct {
	mu   sync.Mutex
	at   map[string]time.Time
	more chan struct{}
}

func (a *arrivals) note(attempt string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.at[attempt]; !again {
		a.at[attempt] = at
	}
	select {
	case a.more <- struct{}{}:
	default:
	}
}

// wait waits until n jobs have started.
func (a *arrivals) wait(n int) error {
	patience := time.After(startPatience)
	for {
		a.mu.Lock()
		there := len(a.at)
		a.mu.Unlock()
		if there >= n {
			return nil
		}
		select {
		case <-a.more:
		case <-patience:
			return fmt.Errorf("%d of %d jobs were started within %s", there, n, startPatience)
		}
	}
}

// load is how many runs to open, and how fast.
type load struct {
	runs, warmUp int // the first warmUp runs are not counted
	every        time.Duration
}

// starts serves pipelines with the given job and writes a sensor for each run. It returns how long
// each took from the write to the start.
func starts(binary, dir, job string, seen *arrivals, l load) ([]time.Duration, error) {
	if err := startProject(dir, job); err != nil {
		return nil, err
	}
	s, err := start(binary, dir)
	if err != nil {
		return nil, err
	}
	sent, err := writeAll(s.address, l)
	if err == nil {
		err = seen.wait(l.runs + l.warmUp)
	}
	if stopped := s.stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return nil, err
	}
	took := make([]time.Duration, 0, l.runs)
	for i := l.warmUp; i < len(sent); i++ {
		took = append(took, seen.at[attempt(i)].Sub(sent[i]))
	}
	return took, nil
}

func startProject(dir, job string) error {
	if err := os.MkdirAll(filepath.Join(dir, "pipelines"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "interlock.yaml"), []byte("egress: {allow: [127.0.0.0/8]}\n"), 0o600); err != nil {
		return err
	}
	for i := range startPipelines {
		text := fmt.Sprintf("pipeline: {id: p%d, owner: bench}\nschedule: {trigger: {key: ready, check: equals, field: status, value: done}, period: minute}\njob: %s\n", i, job)
		if err := os.WriteFile(filepath.Join(dir, "pipelines", fmt.Sprintf("p%d.yaml", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// attempt returns the id of run i's only attempt. Each pipeline has one run for each minute of a
// long day.
func attempt(i int) string {
	minute := i / startPipelines
	return fmt.Sprintf("p%d/stream/2026-03-03T%02d:%02d/1", i%startPipelines, minute/60, minute%60)
}

// writeAll writes the sensor of each run at its time, without waiting for earlier answers, and
// returns the times of the writes.
func writeAll(address string, l load) ([]time.Time, error) {
	sent := make([]time.Time, l.runs+l.warmUp)
	due := make(chan int, len(sent))
	errs := make(chan error, startConnections)
	for range startConnections {
		go func() { errs <- writeSome(address, due, sent) }()
	}
	beat := time.NewTicker(l.every)
	defer beat.Stop()
	for i := range sent {
		<-beat.C
		due <- i
	}
	close(due)
	for range startConnections {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return sent, nil
}

func writeSome(address string, due <-chan int, sent []time.Time) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for i := range due {
		minute := i / startPipelines
		body := fmt.Sprintf(`{"status":"done","date":"2026-03-03","hour":%d,"minute":%d}`, minute/60, minute%60)
		request := fmt.Appendf(nil, "PUT /api/v1/pipelines/p%d/sensors/ready HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", i%startPipelines, address, len(body), body)
		sent[i] = time.Now()
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := readAnswer(in); err != nil {
			return err
		}
	}
	return nil
}

// commandRow measures the same for command jobs, against bare starts of the program. It has no
// limit.
func commandRow(binary, dir string) (row, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return row{}, err
	}
	took, err := startsOfCommands(binary, dir)
	if err != nil {
		return row{}, fmt.Errorf("command jobs: %w", err)
	}
	var bare []time.Duration
	for range 50 {
		began := time.Now()
		if err := bareStart(binary); err != nil {
			return row{}, err
		}
		bare = append(bare, time.Since(began))
	}
	half, alone := quantile(took, 0.5), quantile(bare, 0.5)
	return row{
		name: "sensor write → command start, p50 / bare start of the program", ratio: float64(half) / float64(alone), reported: true,
		detail: fmt.Sprintf("%s and %s, p99 %s, %d runs, 20 a second", round(half), round(alone), round(quantile(took, 0.99)), len(took)),
	}, nil
}

// startsOfCommands has each command report through a named pipe that it runs.
func startsOfCommands(binary, dir string) ([]time.Duration, error) {
	pipe := filepath.Join(dir, "started")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return nil, err
	}
	in, err := os.OpenFile(pipe, os.O_RDWR, 0) // also for writing, so that reads never return EOF
	if err != nil {
		return nil, err
	}
	defer in.Close()
	seen := &arrivals{at: map[string]time.Time{}, more: make(chan struct{}, 1)}
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			seen.note(strings.TrimSpace(lines.Text()), time.Now())
		}
	}()
	job := fmt.Sprintf("{type: command, config: {command: 'echo $INTERLOCK_RUN_ID > %s', shell: true}}", pipe)
	return starts(binary, dir, job, seen, load{runs: 100, warmUp: 20, every: 50 * time.Millisecond})
}

// bareStart runs the program as the keeper of a command, with no command to keep: it reports the
// error and exits.
func bareStart(binary string) error {
	err := exec.Command(binary, command.KeeperArg).Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 2 {
		return nil
	}
	return fmt.Errorf("start the program as a keeper: %w", err)
}
