package explain

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// standing explains a run that there is.
func (l *look) standing(ctx context.Context) error {
	r := l.x.Run
	switch r.Status {
	case run.Pending:
		return l.waiting(ctx)
	case run.Triggering:
		l.starting()
	case run.Running:
		l.x.State = Running
		l.x.Summary = fmt.Sprintf("attempt %d runs since %s", r.Attempt, l.when(r.Progress.StartedAt))
		if end := r.Progress.PollEnd; !end.IsZero() && r.Progress.Opening.Limits.PollInterval > 0 {
			l.because("its result is looked for until %s", l.when(end))
		}
	case run.Failed, run.JobPollExhausted:
		l.x.State = Settling
		l.x.Summary = fmt.Sprintf("attempt %d failed (%s); whether it is tried again is being settled", r.Attempt, r.Reason)
	case run.Completed:
		l.x.State = Completed
		l.x.Summary = fmt.Sprintf("attempt %d succeeded, %s after the run opened", r.Attempt, span(r.EndedAt.Sub(r.OpenedAt)))
	case run.FailedFinal:
		l.x.State = Failed
		l.x.Summary = fmt.Sprintf("failed for good in attempt %d: %s", r.Attempt, orUnknown(r.Reason))
		l.rerun("opens another attempt")
	case run.ValidationExhausted:
		return l.exhausted(ctx)
	case run.Cancelled:
		l.x.State = Cancelled
		l.x.Summary = fmt.Sprintf("cancelled in attempt %d: %s", r.Attempt, orUnknown(r.Reason))
		l.rerun("opens another attempt")
	}
	if r.Progress.Left == run.JobMayRun {
		l.because("the job of attempt %d could not be stopped and may still run", r.Attempt)
	}
	var err error
	l.x.Gate, err = l.stored(ctx)
	return err
}

func (l *look) starting() {
	r := l.x.Run
	p := r.Progress
	if p.Held.Reason != "" {
		l.x.State = Held
		l.x.Summary = fmt.Sprintf("the start of attempt %d is held since %s: %s", r.Attempt, l.when(p.Held.Since), p.Held.Reason)
		l.because("nobody can tell whether the job was started, so it is not started again")
		l.opens("`interlock job complete %s success` or `fail`, once you know how it ended", l.key)
		l.opens("`interlock cancel %s`", l.key)
		return
	}
	l.x.State = Starting
	l.x.Summary = fmt.Sprintf("attempt %d is being started (start call %d)", r.Attempt, p.StartTries)
	if !p.NextTry.IsZero() {
		l.x.Summary = fmt.Sprintf("the start of attempt %d was refused; it is tried again %s", r.Attempt, l.when(p.NextTry))
	}
}

// waiting explains an open attempt that has not started.
func (l *look) waiting(ctx context.Context) error {
	x, r := &l.x, l.x.Run
	p := r.Progress
	x.State = Waiting
	def := l.definition(ctx)
	if def != nil {
		g, err := l.live(ctx, def, nil)
		if err != nil {
			return err
		}
		g.Bypassed = p.Opening.GateBypassed
		x.Gate = g
	}
	switch {
	case !l.row.Pause.Since.IsZero():
		x.Summary = "the pipeline is paused, so attempt " + fmt.Sprint(r.Attempt) + " does not start"
		l.paused()
	case l.now.Before(p.WindowStart):
		x.Summary = fmt.Sprintf("attempt %d begins %s (%s)", r.Attempt, l.when(p.WindowStart), orUnknown(r.Reason))
	case !p.WaitingSince.IsZero():
		x.Summary = fmt.Sprintf("the gate is open, but all jobs the pipeline may have at once are running since %s", l.when(p.WaitingSince))
		l.opens("a running job of %s that ends (schedule.maxActive); the oldest period goes first", l.key.Pipeline)
	case x.Gate.Open():
		x.Summary = "the gate is open; the start is due " + l.when(p.NextEvaluation)
	case x.Gate != nil:
		x.Summary = "the gate is closed: " + count(x.Gate)
	default:
		x.Summary = "waiting for its gate"
	}
	if err := l.hints(ctx); err != nil {
		return err
	}
	l.because("waiting since %s; the window is open until %s", l.when(p.WindowStart), l.when(p.WindowEnd))
	if !p.LastEvaluation.IsZero() {
		l.because("last looked at %s, next %s, and at once when one of its sensors is written", l.when(p.LastEvaluation), l.when(p.NextEvaluation))
	}
	return nil
}

// exhausted explains a run whose window ended with the gate closed, on what the gate shows now.
func (l *look) exhausted(ctx context.Context) error {
	x, r := &l.x, l.x.Run
	x.State = Exhausted
	x.Summary = fmt.Sprintf("the gate did not open within the window of attempt %d, which ended %s", r.Attempt, l.when(r.EndedAt))
	if r.StartDeadlinePassed {
		x.Summary = "the start condition was not met before its deadline, " + l.when(r.EndedAt)
		l.because("only an operator opens it now; no later write does")
	}
	if l.def != nil {
		g, err := l.live(ctx, l.def, nil)
		if err != nil {
			return err
		}
		x.Gate = g
		if g.Open() {
			l.because("the gate would be open now")
		}
	}
	l.rerun("opens another attempt with a new window")
	return l.hints(ctx)
}

// definition is the version that the open attempt works on; what is in force where that cannot be read any more.
func (l *look) definition(ctx context.Context) *pipeline.Definition {
	version := l.x.Run.Progress.Opening.ConfigVersion
	if version == "" {
		return l.def
	}
	def, err := l.Catalog.Definition(ctx, l.key.Pipeline, version)
	if err != nil {
		// An explanation on the version in force beats none.
		l.because("the version %s that it opened with cannot be read; shown is the one in force", version)
		return l.def
	}
	return def
}

// rerun names the command for another attempt, as it would be accepted: what the calendar excludes has to be insisted on, and
// of a pipeline that is not in force there is none.
func (l *look) rerun(does string) {
	force := ""
	switch {
	case l.def == nil:
		return
	case l.def.Schedule.Excluded(l.key.Period) != "":
		force = " --force"
	}
	l.opens("`interlock rerun %s --date %s%s --reason TEXT` %s", l.key.Pipeline, l.key.Period, force, does)
}

func (l *look) paused() {
	p := l.row.Pause
	text := fmt.Sprintf("paused since %s", l.when(p.Since))
	if p.By != "" {
		text += " by " + p.By
	}
	if p.Why != "" {
		text += ": " + p.Why
	}
	if !p.Until.IsZero() {
		text += "; it ends by itself " + l.when(p.Until)
	}
	l.because("%s", text)
	l.opens("`interlock resume %s`", l.key.Pipeline)
}

func (l *look) because(format string, args ...any) {
	l.x.Reasons = append(l.x.Reasons, fmt.Sprintf(format, args...))
}

func (l *look) opens(format string, args ...any) {
	l.x.Opens = append(l.x.Opens, fmt.Sprintf(format, args...))
}
