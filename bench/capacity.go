package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store/redistest"
)

const (
	capacityReplicas  = 50
	capacityRuns      = 500
	capacityIdle      = 5 * time.Second // how long idle replicas are watched
	capacitySettle    = 3 * time.Second // enough for started runs to finish and for new replicas to go quiet
	capacityPipelines = 2000
	clockTicks        = 100 // a second: the unit in which Linux counts the processor time of a process
)

// capacityRows measures the limits that docs/CAPACITY.md states for each store: the cost of a run
// on the embedded store and on Redis, the cost of idle replicas, and the Redis memory of a
// pipeline.
func capacityRows() ([]row, error) { return withProgram(capacityRowsWith) }

func capacityRowsWith(dir, binary string) ([]row, error) {
	embedded, err := embeddedCapacity(binary, filepath.Join(dir, "embedded"))
	if err != nil {
		return nil, fmt.Errorf("embedded store: %w", err)
	}
	one, err := redisCapacity(binary, filepath.Join(dir, "one"), 1)
	if err != nil {
		return []row{embedded}, fmt.Errorf("one replica: %w", err)
	}
	many, err := redisCapacity(binary, filepath.Join(dir, "many"), capacityReplicas)
	if err != nil {
		return []row{embedded}, fmt.Errorf("%d replicas: %w", capacityReplicas, err)
	}
	memory, err := redisMemory(binary, filepath.Join(dir, "memory"))
	if err != nil {
		return nil, fmt.Errorf("memory of Redis: %w", err)
	}
	return []row{
		embedded,
		{
			name: fmt.Sprintf("Redis' processor time of a run, %d replicas / 1", capacityReplicas), ratio: many.redis / one.redis, reported: true,
			detail: fmt.Sprintf("%.2f and %.2f ms, %.0f and %.0f commands: one core of Redis has at most %.0f and %.0f runs a second", 1e3*many.redis, 1e3*one.redis, many.commands, one.commands, 1/many.redis, 1/one.redis),
		},
		{
			name: "processor time of a run, controller / Redis", ratio: one.controller / one.redis, reported: true,
			detail: fmt.Sprintf("%.2f and %.2f ms, one replica", 1e3*one.controller, 1e3*one.redis),
		},
		{
			name: fmt.Sprintf("share of a core of Redis, %d idle replicas", capacityReplicas), ratio: many.idle, reported: true,
			detail: fmt.Sprintf("%.1f commands a second of each; one idle replica alone: %.4f of a core", many.idleCommands/capacityReplicas, one.idle),
		},
		memory,
	}, nil
}

// embeddedCapacity compares how many runs a second one controller starts with how many sequential
// durable commits a second its disk takes. It also reports how busy the processors are meanwhile.
func embeddedCapacity(binary, dir string) (_ row, err error) {
	took, err := commits(dir+"-commits", startCommits, 0)
	if err != nil {
		return row{}, err
	}
	seen, target, end, err := jobTarget()
	if err != nil {
		return row{}, err
	}
	defer end()
	if err := startProject(dir, fmt.Sprintf("{type: http, config: {url: 'http://%s/'}}", target)); err != nil {
		return row{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "interlock.yaml"), []byte("egress: {allow: [127.0.0.0/8]}\n"), 0o600); err != nil {
		return row{}, err
	}
	s, err := start(binary, dir)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := startAll([]string{s.address}, seen, 0, replicaWarmUp); err != nil {
		return row{}, err
	}
	before, began := serversTime(s), time.Now()
	if err := startAll([]string{s.address}, seen, replicaWarmUp, replicaWarmUp+capacityRuns); err != nil {
		return row{}, err
	}
	elapsed, busy := time.Since(began).Seconds(), serversTime(s)-before
	perSecond := 1 / quantile(took, 0.5).Seconds()
	return row{
		name: "embedded: runs a second / durable commits a second, one after the other", ratio: capacityRuns / elapsed / perSecond, reported: true,
		detail: fmt.Sprintf("%.0f and %.0f; %.2f ms of processor time a run, %.2f cores busy", capacityRuns/elapsed, perSecond, 1e3*busy/capacityRuns, busy/elapsed),
	}, nil
}

// redisCost is the load that runs and replicas put on Redis.
type redisCost struct {
	redis, controller  float64 // seconds of processor time per run
	commands           float64 // per run
	idle, idleCommands float64 // with nothing to do: cores, and commands a second
}

