// Package explain says why a run waits and what would open its gate, what a past run started on and how it went, and
// why a period has no run. It reads and evaluates; it changes nothing.
//
// Look collects the facts and draws the conclusions; text.go formats them for the command line and the API. Package
// gate gives the verdict on a gate, package rule the reasons of rules.
package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Sources are the sources of an explanation's data.
type Sources struct {
	Store   store.Reader
	Catalog *catalog.Catalog
	// Silenced returns the id of the silence that suppressed the alert about an event, or "". It may be nil.
	Silenced func(event.Event) string
}

// Question selects what to explain.
type Question struct {
	Pipeline pipeline.ID
	Schedule pipeline.ScheduleID // the pipeline's own by default
	Period   period.Period       // by default the newest open run's, or else that of a fire now
	Real     bool                // the real run, even if the pipeline now has only dry runs
}

// State is the state of a run, in one word.
type State string

// All states except NotOpened are those of a run.
const (
	NotOpened  State = "not opened"
	Waiting    State = "waiting"
	Starting   State = "starting"
	Offered    State = "offered" // its gate is open, and no worker has claimed it
	Held       State = "held"
	Running    State = "running"
	Settling   State = "settling" // it failed, and whether it is retried is being decided
	Completed  State = "completed"
	WouldStart State = "would start" // a dry run whose gate was open
	Failed     State = "failed"
	Exhausted  State = "exhausted" // its gate did not open within the window
	Cancelled  State = "cancelled"
)

// Explanation is the answer to a Question.
type Explanation struct {
	Key     run.Key
	At      time.Time
	State   State
	Summary string   // one sentence
	Reasons []string // why it is in this state, most important first
	Opens   []string // what would open it, most direct first
	Said    Said     // the same three with their codes and parameters

	DryRun bool
	Run    *run.Run // nil if there is none
	Gate   *Gate    // nil if there was nothing to evaluate

	Attempts  []Attempt // oldest first
	Log       []store.JobEntry
	Reruns    []store.Rerun
	Deadlines []store.Deadline
	Silenced  []Silenced        // in the order of their first alert
	Probes    []prober.Standing // those whose answers its gate reads now, in the order of its rules

	opensAt   time.Time // when the schedule opens a period that has no run; zero if it does not
	startBy   time.Time // until when the start condition may still open the period; zero without a deadline
	resumesAt time.Time // when the pause ends that keeps the run from continuing; zero if it does not end by itself
}

// Said is the text of an explanation as codes with parameters.
type Said struct {
	Summary reason.Reason
	Reasons []reason.Reason
	Opens   []reason.Reason
}

// Silenced is a silence that suppressed alerts about the run.
type Silenced struct {
	By     string // its id
	Alerts int
}

// Gate is the state of the rules.
type Gate struct {
	Live     bool // the current state, rather than the one the run started on
	At       time.Time
	Outcome  rule.Outcome
	Bypassed bool
	Leaves   []Leaf

	PreferUntil time.Time // when the preferred rules stop closing it; zero without such rules
	Degraded    []string  // the preferred rules that do not pass, if it is open without them
	OpensAt     time.Time // when it opens without new data; zero if it does not
}

// Leaf is one rule with the reading that it saw.
type Leaf struct {
	store.SeenLeaf
	Holds     bool // it does not close the gate; inside a "not", this means that the rule fails
	Version   int64
	UpdatedAt time.Time // zero if there was no reading
	Source    string    // the writer, if known
	PassesAt  time.Time // when it passes without new data; zero if it does not
	Period    period.Period
}

// ErrUnknownPipeline means that the pipeline never existed.
var ErrUnknownPipeline = errors.New("there is no such pipeline")

// Look explains the run selected by q.
func Look(ctx context.Context, s Sources, q Question, now time.Time) (Explanation, error) {
	l := look{Sources: s, now: now}
	if err := l.find(ctx, q); err != nil {
		return Explanation{}, err
	}
	x := &l.x
	x.Key, x.At = l.key, now
	if err := l.history(ctx); err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", l.key, err)
	}
	var err error
	if x.Run == nil {
		err = l.never(ctx)
	} else {
		err = l.standing(ctx)
	}
	if err == nil {
		l.rejected()
	}
	if err == nil && x.Gate != nil && x.Gate.Live {
		err = errors.Join(l.probes(ctx), l.sources(ctx))
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", l.key, err)
	}
	return *x, nil
}

