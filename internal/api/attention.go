package api

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Attention is one thing about a pipeline that needs a person.
type Attention struct {
	Code     string     `json:"code" enum:"rejected,degraded,held,status-unread,failed,exhausted" doc:"Of a file: rejected, degraded. Of an open run: held, status-unread. Of the last run that ended: failed, exhausted."`
	Schedule *string    `json:"schedule" doc:"Of the run; null if it is about the file."`
	Date     *string    `json:"date" doc:"Of the run; null if it is about the file."`
	Since    *time.Time `json:"since"`
	Reason   string     `json:"reason"`
}

// attention lists what needs a person, most pressing first. Last is the run of the latest period that has ended; nil if
// there is none.
func (a *API) attention(row store.Pipeline, open []run.Run, last *run.Run) []Attention {
	all := []Attention{}
	about := func(r run.Run, since time.Time, reason string) {
		all = append(all, Attention{
			Code: string(r.Phase(a.now())), Schedule: text(r.Schedule), Date: date(r.Period), Since: instant(since), Reason: reason,
		})
	}
	for _, r := range open {
		switch r.Phase(a.now()) {
		case run.StartHeld:
			about(r, r.Progress.Held.Since, r.Progress.Held.Reason)
		case run.StatusUnread:
			about(r, r.Progress.Unread.Since, "the job's status could not be read: "+r.Progress.Unread.Reason)
		default:
		}
	}
	if last != nil && (last.Status == run.FailedFinal || last.Status == run.ValidationExhausted) {
		reason := last.Reason
		if last.StartDeadlinePassed {
			reason = "the start condition was not met before its deadline"
		}
		about(*last, last.EndedAt, reason)
	}
	if problems := a.problemsOf(row); len(problems) > 0 {
		reason := problems[0]
		if more := len(problems) - 1; more > 0 {
			reason += fmt.Sprintf(" (and %d more)", more)
		}
		code := "degraded"
		if row.Config == "" {
			code = "rejected"
		}
		all = append(all, Attention{Code: code, Reason: reason})
	}
	return all
}
