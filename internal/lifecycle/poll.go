package lifecycle

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
)

// longestGap is the longest time without a poll of a job whose usual duration is known.
const longestGap = 10 * time.Minute

// PollsFrom returns the instant before which polls of a running job are left out, except for the
// first: 0.8 × the p10 of the durations that were known at its start. It is zero if none is left out.
func PollsFrom(p run.Progress) time.Time {
	if !p.Opening.Limits.LearnPolls || !polls(p) || p.Learned.Runs == 0 {
		return time.Time{}
	}
	return p.StartedAt.Add(p.Learned.P10 * 4 / 5)
}

// AfterPoll returns r, whose job was just found running, with its next poll: after the poll interval or,
// if polls are left out, up to when PollsFrom says. Without a poll pass at most ten minutes, at most a
// tenth of the time to the next breach, and no instant of an armed deadline. What is left out ends at a whole second, which is when
// Step Functions waits until.
func AfterPoll(r run.Run, deadlines []sla.Deadline) run.Run {
	p := &r.Progress
	next := period.Earlier(PollsFrom(*p), p.LastPoll.Add(longestGap))
	for _, d := range deadlines {
		if d.State != sla.Armed {
			continue
		}
		if left := d.BreachAt.Sub(p.LastPoll); left > 0 {
			next = period.Earlier(next, p.LastPoll.Add(left/10))
		}
		if d.WarnAt.After(p.LastPoll) {
			next = period.Earlier(next, d.WarnAt)
		}
	}
	p.NextPoll = period.Earlier(period.Later(p.NextPoll, next.Truncate(time.Second)), p.PollEnd).UTC()
	return r
}
