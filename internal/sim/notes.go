package sim

import (
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// The invariants, by name.
const (
	NoUnsafeStart         = "S1 NoUnsafeStart"
	AtMostOneStart        = "S2 AtMostOneStart"
	BudgetsHold           = "S3 BudgetsHold"
	SilenceIsNeverSuccess = "S4 SilenceIsNeverSuccess"
	ExcludedMeansDormant  = "S5 ExcludedMeansDormant"
	ReadyIsNotForgotten   = "L1 ReadyIsNotForgotten"
	AbsenceIsBounded      = "L2 AbsenceIsBounded"
	VersionsGrow          = "VersionsGrow"
	EndedStaysEnded       = "EndedStaysEnded"
	EventOnce             = "EventOnce"
	RerunAnsweredOnce     = "RerunAnsweredOnce"
	CursorNeverPasses     = "CursorNeverPasses"
	PausedMeansIdle       = "PausedMeansIdle"
	AttemptsDoNotOverlap  = "AttemptsDoNotOverlap"
	Liveness              = "Liveness"
	NothingStarves        = "NothingStarves"
	WakeUpsArrive         = "WakeUpsArrive"
	InputsAreNotLost      = "InputsAreNotLost"
	AlertsArrive          = "AlertsArrive"
)

// notes are the records of the invariants.
type notes struct {
	jobs      map[run.AttemptID]int                 // started on targets
	completed map[run.Key]bool                      // at some time
	said      map[run.AttemptID]map[run.Result]bool // reported by targets and people
	spent     map[run.Key]map[run.Counter]int       // further attempts by the counter that they use
	forced    map[run.Key]int                       // the last attempt that a person forced
	ordered   map[run.Key]bool                      // an operator or a rerun requested the attempt, or the one that it retries
	excluded  map[run.Key]bool                      // reported as suppressed
	workers   map[run.Key]bool                      // a worker may send heartbeats
	why       map[run.AttemptID]bool                // the reason for its end was reported
	ids       map[string]bool                       // of events
	once      map[string]bool                       // what must be reported once, apart from its id
	missed    map[string]time.Time                  // pipeline and date of missed fires, and when they were reported
	setBacks  []setBack
	missing   map[string]bool                 // run, attempt and key of post-run sensors reported as missing
	late      map[run.Key]bool                // reported as late data
	lateOn    map[string]bool                 // attempt and sensor whose late data was reported
	judged    map[run.AttemptID]bool          // an outcome of its post-run rules was reported, or drift
	waits     map[run.AttemptID]time.Time     // since when it has waited although it could continue
	due       map[string]time.Time            // since when a task has been seen as due
	ends      map[string]bool                 // of deadlines, with their instants
	answers   map[string]int                  // to requests
	asked     map[string]bool                 // requests that were answered
	aside     map[store.Position]store.Change // changes that became tasks
	handled   map[store.Position]bool
}

func newNotes() notes {
	return notes{
		jobs: map[run.AttemptID]int{}, completed: map[run.Key]bool{}, said: map[run.AttemptID]map[run.Result]bool{}, spent: map[run.Key]map[run.Counter]int{},
		forced: map[run.Key]int{}, ordered: map[run.Key]bool{}, excluded: map[run.Key]bool{}, workers: map[run.Key]bool{}, why: map[run.AttemptID]bool{}, ids: map[string]bool{}, once: map[string]bool{},
		missed: map[string]time.Time{}, missing: map[string]bool{}, late: map[run.Key]bool{},
		lateOn: map[string]bool{}, judged: map[run.AttemptID]bool{}, waits: map[run.AttemptID]time.Time{},
		answers: map[string]int{}, ends: map[string]bool{}, asked: map[string]bool{}, handled: map[store.Position]bool{}, aside: map[store.Position]store.Change{},
	}
}
