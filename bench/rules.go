package main

import (
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

// row is one line of the table that make bench prints.
type row struct {
	name     string
	ratio    float64 // measured against its ceiling in the same run
	limit    float64
	atLeast  bool // limit is a lower bound
	reported bool // no limit applies
	detail   string
	failed   bool
}

const (
	passingLimit = 2.0
	failingLimit = 12.0
	// rounds is how often both sides are measured, alternating. The best time of each is the cost
	// of the code; the rest is noise of the machine.
	rounds = 7
	// perRound is how long each side runs in a round.
	perRound = "60ms"
)

// closure is a hand-written rule.
type closure func(s rule.Snapshot, now time.Time) bool

// ruleSet is the same set of rules in both forms, with the readings that they evaluate.
type ruleSet struct {
	gate     *rule.Gate
	closures []closure
	snapshot rule.Snapshot
	now      time.Time
}

// ruleRows measures 3, 10 and 100 rules against hand-written closures that make the same
// comparisons on the same readings: deciding when all pass, and explaining every rule when all
// fail.
func ruleRows() []row {
	testing.Init()
	if err := flag.Set("test.benchtime", perRound); err != nil {
		panic(fmt.Sprintf("set the time of a benchmark: %v", err))
	}
	var rows []row
	for _, n := range []int{3, 10, 100} {
		rows = append(rows, passingRow(n))
	}
	for _, n := range []int{3, 10, 100} {
		rows = append(rows, failingRow(n))
	}
	return rows
}

func passingRow(n int) row {
	set := newRuleSet(n, true)
	ours, theirs := race(
		func() bool { return set.gate.Decide(set.snapshot, set.now) == rule.Pass },
		func() bool { return set.closed() == 0 },
	)
	allocs := testing.AllocsPerRun(100, func() { set.gate.Decide(set.snapshot, set.now) })
	r := row{name: fmt.Sprintf("%d rules, passing", n), ratio: ours / theirs, limit: passingLimit}
	r.detail = fmt.Sprintf("%.0f ns against %.0f ns, %.0f allocations", ours, theirs, allocs)
	r.failed = r.ratio > r.limit || allocs > 0
	return r
}

func failingRow(n int) row {
	set := newRuleSet(n, false)
	ours, theirs := race(
		func() bool {
			v := set.gate.Explain(set.snapshot, set.now)
			return v.Outcome == rule.Fail && v.Leaves[n-1].Reason != ""
		},
		func() bool { return set.closed() == n },
	)
	r := row{name: fmt.Sprintf("%d rules, failing, with all reasons", n), ratio: ours / theirs, limit: failingLimit}
	r.detail = fmt.Sprintf("%.0f ns against %.0f ns", ours, theirs)
	r.failed = r.ratio > r.limit
	return r
}

// race measures both sides alternately and returns the best time of each in nanoseconds per call. A
// side that returns a wrong answer gets an infinite time.
func race(ours, theirs func() bool) (a, b float64) {
	a, b = math.Inf(1), math.Inf(1)
	for range rounds {
		a = min(a, perCall(ours))
		b = min(b, perCall(theirs))
	}
	return a, b
}

func perCall(work func() bool) float64 {
	if !work() {
		return math.Inf(1)
	}
	result := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			if !work() {
				b.FailNow()
			}
		}
	})
	if result.N == 0 {
		return math.Inf(1)
	}
	return float64(result.T.Nanoseconds()) / float64(result.N)
}

// closed counts the closures that return false. Like the gate's report, it evaluates every one.
func (s *ruleSet) closed() int {
	n := 0
	for _, holds := range s.closures {
		if !holds(s.snapshot, s.now) {
			n++
		}
	}
	return n
}

// newRuleSet returns n rules, a third each on a status, a count and a timestamp, each on its own
// sensor.
func newRuleSet(n int, passing bool) *ruleSet {
	now := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	set := &ruleSet{now: now, snapshot: make(rule.Snapshot, n)}
	fields := sensor.Fields{"status": "pending", "count": int64(950), "checkedAt": "2026-03-03T06:55:00Z", "source": "etl"}
	if passing {
		fields = sensor.Fields{"status": "ready", "count": int64(1200), "checkedAt": "2026-03-03T09:30:00Z", "source": "etl"}
	}
	var rules []rule.Rule
	for i := range n {
		key := fmt.Sprintf("sensor-%d", i)
		rules = append(rules, benchRule(i, key))
		set.closures = append(set.closures, benchClosure(i))
		reading := &sensor.Reading{Key: sensor.Key(key), Fields: fields, UpdatedAt: now.Add(-time.Hour), Version: int64(i)}
		set.snapshot[i] = sensor.Seen{Reading: reading}
	}
	gate, err := rule.Compile(rule.Part{Rules: rules})
	if err != nil {
		panic(fmt.Sprintf("compile benchmark rules: %v", err))
	}
	set.gate = gate
	return set
}

func benchRule(i int, key string) rule.Rule {
	switch i % 3 {
	case 0:
		return rule.Rule{Key: key, Check: rule.Equals, Field: "status", Value: "ready"}
	case 1:
		return rule.Rule{Key: key, Check: rule.GTE, Field: "count", Value: int64(1000)}
	}
	return rule.Rule{Key: key, Check: rule.AgeLT, Field: "checkedAt", Value: "2h"}
}

func benchClosure(i int) closure {
	switch i % 3 {
	case 0:
		return func(s rule.Snapshot, _ time.Time) bool {
			r := s[i].Reading
			if r == nil {
				return false
			}
			status, ok := r.Fields["status"].(string)
			return ok && status == "ready"
		}
	case 1:
		return func(s rule.Snapshot, _ time.Time) bool {
			r := s[i].Reading
			if r == nil {
				return false
			}
			count, ok := r.Fields["count"].(int64)
			return ok && count >= 1000
		}
	}
	return func(s rule.Snapshot, now time.Time) bool {
		r := s[i].Reading
		if r == nil {
			return false
		}
		text, ok := r.Fields["checkedAt"].(string)
		if !ok {
			return false
		}
		at, err := time.Parse(time.RFC3339, text)
		return err == nil && now.Sub(at) < 2*time.Hour
	}
}