// rejected adds that the pipeline's newest file is not in force.
func (l *look) rejected() {
	problems := l.row.Problems()
	if len(problems) == 0 || l.def == nil {
		return
	}
	more := ""
	if n := len(problems) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	l.because("rejected", "the newest version of the file has problems and is not active: %s%s", problems[0], more)
}

// look is the state of building one explanation.
type look struct {
	Sources
	now    time.Time
	key    run.Key
	row    store.Pipeline
	def    *pipeline.Definition // nil if the pipeline is not in force
	events []event.Event        // about the run, oldest first
	x      Explanation

	triggered bool   // only a manual trigger opens the run
	others    []Leaf // state of the start condition and the other rules, for the hints
}

// find determines which run is meant, and reads it.
func (l *look) find(ctx context.Context, q Question) error {
	l.def = l.Catalog.Current().Definition(q.Pipeline)
	var err error
	if l.row, err = l.Store.Pipeline(ctx, q.Pipeline); errors.Is(err, store.ErrNotFound) && l.def == nil {
		return fmt.Errorf("%s: %w", q.Pipeline, ErrUnknownPipeline)
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read pipeline %s: %w", q.Pipeline, err)
	}
	l.x.DryRun = l.def != nil && l.def.DryRun && !q.Real
	l.key = run.Key{Pipeline: q.Pipeline, Schedule: q.Schedule, Period: q.Period}
	if l.key.Schedule == "" && l.def != nil {
		l.key.Schedule = l.def.Opens
	}
	if err := l.choosePeriod(ctx); err != nil {
		return err
	}
	return l.readRun(ctx)
}

// choosePeriod picks the newest open run if the question names no period, or else the current period.
func (l *look) choosePeriod(ctx context.Context) error {
	if !l.key.Period.IsZero() {
		return nil
	}
	open, err := l.Store.OpenRuns(ctx, l.key.Pipeline)
	if err != nil {
		return fmt.Errorf("read open runs of %s: %w", l.key.Pipeline, err)
	}
	for _, r := range open {
		if l.key.Schedule == "" || r.Schedule == l.key.Schedule {
			l.key = r.Key
		}
	}
	if l.key.Period.IsZero() && l.def != nil {
		l.key.Period = l.def.Schedule.PeriodAt(l.now)
	}
	return nil
}

func (l *look) readRun(ctx context.Context) error {
	read := l.Store.Run
	if l.x.DryRun {
		read = l.Store.DryRun
	}
	r, err := read(ctx, l.key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read run %s: %w", l.key, err)
	}
	l.x.Run = &r
	return nil
}

// maxEvents bounds how many of a run's events are read: attempts are few.
const maxEvents = 500

// history reads the records about the run.
func (l *look) history(ctx context.Context) error {
	page, err := l.Store.Events(ctx, store.EventQuery{Key: l.key, Pipeline: l.key.Pipeline, Ascending: true, Limit: maxEvents})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	l.events = page.Items
	l.silenced()
	due, err := l.Store.Deadlines(ctx, store.DeadlineQuery{Key: l.key})
	if err != nil {
		return fmt.Errorf("read deadlines: %w", err)
	}
	l.x.Deadlines = due.Items
	if l.x.Run == nil {
		return nil
	}
	logs, err := l.Store.JobLogs(ctx, []run.Key{l.key})
	if err != nil {
		return err
	}
	requests, err := l.Store.Reruns(ctx, []run.Key{l.key})
	if err != nil {
		return err
	}
	l.x.Log, l.x.Reruns = logs[l.key], requests[l.key]
	l.x.Attempts = Attempts(*l.x.Run, l.x.Log, l.events)
	if l.x.DryRun {
		for i := range l.x.Attempts { // no job ran, so none succeeded
			a := &l.x.Attempts[i]
			a.Result, a.Message = "", ""
		}
	}
	return nil
}

// silenced counts the suppressed alerts.
func (l *look) silenced() {
	if l.Silenced == nil {
		return
	}
	for _, e := range l.events {
		by := l.Silenced(e)
		if by == "" {
			continue
		}
		i := slices.IndexFunc(l.x.Silenced, func(s Silenced) bool { return s.By == by })
		if i < 0 {
			i = len(l.x.Silenced)
			l.x.Silenced = append(l.x.Silenced, Silenced{By: by})
		}
		l.x.Silenced[i].Alerts++
	}
}
