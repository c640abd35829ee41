package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// watch is below all controllers and sees every change of the store's rows. It keeps a copy of the
// rows, so that each invariant can be checked on what changed, and compares the copy with the store
// from time to time.
type watch struct {
	world *World
	rows  store.Store // the actual rows

	taken     map[string]bool // committed batches by id
	runs      map[run.Key]run.Run
	order     []run.Key                        // in order of creation
	pipelines map[pipeline.ID][]store.Pipeline // every version of each row
	deadlines map[ledgerKey]store.Deadline
	events    []event.Event
	place     store.Position // of the last event

	written     map[int64]write // readings by version
	bySensor    map[sensorID][]int64
	lastVersion int64

	prompt time.Time // from when on due work must be done soon, in real time; zero: not yet
	notes  notes     // of the invariants
	broken []Violation
}

type ledgerKey struct {
	run.Key
	kind store.DeadlineKind
}

type sensorID struct {
	pipeline pipeline.ID
	key      sensor.Key
}

func (s sensorID) String() string { return string(s.pipeline) + "/" + string(s.key) }

type write struct {
	pipeline pipeline.ID
	sensor.Reading
}

// Violation is a broken promise.
type Violation struct {
	Invariant string
	At        time.Time
	Step      int
	What      string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s broken at step %d, %s: %s", v.Invariant, v.Step, v.At.Format(time.DateTime), v.What)
}

func newWatch(w *World) *watch {
	rows := store.Store(w.data)
	if w.bugs.below != nil {
		rows = w.bugs.below(rows)
	}
	return &watch{
		world: w, rows: rows, taken: map[string]bool{}, runs: map[run.Key]run.Run{}, pipelines: map[pipeline.ID][]store.Pipeline{},
		deadlines: map[ledgerKey]store.Deadline{}, written: map[int64]write{}, bySensor: map[sensorID][]int64{}, notes: newNotes(),
	}
}

// fail records the first violation of an invariant.
func (w *watch) fail(invariant, format string, args ...any) {
	for _, v := range w.broken {
		if v.Invariant == invariant {
			return
		}
	}
	v := Violation{Invariant: invariant, At: w.world.Now(), Step: w.world.steps, What: fmt.Sprintf(format, args...)}
	w.broken = append(w.broken, v)
	w.world.tracef("BROKEN %s", v)
}

// watched is one controller's store handle, observed by the watch.
type watched struct {
	store.Store
	watch *watch
}

// heldBy returns the store for a handle.
func (w *watch) heldBy(hold store.Store) store.Store {
	if w.world.bugs.below != nil {
		hold = w.world.bugs.below(hold)
	}
	return &watched{Store: hold, watch: w}
}

// PutReadings is an external write.
func (w *watch) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	return (&watched{Store: w.world.data, watch: w}).PutReadings(ctx, writes, now)
}

func (s *watched) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if err := s.Store.Commit(ctx, b, now); err != nil {
		return err
	}
	s.watch.committed(s.Store, b, now)
	return nil
}

func (s *watched) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	puts, err := s.Store.PutReadings(ctx, writes, now)
	if err == nil {
		s.watch.put(writes, puts)
	}
	return puts, err
}

func (s *watched) Done(ctx context.Context, name string, changes []store.Change) error {
	err := s.Store.Done(ctx, name, changes)
	if err == nil {
		s.watch.done(changes)
	}
	return err
}

func (s *watched) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	s.watch.world.due.known = false
	return s.Store.Claim(ctx, q, now)
}

func (s *watched) Renew(ctx context.Context, leases []store.Lease, lease time.Duration, now time.Time) ([]store.Lease, error) {
	s.watch.world.due.known = false
	return s.Store.Renew(ctx, leases, lease, now)
}

func (s *watched) Release(ctx context.Context, leases []store.Lease, now time.Time) error {
	s.watch.wake()
	return s.Store.Release(ctx, leases, now)
}

