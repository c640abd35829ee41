package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	floodRuns       = 20_000
	floodBatch      = 1000
	floodStarts     = 400 // of other pipelines, in each phase
	floodEvery      = 25 * time.Millisecond
	floodDeadlines  = 20
	floodDue        = 5 * time.Second // from a reading to its deadline
	floodPatience   = 2 * time.Minute
	floodStartLimit = 10.0
	floodLate       = 250 * time.Millisecond
)

// floodRows measures how one pipeline that opens 20,000 runs affects the others: how late their
// deadlines fire, against 250 ms, and the p99 of their starts, against the same without the flood.
func floodRows() ([]row, error) { return withProgram(floodRowsWith) }

func floodRowsWith(dir, binary string) ([]row, error) {
	seen, address, end, err := jobTarget()
	if err != nil {
		return nil, err
	}
	defer end()
	if err := floodProject(dir, fmt.Sprintf("{type: http, config: {url: 'http://%s/'}}", address)); err != nil {
		return nil, err
	}
	s, err := start(binary, dir)
	if err != nil {
		return nil, err
	}
	rows, err := flood(s.address, seen)
	if stopped := s.stop(); err == nil {
		err = stopped
	}
	return rows, err
}

// floodProject writes the project of startRows, a pipeline for the flood, and pipelines with
// deadlines whose gates stay closed.
func floodProject(dir, job string) error {
	if err := startProject(dir, job); err != nil {
		return err
	}
	const trigger = "schedule: {trigger: {key: ready, check: equals, field: status, value: done}, period: minute}\n"
	texts := map[string]string{"flood": "pipeline: {id: flood, owner: bench}\n" + trigger + "job: " + job + "\n"}
	for i := range floodDeadlines {
		id := fmt.Sprintf("due%d", i)
		texts[id] = fmt.Sprintf("pipeline: {id: %s, owner: bench}\n%ssla: {maxDuration: %s}\nvalidation: {rules: [{key: never, check: exists}]}\njob: %s\n", id, trigger, floodDue, job)
	}
	for id, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, "pipelines", id+".yaml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func flood(address string, seen *arrivals) ([]row, error) {
	calm, err := othersStart(address, seen, 0)
	if err != nil {
		return nil, err
	}
	sent := make(chan error, 2)
	go func() { sent <- openFlood(address) }()
	go func() { sent <- armDeadlines(address) }()
	busy, err := othersStart(address, seen, floodStarts)
	if err != nil {
		return nil, err
	}
	started := seen.of("flood/")
	for range 2 {
		if err := <-sent; err != nil {
			return nil, err
		}
	}
	late, err := lateness(address)
	if err != nil {
		return nil, err
	}
	slow, usual := quantile(busy, 0.99), quantile(calm, 0.99)
	tail, worst := float64(slow)/float64(usual), float64(late)/float64(floodLate)
	return []row{{
		name: "start, 99 in 100, while another pipeline opens 20,000 runs / without them", ratio: tail, limit: floodStartLimit, failed: tail > floodStartLimit,
		detail: fmt.Sprintf("%s and %s, %d runs each; %d of the 20,000 had started by then", round(slow), round(usual), len(busy), started),
	}, {
		name: "latest of deadlines meanwhile / 250 ms", ratio: worst, limit: 1, failed: worst > 1,
		detail: fmt.Sprintf("%s, %d deadlines", round(late), floodDeadlines),
	}}, nil
}

// of counts the started attempts whose id begins with prefix.
func (a *arrivals) of(prefix string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.at {
		if strings.HasPrefix(id, prefix) {
			n++
		}
	}
	return n
}

// othersStart writes the sensors of the runs from the given one on, each at its time. It returns
// how long each took to start.
func othersStart(address string, seen *arrivals, from int) ([]time.Duration, error) {
	sent := make([]time.Time, from+floodStarts)
	due := make(chan int, floodStarts)
	errs := make(chan error, startConnections)
	for range startConnections {
		go func() { errs <- writeSome(address, due, sent) }()
	}
	beat := time.NewTicker(floodEvery)
	defer beat.Stop()
	for i := from; i < from+floodStarts; i++ {
		<-beat.C
		due <- i
	}
	close(due)
	for range startConnections {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	var took []time.Duration
	for until := time.Now().Add(floodPatience); ; {
		took = took[:0]
		seen.mu.Lock()
		for i := from; i < len(sent); i++ {
			if at, there := seen.at[attempt(i)]; there {
				took = append(took, at.Sub(sent[i]))
			}
		}
		seen.mu.Unlock()
		if len(took) == floodStarts {
			return took, nil
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("%d of %d jobs were started within %s", len(took), floodStarts, floodPatience)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// openFlood writes one reading for each of 20,000 minutes.
func openFlood(address string) error {
	type item struct {
		Pipeline string         `json:"pipeline"`
		Key      string         `json:"key"`
		Data     map[string]any `json:"data"`
	}
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := 0; n < floodRuns; n += floodBatch {
		var items []item
		for i := range floodBatch {
			at := first.Add(time.Duration(n+i) * time.Minute)
			items = append(items, item{"flood", "ready", map[string]any{"status": "done", "date": at.Format(time.DateOnly), "hour": at.Hour(), "minute": at.Minute()}})
		}
		body, err := json.Marshal(items)
		if err != nil {
			return err
		}
		if err := floodSend(http.MethodPost, "http://"+address+"/api/v1/sensors", body); err != nil {
			return err
		}
	}
	return nil
}

// armDeadlines writes readings whose deadlines fall due during the flood.
func armDeadlines(address string) error {
	for i := range floodDeadlines {
		at := fmt.Sprintf("http://%s/api/v1/pipelines/due%d/sensors/ready", address, i)
		if err := floodSend(http.MethodPut, at, []byte(`{"status":"done","date":"2026-03-03","hour":7,"minute":7}`)); err != nil {
			return err
		}
		time.Sleep(floodEvery)
	}
	return nil
}

func floodSend(method, url string, body []byte) error {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s was answered %s", method, url, resp.Status)
	}
	return nil
}

// lateness waits until all deadlines are breached. It returns the longest delay of a breach.
func lateness(address string) (time.Duration, error) {
	for until := time.Now().Add(floodPatience); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get("http://" + address + "/api/v1/deadlines?state=BREACHED&limit=500")
		if err != nil {
			return 0, err
		}
		var page struct {
			Items []struct {
				BreachAt, ClosedAt time.Time
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		resp.Body.Close()
		if err != nil {
			return 0, err
		}
		var worst time.Duration
		for _, d := range page.Items {
			worst = max(worst, d.ClosedAt.Sub(d.BreachAt))
		}
		if len(page.Items) == floodDeadlines {
			return worst, nil
		}
		if time.Now().After(until) {
			return 0, fmt.Errorf("%d of %d deadlines were breached within %s", len(page.Items), floodDeadlines, floodPatience)
		}
	}
}
