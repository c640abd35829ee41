package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/interlock-go/interlock/internal/store/redistest"
)

const (
	replicaStarts = 1500
	replicaWarmUp = 100
	replicaMost   = 3
)

// replicaRows measures how many jobs a second are started when sensors are written as fast as the
// replicas accept them. It has no limit: on one machine the replicas, Redis and the writers share
// the processors.
func replicaRows() ([]row, error) { return withProgram(replicaRowsWith) }

func replicaRowsWith(dir, binary string) ([]row, error) {
	var rows []row
	var alone float64
	for n := 1; n <= replicaMost; n++ {
		rate, err := startsWithReplicas(binary, filepath.Join(dir, fmt.Sprint(n)), n)
		if err != nil {
			return nil, fmt.Errorf("%d replicas: %w", n, err)
		}
		if n == 1 {
			alone = rate
		}
		rows = append(rows, row{
			name: fmt.Sprintf("http job starts on Redis, replicas: %d / 1", n), ratio: rate / alone, reported: true,
			detail: fmt.Sprintf("%.0f a second, %d runs", rate, replicaStarts),
		})
	}
	return rows, nil
}

func startsWithReplicas(binary, dir string, n int) (_ float64, err error) {
	db, err := redistest.Launch()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	seen, target, end, err := jobTarget()
	if err != nil {
		return 0, err
	}
	defer end()
	var addresses []string
	for i := range n {
		s, err := startReplica(binary, filepath.Join(dir, fmt.Sprint(i)), db.URL(), target)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, s.stop()) }()
		addresses = append(addresses, s.address)
	}
	if err := startAll(addresses, seen, 0, replicaWarmUp); err != nil {
		return 0, err
	}
	began := time.Now()
	err = startAll(addresses, seen, replicaWarmUp, replicaWarmUp+replicaStarts)
	return replicaStarts / time.Since(began).Seconds(), err
}

func startReplica(binary, dir, store, target string) (*server, error) {
	if err := startProject(dir, fmt.Sprintf("{type: http, config: {url: 'http://%s/'}}", target)); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("egress: {allow: [127.0.0.0/8]}\nstore: %s\n", store)
	if err := os.WriteFile(filepath.Join(dir, "interlock.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return start(binary, dir)
}

// startAll writes the sensors of these runs over several connections, spread over all replicas, and
// waits for their jobs.
func startAll(addresses []string, seen *arrivals, from, to int) error {
	due := make(chan int, to)
	for i := from; i < to; i++ {
		due <- i
	}
	close(due)
	sent := make([]time.Time, to)
	errs := make(chan error, startConnections)
	for c := range startConnections {
		go func() { errs <- writeSome(addresses[c%len(addresses)], due, sent) }()
	}
	var all []error
	for range startConnections {
		all = append(all, <-errs)
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	return seen.wait(to)
}
