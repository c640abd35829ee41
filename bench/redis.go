package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/store/redis"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

const (
	redisPutLimit = 0.5 // at least
	redisRounds   = 4
	redisRequests = 40_000 // by redis-benchmark in each round
)

// redisRows measures the Redis store: sensor writes over HTTP against its own script run as fast as
// redis-benchmark can, and starts with one, two and three replicas.
func redisRows() ([]row, error) {
	put, err := redisPutRow()
	if err != nil {
		return nil, err
	}
	replicas, err := replicaRows()
	return append([]row{put}, replicas...), err
}

func redisPutRow() (_ row, err error) {
	server, err := redistest.Launch()
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	db, err := redis.Open(context.Background(), server.URL(), redis.Options{})
	if err != nil {
		return row{}, err
	}
	defer db.Close()
	a, err := putAPI(db)
	if err != nil {
		return row{}, err
	}
	address, end, err := serveOn(api.Server(a, "", silent))
	if err != nil {
		return row{}, err
	}
	defer end()
	script, err := watchPut(server, address)
	if err != nil {
		return row{}, err
	}
	var writes, ceiling float64
	for range redisRounds { // alternate, and keep the best of each
		bare, err := driveScript(server, script)
		if err != nil {
			return row{}, err
		}
		p, err := rate(address, putConnections, putTime, putRequest(address))
		if err != nil {
			return row{}, err
		}
		writes, ceiling = max(writes, p.rate), max(ceiling, bare)
	}
	ratio := writes / ceiling
	return row{
		name: "sensor PUT on Redis / its script by redis-benchmark", ratio: ratio, limit: redisPutLimit, atLeast: true, failed: ratio < redisPutLimit,
		detail: fmt.Sprintf("%.0f and %.0f a second, %d connections, appendfsync everysec", writes, ceiling, putConnections),
	}, nil
}

// firstKey is a sensor that only watchPut writes. It is as long as the keys that redis-benchmark
// generates, because some script arguments contain the length of a key.
const firstKey = "key-first-number"

// watchPut captures the command that the store sends to Redis for one write over HTTP: the hash of
// the script and its arguments. The first write may send the script itself.
func watchPut(server *redistest.Server, address string) ([]string, error) {
	conn, err := net.Dial("tcp", server.Address())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(startPatience)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(conn)
	lines.Scan() // wait until MONITOR is active
	for range 2 {
		if err := putOnce(address); err != nil {
			return nil, err
		}
	}
	for seen := 0; lines.Scan(); {
		words := quoted.FindAllString(lines.Text(), -1)
		if len(words) == 0 || !strings.EqualFold(words[0], `"evalsha"`) || !strings.Contains(lines.Text(), firstKey) ||
			!slices.Contains(words, putAction) {
			continue
		}
		if seen++; seen == 2 {
			return unquoted(words)
		}
	}
	return nil, fmt.Errorf("the store sent no script: %w", lines.Err())
}

func putOnce(address string) error {
	request, err := http.NewRequest(http.MethodPut, "http://"+address+"/api/v1/pipelines/bench/sensors/"+firstKey, strings.NewReader(`{"complete":true,"count":1}`))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// putAction is the script's name for an operation that writes a row; its condition follows.
const putAction = `"put"`

// unquoted returns the words of a command, with random keys and without conditions, so that it can
// be sent many times.
func unquoted(words []string) ([]string, error) {
	for i, word := range words {
		text, err := strconv.Unquote(word)
		if err != nil {
			return nil, err
		}
		if i > 0 && words[i-1] == "put" {
			text = "-1"
		}
		words[i] = strings.ReplaceAll(text, firstKey, "key-__rand_int__")
	}
	return words, nil
}

var requestsPerSecond = regexp.MustCompile(`([0-9.]+) requests per second`)

// driveScript has redis-benchmark run the script over the same number of connections and returns
// the runs per second.
func driveScript(server *redistest.Server, script []string) (float64, error) {
	_, port, _ := strings.Cut(server.Address(), ":")
	args := []string{"-p", port, "-c", fmt.Sprint(putConnections), "-n", fmt.Sprint(redisRequests), "-r", fmt.Sprint(putKeys), "-q"}
	out, err := exec.Command("redis-benchmark", append(args, script...)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark (Debian's package redis-tools): %w: %s", err, out)
	}
	all := requestsPerSecond.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("redis-benchmark gave no figure: %s", out)
	}
	return strconv.ParseFloat(string(all[len(all)-1][1]), 64)
}