func (s *watched) VoidLeases(ctx context.Context) error {
	s.watch.wake()
	return s.Store.VoidLeases(ctx)
}

// wake notifies the controllers that there may be a task for them.
func (w *watch) wake() {
	w.world.due.known = false
	for _, h := range w.world.hosts {
		h.woken()
	}
}

// put records readings.
func (w *watch) put(writes []store.Write, puts []store.Put) {
	for i, p := range puts {
		if p.Ignored {
			continue
		}
		r := writes[i].Reading
		if data, err := sensor.Normalize(r.Fields); err == nil {
			r.Fields = data.(map[string]any)
		}
		r.Version, r.UpdatedAt = p.Version, p.UpdatedAt
		at := sensorID{writes[i].Pipeline, r.Key}
		w.written[p.Version] = write{writes[i].Pipeline, r}
		w.bySensor[at] = append(w.bySensor[at], p.Version)
		w.lastVersion = p.Version
		w.world.tracef("%s of %s is written for %q: %v (version %d)", r.Key, at.pipeline, r.Period, r.Fields, p.Version)
	}
	w.feed()
}

// feed notifies the controllers of changes.
func (w *watch) feed() {
	for _, h := range w.world.hosts {
		h.fed = true
	}
}

// committed records a batch and checks what it changed.
func (w *watch) committed(s store.Store, b store.Batch, now time.Time) {
	if len(b.Tasks)+len(b.Finished) > 0 {
		w.wake()
	}
	if w.taken[b.Identity()] {
		return // it is a repeat
	}
	w.taken[b.Identity()] = true
	told := w.newEvents(s)
	for _, swap := range b.Pipelines {
		w.pipelines[swap.Next.ID] = append(w.pipelines[swap.Next.ID], swap.Next)
		w.feed()
	}
	for _, swap := range b.Runs {
		before, after := w.runs[swap.Next.Key], swap.Next
		if before.Status == "" {
			w.order = append(w.order, after.Key)
		}
		w.runs[after.Key] = after
		w.runMoved(before, after, b, now)
	}
	for _, swap := range b.Deadlines {
		at := ledgerKey{swap.Next.Key, swap.Next.Kind}
		before, after := w.deadlines[at], swap.Next
		w.deadlines[at] = after
		w.deadlineMoved(before, after, told)
	}
}

// newEvents checks the events since the last call.
func (w *watch) newEvents(s store.Store) []event.Event {
	var fresh []event.Event
	for {
		stored, err := s.EventsAfter(context.Background(), w.place, store.MaxPage)
		if err != nil || len(stored) == 0 {
			break
		}
		for _, e := range stored {
			w.place = e.Position
			fresh = append(fresh, e.Event)
		}
	}
	for _, h := range w.world.hosts {
		h.courier.called = h.courier.called || len(fresh) > 0
	}
	for _, e := range fresh {
		w.events = append(w.events, e)
		w.world.tracef("EVENT %s %s/%s/%s attempt %d: %s", e.Type, e.Detail.Pipeline, e.Detail.Schedule, e.Detail.Date, e.Detail.Attempt, e.Detail.Message)
		w.told(e)
	}
	return fresh
}

