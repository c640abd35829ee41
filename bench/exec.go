package main

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"time"
)

const execRounds = 15

// execRow compares the time from the start of `interlock exec` to the start of its command with the
// same time of the bare command. The unit is one round trip of a gate request. The attempt is
// offered beforehand.
func execRow() (row, error) { return withProgram(execRowWith) }

func execRowWith(dir, binary string) (_ row, err error) {
	if err := workersProject(dir); err != nil {
		return row{}, err
	}
	s, err := start(binary, dir)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	l, err := s.dial()
	if err != nil {
		return row{}, err
	}
	defer l.conn.Close()
	var bare, under, own, trips []time.Duration
	for n := range execRounds {
		date := fmt.Sprintf("2026-03-%02d", n+1)
		trip, err := offer(l, date)
		if err != nil {
			return row{}, err
		}
		version, err := started(exec.Command(binary, "version"))
		if err != nil {
			return row{}, err
		}
		alone, err := started(exec.Command("echo", "started"))
		if err != nil {
			return row{}, err
		}
		took, err := started(exec.Command(binary, "exec", "nightly", "--server", "http://"+s.address, "--date", date, "--", "echo", "started"))
		if err != nil {
			return row{}, err
		}
		bare, under, own, trips = append(bare, alone), append(under, took), append(own, version), append(trips, trip)
	}
	overhead, trip := median(under)-median(bare), median(trips)
	return row{
		name: "exec, its command started later than the bare one / one round trip", ratio: float64(overhead) / float64(trip), reported: true,
		detail: fmt.Sprintf("%s later; a round trip takes %s, and the binary itself %s to start", round(overhead), round(trip), round(median(own))),
	}, nil
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// started returns how long a command takes until its first output.
func started(cmd *exec.Cmd) (time.Duration, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = out.Read(make([]byte, 1))
	took := time.Since(began)
	return took, errors.Join(err, cmd.Wait())
}

// offer opens the run of a date and waits until it is offered. It returns the round-trip time of a
// gate request.
func offer(l *line, date string) (time.Duration, error) {
	if status, body, err := l.ask("PUT", "pipelines/nightly/sensors/landed%23"+date, `{"complete":true}`); err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("open the gate: %d %s: %w", status, body, err)
	}
	if status, body, err := l.ask("POST", "runs", fmt.Sprintf(`{"pipeline":"nightly","date":%q}`, date)); err != nil || status != http.StatusCreated {
		return 0, fmt.Errorf("open the run: %d %s: %w", status, body, err)
	}
	if status, body, err := l.ask("GET", "pipelines/nightly/gate?date="+date+"&wait=60s", ""); err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("wait for the gate: %d %s: %w", status, body, err)
	}
	asked := time.Now()
	_, _, err := l.ask("GET", "pipelines/nightly/gate?date="+date, "")
	return time.Since(asked), err
}
