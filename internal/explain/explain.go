// Package explain says why a run waits and what would open its gate, what a past run started on and
// how it went, and why a period has no run. It reads and evaluates; it changes nothing.
//
// Look collects the facts and draws the conclusions; text.go formats them for the command line and
// the API. Package gate gives the verdict on a gate, package rule the reasons of rules.
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
	// Silenced returns the id of the silence that suppressed the alert about an event, or "". It
	// may be nil.
	Silenced func(event.Event) string
}

// Question selects what to explain.
type Question struct {
	Pipeline pipeline.ID
	Schedule pipeline.ScheduleID // by default the pipeline's own or, if it is not active, that of its run
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
	Actions []Action // what an operator can do, most direct first

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

	Files []store.UsedFile // the configuration files behind the start; nil if it is live
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

// Explain explains the run selected by q.
func Explain(ctx context.Context, s Sources, q Question, now time.Time) (Explanation, error) {
	return explained(ctx, s, q, now, nil)
}

// explained is Explain. depth counts the upstream runs that are explained with it.
func explained(ctx context.Context, s Sources, q Question, now time.Time, depth *int) (Explanation, error) {
	b := builder{Sources: s, now: now, depth: depth}
	if err := b.find(ctx, q); err != nil {
		return Explanation{}, err
	}
	x := &b.x
	x.Key, x.At = b.key, now
	if err := b.history(ctx); err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", b.key, err)
	}
	var err error
	if x.Run == nil {
		err = b.never(ctx)
	} else {
		err = b.standing(ctx)
	}
	if err == nil {
		b.rejected()
		b.removed()
	}
	if err == nil && x.Gate != nil && x.Gate.Live {
		err = errors.Join(b.probes(ctx), b.sources(ctx))
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", b.key, err)
	}
	b.actions()
	return *x, nil
}

// rejected adds that the pipeline's newest file is not active.
func (b *builder) rejected() {
	problems := b.row.Problems()
	if len(problems) == 0 || b.def == nil {
		return
	}
	more := ""
	if n := len(problems) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	b.because("rejected", "the newest version of the file has problems and is not active: %s%s", problems[0], more)
}

// removed adds to the explanation of a run that its pipeline's file is gone.
func (b *builder) removed() {
	switch {
	case b.x.Run == nil || !b.row.Removed() || b.row.RemovedAt.IsZero():
	case b.x.Run.Status.Open():
		b.because("removed", "the pipeline's file was removed %s: this attempt finishes, and nothing new opens", b.when(b.row.RemovedAt))
	default:
		b.because("removed", "the pipeline's file was removed %s, so nothing new opens", b.when(b.row.RemovedAt))
	}
}

// builder is the state of building one explanation.
type builder struct {
	Sources
	now    time.Time
	key    run.Key
	row    store.Pipeline
	def    *pipeline.Definition // nil if the pipeline is not active
	events []event.Event        // about the run, oldest first
	x      Explanation

	pushable  []pushable // in the order of the hints
	triggered bool       // only a manual trigger opens the run
	marked    bool       // the period has an ExcludedMark
	depth     *int       // how many upstream runs have been explained; nil before the first
}

// maxEvents bounds how many of a run's events are read: attempts are few.
const maxEvents = 500

// history reads the records about the run.
func (b *builder) history(ctx context.Context) error {
	page, err := b.Store.Events(ctx, store.EventQuery{Key: b.key, Pipeline: b.key.Pipeline, Ascending: true, Limit: maxEvents})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	b.events = page.Items
	b.silenced()
	due, err := b.Store.Deadlines(ctx, store.DeadlineQuery{Key: b.key})
	if err != nil {
		return fmt.Errorf("read deadlines: %w", err)
	}
	b.x.Deadlines = due.Items
	if b.x.Run == nil {
		return nil
	}
	logs, err := b.Store.JobLogs(ctx, []run.Key{b.key})
	if err != nil {
		return err
	}
	requests, err := b.Store.Reruns(ctx, []run.Key{b.key})
	if err != nil {
		return err
	}
	b.x.Log, b.x.Reruns = logs[b.key], requests[b.key]
	b.x.Attempts = Attempts(*b.x.Run, b.x.Log, b.events)
	if b.x.DryRun {
		for i := range b.x.Attempts { // no job ran, so none succeeded
			a := &b.x.Attempts[i]
			a.Result, a.Message = "", ""
		}
	}
	return nil
}

// silenced counts the suppressed alerts.
func (b *builder) silenced() {
	if b.Silenced == nil {
		return
	}
	for _, e := range b.events {
		by := b.Silenced(e)
		if by == "" {
			continue
		}
		i := slices.IndexFunc(b.x.Silenced, func(s Silenced) bool { return s.By == by })
		if i < 0 {
			i = len(b.x.Silenced)
			b.x.Silenced = append(b.x.Silenced, Silenced{By: by})
		}
		b.x.Silenced[i].Alerts++
	}
}
