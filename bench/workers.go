package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	gateWaiters   = 1000
	gateWatched   = 10 * time.Second
	gateLimit     = 0.05 // of one processor
	claimWorkers  = 200
	claimRounds   = 5
	workersConfig = "limits: {connectionsPerAddress: 2048}\n"
)

// workerRows measures the cost of external workers: requests that wait for a gate, and many workers
// that claim one attempt.
func workerRows() ([]row, error) { return withProgram(workerRowsWith) }

func workerRowsWith(dir, binary string) (_ []row, err error) {
	if err := workersProject(dir); err != nil {
		return nil, err
	}
	s, err := start(binary, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	waits, err := waitingRow(s)
	if err != nil {
		return nil, err
	}
	claims, err := claimRows(s)
	return append([]row{waits}, claims...), err
}

// workersProject writes one pipeline that workers run, and one whose sensor is written meanwhile.
func workersProject(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "pipelines"), 0o755); err != nil {
		return err
	}
	gate := "validation: {rules: [{key: landed, check: equals, field: complete, value: true}]}\n"
	for name, text := range map[string]string{
		"interlock.yaml":         workersConfig,
		"pipelines/nightly.yaml": "pipeline: {id: nightly, owner: bench}\n" + gate + "job: {type: external}\n",
		"pipelines/other.yaml":   "pipeline: {id: other, owner: bench}\n" + gate + "job: {type: external}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// line is a connection to the server.
type line struct {
	conn net.Conn
	in   *bufio.Reader
}

func (s *server) dial() (*line, error) {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	return &line{conn, bufio.NewReader(conn)}, nil
}

func (l *line) send(method, path, body string) error {
	_, err := fmt.Fprintf(l.conn, "%s /api/v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	return err
}

// read returns the status and body of the next response.
func (l *line) read() (int, []byte, error) {
	r, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return r.StatusCode, body, err
}

func (l *line) ask(method, path, body string) (int, []byte, error) {
	if err := l.send(method, path, body); err != nil {
		return 0, nil, err
	}
	return l.read()
}

// processorTime returns the processor time that the server has used so far.
func (s *server) processorTime() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	used := int64(0)
	for _, f := range fields[11:13] { // user and system time, in hundredths of a second
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		used += n
	}
	return time.Duration(used) * 10 * time.Millisecond, nil
}

// used returns the share of one processor that the server uses while another pipeline's sensor is
// written ten times a second.
func (s *server) used(writer *line) (float64, error) {
	before, err := s.processorTime()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for n := 0; time.Since(began) < gateWatched; n++ {
		if status, body, err := writer.ask("PUT", "pipelines/other/sensors/landed", fmt.Sprintf(`{"complete":false,"n":%d}`, n)); err != nil || status != http.StatusOK {
			return 0, fmt.Errorf("write a sensor: %d %s: %w", status, body, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	after, err := s.processorTime()
	return (after - before).Seconds() / time.Since(began).Seconds(), err
}

// waitingRow compares the processor use of the server with and without requests that wait for a
// gate.
func waitingRow(s *server) (_ row, err error) {
	writer, err := s.dial()
	if err != nil {
		return row{}, err
	}
	defer writer.conn.Close()
	without, err := s.used(writer)
	if err != nil {
		return row{}, err
	}
	for range gateWaiters {
		l, err := s.dial()
		if err != nil {
			return row{}, err
		}
		defer l.conn.Close()
		if err := l.send("GET", "pipelines/nightly/gate?date=2026-01-01&wait=60s", ""); err != nil {
			return row{}, err
		}
	}
	time.Sleep(2 * time.Second) // until all of them wait
	with, err := s.used(writer)
	more := with - without
	return row{
		name: fmt.Sprintf("%d requests waiting for a gate, share of one processor", gateWaiters), ratio: max(more, 0), limit: gateLimit,
		detail: fmt.Sprintf("%.1f %% with and %.1f %% without them, at 10 writes a second to another pipeline", 100*with, 100*without), failed: more > gateLimit,
	}, err
}

// claimRows has workers wait for one attempt and claim it as soon as its gate opens.
func claimRows(s *server) ([]row, error) {
	var granted, told, trips []time.Duration
	for n := range claimRounds {
		g, t, trip, err := claimRound(s, fmt.Sprintf("2026-02-%02d", n+1))
		if err != nil {
			return nil, err
		}
		granted, told, trips = append(granted, g), append(told, t), append(trips, trip)
	}
	slices.Sort(granted)
	slices.Sort(told)
	slices.Sort(trips)
	g, t, trip := granted[claimRounds/2], told[claimRounds/2], trips[claimRounds/2]
	named := func(what string, d time.Duration) row {
		return row{
			name: fmt.Sprintf("%d waiting workers, gate opens: until %s / one round trip", claimWorkers, what), ratio: float64(d) / float64(trip), reported: true,
			detail: fmt.Sprintf("%s; a claim that is refused takes %s", round(d), round(trip)),
		}
	}
	return []row{named("one has claimed", g), named("all others are refused", t)}, nil
}

// claimRound returns how long after the write that opens the gate one worker has the claim, and all
// others have been refused. It also returns how long a refused claim takes by itself.
func claimRound(s *server, date string) (granted, told, trip time.Duration, err error) {
	operator, err := s.dial()
	if err != nil {
		return 0, 0, 0, err
	}
	defer operator.conn.Close()
	if status, body, err := operator.ask("POST", "runs", fmt.Sprintf(`{"pipeline":"nightly","date":%q}`, date)); err != nil || status != http.StatusCreated {
		return 0, 0, 0, fmt.Errorf("open the run: %d %s: %w", status, body, err)
	}
	var mu sync.Mutex
	var first, last time.Time
	winners := 0
	errs := make(chan error, claimWorkers)
	for n := range claimWorkers {
		l, err := s.dial()
		if err != nil {
			return 0, 0, 0, err
		}
		defer l.conn.Close()
		if err := l.send("GET", "pipelines/nightly/gate?date="+date+"&wait=60s", ""); err != nil {
			return 0, 0, 0, err
		}
		go func() {
			won, at, err := l.claim(date, n)
			mu.Lock()
			defer mu.Unlock()
			if won {
				winners, first = winners+1, at
			}
			if at.After(last) {
				last = at
			}
			errs <- err
		}()
	}
	time.Sleep(time.Second) // until all of them wait
	began := time.Now()
	if status, body, err := operator.ask("PUT", "pipelines/nightly/sensors/landed%23"+date, `{"complete":true}`); err != nil || status != http.StatusOK {
		return 0, 0, 0, fmt.Errorf("open the gate: %d %s: %w", status, body, err)
	}
	for range claimWorkers {
		err = errors.Join(err, <-errs)
	}
	if err != nil || winners != 1 {
		return 0, 0, 0, errors.Join(err, fmt.Errorf("%d workers have the attempt, want 1", winners))
	}
	asked := time.Now()
	_, _, err = operator.ask("POST", "runs/nightly/manual/"+date+"/claim", `{"worker":"late"}`)
	return first.Sub(began), last.Sub(began), time.Since(asked), err
}

// claim waits for the gate to open and claims the attempt. It returns whether this worker won, and
// when it knew.
func (l *line) claim(date string, n int) (won bool, at time.Time, err error) {
	status, body, err := l.read()
	if err != nil || status != http.StatusOK {
		return false, time.Now(), fmt.Errorf("wait for the gate: %d %s: %w", status, body, err)
	}
	if !bytes.Contains(body, []byte(`"open":true`)) {
		return false, time.Now(), nil // another worker has it
	}
	status, body, err = l.ask("POST", "runs/nightly/manual/"+date+"/claim", fmt.Sprintf(`{"worker":"w%d"}`, n))
	at = time.Now()
	if err != nil || status != http.StatusOK && status != http.StatusConflict {
		return false, at, fmt.Errorf("claim: %d %s: %w", status, body, err)
	}
	return status == http.StatusOK, at, nil
}