// redisCapacity measures replicas on one Redis: first idle, then starting runs.
func redisCapacity(binary, dir string, n int) (cost redisCost, err error) {
	db, err := redistest.Launch()
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	seen, target, end, err := jobTarget()
	if err != nil {
		return cost, err
	}
	defer end()
	var servers []*server
	defer func() { err = errors.Join(err, stopAll(servers)) }()
	var addresses []string
	for i := range n {
		s, err := startReplica(binary, filepath.Join(dir, fmt.Sprint(i)), db.URL(), target)
		if err != nil {
			return cost, err
		}
		servers, addresses = append(servers, s), append(addresses, s.address)
	}
	if err := startAll(addresses, seen, 0, replicaWarmUp); err != nil {
		return cost, err
	}
	time.Sleep(2 * capacitySettle)
	idle, err := watchRedis(db, func() error { time.Sleep(capacityIdle); return nil })
	if err != nil {
		return cost, err
	}
	controllers := serversTime(servers...)
	work, err := watchRedis(db, func() error {
		err := startAll(addresses, seen, replicaWarmUp, replicaWarmUp+capacityRuns)
		time.Sleep(capacitySettle)
		return err
	})
	cost.idle, cost.idleCommands = idle.busy/idle.elapsed, idle.commands/idle.elapsed
	cost.redis = (work.busy - cost.idle*work.elapsed) / capacityRuns
	cost.commands = (work.commands - cost.idleCommands*work.elapsed) / capacityRuns
	cost.controller = (serversTime(servers...) - controllers) / capacityRuns
	return cost, err
}

// stopAll stops servers concurrently.
func stopAll(servers []*server) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = s.stop() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// watched is the processor time, commands and duration of Redis during a measurement.
type watched struct{ busy, commands, elapsed float64 }

func watchRedis(db *redistest.Server, what func() error) (w watched, err error) {
	busy, commands, err := redisUse(db)
	if err != nil {
		return w, err
	}
	began := time.Now()
	if err := what(); err != nil {
		return w, err
	}
	w.elapsed = time.Since(began).Seconds()
	busyNow, commandsNow, err := redisUse(db)
	w.busy, w.commands = busyNow-busy, commandsNow-commands
	return w, err
}

// redisUse returns the processor time in seconds and the number of commands of Redis since its
// start.
func redisUse(db *redistest.Server) (busy, commands float64, err error) {
	info, err := redisInfo(db, "cpu", "stats")
	return info["used_cpu_user"] + info["used_cpu_sys"], info["total_commands_processed"], err
}

// redisInfo returns the numeric fields of the given sections of INFO.
func redisInfo(db *redistest.Server, sections ...string) (map[string]float64, error) {
	conn, err := net.Dial("tcp", db.Address())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(startPatience)); err != nil {
		return nil, err
	}
	in, numbers := bufio.NewReader(conn), map[string]float64{}
	for _, section := range sections {
		if _, err := fmt.Fprintf(conn, "INFO %s\r\n", section); err != nil {
			return nil, err
		}
		var size int
		if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
			return nil, fmt.Errorf("read INFO %s: %w", section, err)
		}
		text := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				numbers[name] = n
			}
		}
	}
	return numbers, nil
}

// redisMemory measures how much Redis memory an accepted pipeline takes.
func redisMemory(binary, dir string) (_ row, err error) {
	db, err := redistest.Launch()
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := writeFiles(filepath.Join(dir, "pipelines"), capacityPipelines); err != nil {
		return row{}, err
	}
	config := fmt.Sprintf("egress: {allow: [localhost]}\nstore: %s\n", db.URL())
	if err := os.WriteFile(filepath.Join(dir, "interlock.yaml"), []byte(config), 0o600); err != nil {
		return row{}, err
	}
	before, err := redisInfo(db, "memory")
	if err != nil {
		return row{}, err
	}
	began := time.Now()
	s, err := start(binary, dir)
	if err != nil {
		return row{}, err
	}
	took := time.Since(began)
	defer func() { err = errors.Join(err, s.stop()) }()
	time.Sleep(capacitySettle)
	after, err := redisInfo(db, "memory")
	each := (after["used_memory"] - before["used_memory"]) / capacityPipelines / 1024
	return row{
		name: "Redis memory, KB a pipeline", ratio: each, reported: true,
		detail: fmt.Sprintf("%.0f MB for %d; the first start stored %.0f pipelines a second", each*scaleMany/1024, scaleMany, capacityPipelines/took.Seconds()),
	}, err
}

// serversTime returns the total processor time of the servers in seconds. A process that cannot be
// read is skipped.
func serversTime(servers ...*server) (sum float64) {
	for _, s := range servers {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		_, rest, found := strings.Cut(string(text), ") ") // the process name before it may contain anything
		fields := strings.Fields(rest)
		if err != nil || !found || len(fields) < 13 {
			continue
		}
		for _, field := range fields[11:13] { // user and system time
			ticks, _ := strconv.ParseFloat(field, 64)
			sum += ticks / clockTicks
		}
	}
	return sum
}
