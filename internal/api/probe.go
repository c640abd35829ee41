package api

import (
	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
)

func probeView(s prober.Standing) client.Probe {
	p, state := s.Probe, s.State
	v := client.Probe{
		Pipeline: string(s.Pipeline), Key: p.Key, Kind: kindOf(p), Builtin: text(p.Builtin),
		TTL: document.Duration(p.TTL).String(), Timeout: document.Duration(p.Timeout).String(), State: probeState(s),
		Failures: client.ProbeFailures{
			Count: state.Failures, Since: instant(state.Since), At: instant(state.Failed), Reason: text(state.Failure),
			Category: text(state.Category), NextTry: instant(state.Rest),
		},
	}
	if p.Interval > 0 {
		v.Interval = text(document.Duration(p.Interval).String())
	}
	if !state.Answered.IsZero() {
		took := state.Took.Milliseconds()
		v.Answer = client.ProbeAnswer{
			At: instant(state.Answered), Date: text(state.Period), Status: text(state.Status), Reason: text(state.Reason),
			ExpiresAt: instant(state.ExpiresAt), Milliseconds: &took,
		}
	}
	return v
}

func kindOf(p pipeline.Probe) string {
	switch {
	case p.Builtin != "":
		return "builtin"
	case p.URL != "":
		return "url"
	}
	return "command"
}

func probeState(s prober.Standing) string {
	switch {
	case s.State.Open():
		return "open"
	case s.State.Failures > 0:
		return "failing"
	case s.State.Answered.IsZero():
		return "new"
	}
	return "ok"
}
