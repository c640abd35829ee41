package main

import "testing"

// Counters are exported as 0 before the first event, so that an alert on an increase sees the first
// one.
func TestCountersStartAtZero(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	shown := s.metrics()
	for _, line := range []string{
		`interlock_open_runs{status="RUNNING"} 0`, `interlock_job_starts_total 0`, `interlock_gate_evaluations_total{gate="open"} 0`,
		`interlock_job_outcomes_total{category="TRANSIENT",result="JOB_FAILED"} 0`, `interlock_sink_failures_total{sink="log"} 0`,
		`interlock_deadline_jitter_seconds_count 0`,
	} {
		if !in(shown, line+"\n") {
			t.Errorf("missing %s in\n%s", line, shown)
		}
	}
}
