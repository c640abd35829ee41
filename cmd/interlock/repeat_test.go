package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A sink that fails and recovers every two seconds, at another port each time, must not fill the
// log.
func TestRepeatedFailuresAreSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := summarised(slog.New(slog.NewTextHandler(&out, nil))).With("replica", "r1")
		for i := range 1800 {
			log.Warn("a sink does not accept alerts", "sink", "slack", "error", fmt.Errorf("dial 127.0.0.1:%d: refused", 40000+i))
			log.Info("a sink accepts alerts again", "sink", "slack")
			if i == 900 {
				log.Warn("a sink does not accept alerts", "sink", "slack", "error", errors.New("no such host"))
				log.Warn("a sink does not accept alerts", "sink", "page", "error", errors.New("no such host"))
			}
			time.Sleep(2 * time.Second)
		}
		time.Sleep(2 * repeatEvery)
		log.Warn("a sink does not accept alerts", "sink", "slack", "error", errors.New("dial 127.0.0.1:40000: refused"))
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		refused, summed, total := 0, 0, 0
		for _, line := range lines {
			if !strings.Contains(line, "refused") {
				continue
			}
			refused++
			if _, rest, found := strings.Cut(line, " repeated="); found {
				n := 0
				fmt.Sscanf(rest, "%d", &n)
				summed, total = summed+1, total+n
			}
		}
		if summed < 6 || summed > 7 || total+refused-summed != 1801 {
			t.Errorf("%d lines, %d of them summaries of %d failures", refused, summed, total)
		}
		for sink, want := range map[string]string{"slack": "no such host", "page": "no such host"} {
			if strings.Count(out.String(), "sink="+sink+" error=\""+want) != 1 {
				t.Errorf("another failure of %s is not logged at once:\n%s", sink, out.String())
			}
		}
		if len(lines) > 25 {
			t.Errorf("%d lines:\n%s", len(lines), out.String())
		}
	})
}

// The answer to a request that failed names its id, which must be in the log.
func TestFailedRequestsAreAllLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := summarised(slog.New(slog.NewTextHandler(&out, nil)))
		log.Warn("request", "request", "m3-1", "path", "/api/v1/runs", "status", 403)
		for i := range 10 {
			log.Error("request", "request", fmt.Sprintf("m1-%d", i), "path", "/api/v1/runs", "status", 500)
			log.Warn("request", "request", fmt.Sprintf("m2-%d", i), "path", "/api/v1/runs", "status", 401, "remote", fmt.Sprintf("10.0.0.%d:9", i))
		}
		count := func(ids string) int { return strings.Count(out.String(), ids) }
		if failed, unknown, forbidden := count("m1-"), count("m2-"), count("m3-"); failed != 10 || unknown != 1 || forbidden != 1 {
			t.Errorf("%d failures, %d unknown clients and %d without the role:\n%s", failed, unknown, forbidden, out.String())
		}
		time.Sleep(2 * repeatEvery)
	})
}
