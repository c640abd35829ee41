package pipeline

import (
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

const defaultPostRunWindow = 24 * time.Hour

func (b *builder) buildPostRun() {
	s := b.file.PostRun
	window := b.postRunWindow(s)
	if s == nil {
		return
	}
	p := &PostRun{
		Rules: s.Rules, DriftThreshold: s.DriftThreshold, DriftField: s.DriftField,
		SensorTimeout: s.SensorTimeout.D(), Window: window,
	}
	if s.Evaluation.Interval != nil {
		p.Interval = s.Evaluation.Interval.D()
	}
	if p.Interval > p.Window {
		b.clashf("postRun.evaluation.window", "postRun.evaluation.interval", "the window of %s is shorter than the interval of %s; make it at least as long",
			document.Duration(p.Window), document.Duration(p.Interval))
	}
	fine := b.checkRules("postRun.rules", s.Rules)
	for path, leaf := range rule.Leaves(s.Rules) {
		for key, written := range map[string]bool{"level": leaf.Level == rule.Preferred, "settled": leaf.Settled != nil, "over": leaf.Over != nil} {
			if written {
				b.errorf("postRun.rules"+path+"."+key, "is allowed only in validation.rules; remove it")
				fine = false
			}
		}
	}
	if fine {
		p.Gate = b.compile("postRun.rules", rule.Part{Mode: rule.ModeAll, Rules: s.Rules})
	}
	b.def.PostRun = p
}

// postRunWindow returns postRun.evaluation.window, or the older watch.monitoring.duration.
func (b *builder) postRunWindow(s *PostRunSection) time.Duration {
	window := defaultPostRunWindow
	given := s != nil && s.Evaluation.Window != nil
	if given {
		window = s.Evaluation.Window.D()
	}
	older := b.file.Watch.Monitoring.Duration
	switch {
	case older == nil:
		return window
	case given:
		b.clashf("watch.monitoring.duration", "postRun.evaluation.window", "the post-run window is set twice; keep postRun.evaluation.window")
	case s == nil:
		b.warnf("watch.monitoring.duration", "there are no postRun.rules to watch; add postRun, or remove it")
	}
	return older.Duration
}
