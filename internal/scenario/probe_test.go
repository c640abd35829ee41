package scenario_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
)

// said is a probe's answer from some time on.
type said struct {
	From   string        `yaml:"from" doc:"From when on, HH:MM or HH:MM:SS (UTC, the next such time after the beginning) or a date and time; from the beginning unless said."`
	Status string        `yaml:"status" enum:"PASS,FAIL"`
	Value  document.Node `yaml:"value" doc:"The fields of its answer."`
	Reason string        `yaml:"reason"`
	Breaks string        `yaml:"breaks" doc:"It gives no answer, for this reason."`
}

// Evaluate answers as the story says; a probe without an answer in the story fails.
func (t *target) Evaluate(_ context.Context, r probe.Request) (probe.Answer, error) {
	now := said{Breaks: "nobody is there"}
	for _, s := range t.tells[string(r.Pipeline)+"/"+r.Probe.Key] {
		from, err := instant(s.From, t.begin)
		if err != nil {
			return probe.Answer{}, err
		}
		if s.From == "" || !from.After(t.clock()) {
			now = s
		}
	}
	if now.Breaks != "" {
		return probe.Answer{}, &probe.Failure{Category: run.Transient, Reason: now.Breaks}
	}
	fields, _ := now.Value.Value().(map[string]any)
	return probe.Answer{Status: probe.Status(now.Status), Value: fields, Reason: now.Reason}, nil
}

// telling makes the probes of a platform answer as the story says.
func telling(p platform, s story) platform {
	switch p := p.(type) {
	case *loop:
		p.jobs.tells, p.jobs.begin = s.Probes, s.begins
	case *process:
		p.jobs.tells, p.jobs.begin = s.Probes, s.begins
	case *world:
		p.tells = s.Probes
	}
	return p
}

// TestE1ProbesLeadToTheSameDecisions plays the stories with probes, except on AWS: there the
// watchdog asks them at other moments, and does not ask command probes.
func TestE1ProbesLeadToTheSameDecisions(t *testing.T) {
	for _, s := range storiesIn(t, "probes") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for i, p := range platforms {
				if p.looks {
					continue
				}
				t.Run(p.name, func(t *testing.T) {
					where := t.TempDir()
					if p.where != nil {
						where = p.where(t)
					}
					play := func(t *testing.T) { compare(t, s, tell(t, s, telling(p.build(t, s, where), s)), *update && i == 0) }
					if p.clock {
						play(t)
						return
					}
					synctest.Test(t, func(t *testing.T) {
						time.Sleep(time.Until(s.begins)) // bubbles begin with the year 2000
						play(t)
					})
				})
			}
		})
	}
}