// runMoved checks a run that was created or changed.
func (w *watch) runMoved(before, after run.Run, b store.Batch, now time.Time) {
	if before.Status != after.Status || before.Attempt != after.Attempt {
		w.feed()
		w.world.tracef("%s: %s of attempt %d becomes %s of attempt %d (%s)", after.Key, orNone(before.Status), before.Attempt, after.Status, after.Attempt, after.Reason)
	}
	if after.Claimed() || after.Progress.Left == run.JobStopping && after.Progress.Offer.Worker != "" {
		w.notes.workers[after.Key] = true
	} else {
		delete(w.notes.workers, after.Key)
	}
	w.versionsGrow(before, after)
	w.heardIsKept(before, after)
	w.endedStaysEnded(before, after, b)
	if after.Attempt > before.Attempt {
		w.budgetsHold(before, after)
		w.orderedBy(after)
		w.excludedStaysDormant(after)
		w.isNotPaused(after, "opens")
	}
	if after.Status == run.Triggering && after.Progress.Snapshot != before.Progress.Snapshot {
		w.startIsSafe(after, b)
		w.startIsInTime(after)
		w.isNotPaused(after, "starts")
	}
	if after.Claimed() && !before.Claimed() {
		w.startIsSafe(after, b)
		w.startIsInTime(after)
		w.isNotPaused(after, "is claimed")
	}
	if after.Status == run.Completed && before.Status != run.Completed {
		w.completedWithSuccess(after)
	}
	if after.Status.Ended() && !before.Status.Ended() {
		w.endIsTold(after)
	}
	if after.Status == run.ValidationExhausted && before.Status == run.Pending {
		w.readyIsNotExhausted(before, after, now)
	}
}

func orNone(s run.Status) string {
	if s == "" {
		return "none"
	}
	return string(s)
}

// definitions are compiled files by version, shared by all worlds: each is compiled once.
var definitions sync.Map

// definition returns a version of a pipeline; nil if it was never stored.
func (w *watch) definition(id pipeline.ID, version string) *pipeline.Definition {
	if d, there := definitions.Load(version); there {
		return d.(*pipeline.Definition)
	}
	c, err := w.rows.Config(context.Background(), id, version)
	if err != nil {
		return nil
	}
	set := pipeline.Load([]pipeline.Source{c.File}, pipeline.Options{Jobs: kinds, Calendars: c.Calendars, Archetypes: c.Archetypes})
	if len(set.Definitions) != 1 {
		return nil
	}
	definitions.Store(version, set.Definitions[0])
	return set.Definitions[0]
}

// current returns the latest row of a pipeline.
func (w *watch) current(id pipeline.ID) store.Pipeline {
	rows := w.pipelines[id]
	if len(rows) == 0 {
		return store.Pipeline{}
	}
	return rows[len(rows)-1]
}

// best returns the reading for a period among those up to a version: its own, else that of the
// smallest slice that holds it, else the undated one.
func (w *watch) best(at sensorID, p period.Period, upTo int64) (write, bool) {
	return w.latest(at, p, upTo, true)
}

// dated is best without the undated reading.
func (w *watch) dated(at sensorID, p period.Period, upTo int64) (write, bool) {
	return w.latest(at, p, upTo, false)
}

func (w *watch) latest(at sensorID, p period.Period, upTo int64, undated bool) (write, bool) {
	latest := map[period.Period]write{}
	for _, v := range w.bySensor[at] {
		r := w.written[v]
		if v <= upTo && (r.Period.IsZero() && undated || r.Period == p || r.Period.Holds(p)) {
			latest[r.Period] = r
		}
	}
	var found write
	for _, r := range latest {
		if !r.Deleted && (found.Version == 0 || nearer(r.Period, found.Period)) {
			found = r
		}
	}
	return found, found.Version != 0
}

// deletedSince reports whether a reading was deleted after it was written.
func (w *watch) deletedSince(r write) bool {
	return slices.ContainsFunc(w.bySensor[sensorID{r.pipeline, r.Key}], func(v int64) bool {
		later := w.written[v]
		return v > r.Version && later.Deleted && later.Period == r.Period
	})
}

// nearer reports whether a reading for a takes precedence over one for b.
func nearer(a, b period.Period) bool {
	if a.IsZero() || b.IsZero() {
		return b.IsZero() && !a.IsZero()
	}
	return b.Holds(a)
}

// startCalled is called by the target before each start takes effect.
func (w *watch) startCalled(a job.Attempt) { w.startIsAnnounced(a) }

// jobStarted is called for every job that begins, with the number of jobs of its attempt so far.
func (w *watch) jobStarted(a job.Attempt, n int) {
	w.startsOnce(a, n)
	w.startsAlone(a)
}
