package promise_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// storms runs stormy hours on a store that two controllers share, and calls check after each.
func storms(t *testing.T, seeds []uint64, f faults, check func(w *world)) {
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			onMemory(t, func(w *world) {
				s := &storm{world: w, rand: rand.New(rand.NewPCG(seed, 2)), plays: rand.New(rand.NewPCG(seed, 3))}
				s.faults = f
				s.faults.seed = seed
				s.rage()
				check(w)
			})
		})
	}
}

// usual are the faults of every storm.
var usual = faults{repeats: 0.3, loses: 0.02, refuses: 0.02}

// storm is an hour of writes, requests, failing jobs and crashing controllers.
type storm struct {
	*world
	rand   *rand.Rand // of the test itself
	plays  *rand.Rand // of the targets, under their lock
	asked  int
	killed int
}

// The pipelines of a storm, one for each kind of target, each with all budgets.
const stormBudgets = "maxRetries: 2, maxCodeRetries: 1, maxDriftReruns: 1, maxManualReruns: 2, pollInterval: 5s, retryBackoff: 5s, jobPollWindowSeconds: 300"

var stormFiles = map[string]string{
	"strict": `schedule: {cron: "*/5 * * * *", period: minute, evaluation: {window: 10m, interval: 30s}}
validation: {rules: [{key: rows, check: gte, field: count, value: 5}]}
job: {type: step-function, config: {stateMachineARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:x'}, ` + stormBudgets + "}\n",
	"glue": `schedule: {trigger: {key: landed, check: gte, field: count, value: 3}, period: hour, evaluation: {window: 20m, interval: 30s}}
sla: {maxDuration: 20m}
job: {type: glue, config: {jobName: x}, ` + stormBudgets + "}\n",
	"plain": `schedule: {trigger: {key: landed, check: gte, field: count, value: 3, from: glue}, period: hour, maxActive: 1, evaluation: {window: 20m, interval: 30s}}
job: {type: lambda, config: {functionName: x, async: true}, ` + stormBudgets + "}\n",
	"local": `schedule: {after: [glue], period: hour, evaluation: {window: 20m, interval: 30s}}
sla: {deadline: ":30"}
job: {type: command, config: {command: [x]}, ` + stormBudgets + "}\n",
}

func (s *storm) rage() {
	for id, sections := range stormFiles {
		s.file(id, sections)
	}
	s.target.play = s.play
	s.start("a")
	s.start("b")
	for range 240 {
		s.step()
		time.Sleep(time.Duration(s.rand.Int64N(int64(20 * time.Second))))
	}
	synctest.Wait()
	s.calm()
}

// calm lets all work finish without further faults.
func (s *storm) calm() {
	s.stopAll()
	s.faults = faults{}
	s.target.set(nil)
	s.start("a")
	s.pass(3 * time.Hour)
}

// step is one external event.
func (s *storm) step() {
	switch n := s.rand.IntN(20); {
	case n < 8:
		s.put("glue", fmt.Sprintf("landed#2000-01-01T%02d", s.rand.IntN(3)), fmt.Sprintf("count=%d", s.rand.IntN(7)))
	case n < 13:
		s.put("strict", "rows", fmt.Sprintf("count=%d", s.rand.IntN(12)))
	case n < 17:
		s.wish()
	default:
		s.restart()
	}
}

// restart kills one of the controllers and starts it again.
func (s *storm) restart() {
	victim := s.processes()[s.rand.IntN(2)]
	victim.kill()
	s.killed++
	s.faults.seed += 100
	s.start(victim.name)
}

// wish requests another attempt of some run, twice at once.
func (s *storm) wish() {
	runs := s.runs()
	if len(runs) == 0 {
		return
	}
	r := runs[s.rand.IntN(len(runs))]
	for _, p := range s.processes() {
		s.asked++
		q := router.RerunRequest{
			ID: fmt.Sprintf("wish %d", s.asked), Pipeline: r.Pipeline, Schedule: r.Schedule, Period: r.Period, By: "ada", Reason: "tested",
		}
		go func() { _, _ = p.Router.Rerun(s.Context(), q, time.Now()) }() // it may be refused, or the store may not answer
	}
}

// play returns how a job goes in a storm: some fail, some starts are refused or not answered.
func (s *storm) play(_ job.Attempt, _ int) play {
	p := play{runs: time.Duration(1+s.plays.IntN(90)) * time.Second, takes: time.Duration(s.plays.IntN(10)) * time.Second}
	switch s.plays.IntN(10) {
	case 0:
		p.fails = run.Transient
	case 1:
		p.fails = run.Permanent
	case 2:
		p.fails = "none"
	case 3:
		p.refused = job.Refuse(run.Transient, "busy")
	case 4:
		p.lost = true
	case 5:
		p.lost, p.nothing = true, true
	}
	return p
}
