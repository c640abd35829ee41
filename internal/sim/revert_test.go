package sim

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// An invariant that nothing can break proves nothing. Each of these tests reintroduces a known bug,
// with a wrapper that makes one part misbehave in one way, and expects the violation of a named
// invariant.

// breaks plays seeds with a bug until the invariant is broken.
func breaks(t *testing.T, invariant string, b bugs, tune ...func(p *plan)) {
	t.Helper()
	breaksFrom(t, 0, invariant, b, tune...)
}

// breaksFrom is breaks for a bug that is hard to find: it skips seeds that are known to miss it.
func breaksFrom(t *testing.T, first uint64, invariant string, b bugs, tune ...func(p *plan)) {
	t.Helper()
	const most = 400
	r := Replay{until: invariant, bugs: b, tune: func(p *plan) {
		for _, f := range tune {
			f(p)
		}
	}}
	for seed := first; seed < first+most; seed++ {
		if !Play(seed, r).Fails(invariant) {
			continue
		}
		r.bugs = bugs{}
		if Play(seed, r).Fails(invariant) {
			t.Errorf("%s fails in seed %d even without the bug", invariant, seed)
		}
		return
	}
	t.Errorf("%s holds in %d seeds despite the bug", invariant, most)
}

// only restricts a world to these pipelines, each in the given variant of its file.
func only(variant int, ids ...string) func(p *plan) {
	return func(p *plan) {
		p.templates, p.folder.texts = nil, map[string]string{}
		for _, t := range templates {
			if slices.Contains(ids, t.id) {
				p.templates = append(p.templates, t)
				p.folder.set(t, variant)
			}
		}
	}
}

// often sets the probability of some kinds of faults.
func often(rate float64, kinds ...Kind) func(p *plan) {
	return func(p *plan) {
		for _, kind := range kinds {
			p.options.chaos.rates[kind] = rate
		}
	}
}

// seldom makes producers and people rarely act, except while a commit is under way.
func seldom(p *plan) { p.writes, p.wishes, p.edits = time.Hour, 240*time.Hour, 240*time.Hour }

// onStore is a bug in a controller's view of its store.
func onStore(wrap func(w *World, host string, below store.Store) store.Store) bugs {
	return bugs{store: wrap}
}

// commits is a store whose Commit misbehaves.
type commits struct {
	store.Store
	commit func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error
}

func (c commits) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	return c.commit(ctx, c.Store, b, now)
}

func onCommit(commit func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error) bugs {
	return onStore(func(_ *World, _ string, below store.Store) store.Store { return commits{below, commit} })
}

// The job starts before the start is announced: the commit with TRIGGERING is delayed until the
// next one.
func TestRevertStartBeforeTheStateIsWritten(t *testing.T) {
	breaks(t, NoUnsafeStart, onStore(func(_ *World, _ string, below store.Store) store.Store {
		return &hasty{Store: below, put: map[run.Key]store.Batch{}}
	}))
}

// hasty acknowledges the announcement of a start, but stores it only with the next commit.
type hasty struct {
	store.Store
	put map[run.Key]store.Batch
}

func (h *hasty) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	for _, s := range b.Runs {
		if first, there := h.put[s.Next.Key]; there {
			delete(h.put, s.Next.Key)
			if err := h.Store.Commit(ctx, first, now); err != nil {
				return err
			}
		} else if s.Next.Status == run.Triggering && len(b.Snapshots) > 0 {
			h.put[s.Next.Key] = b
			return nil
		}
	}
	return h.Store.Commit(ctx, b, now)
}

// Yesterday's undated "ready" starts today: the store returns every undated reading as if it had
// just been written.
func TestRevertUndatedFactOfYesterdayIsAStartCondition(t *testing.T) {
	breaks(t, NoUnsafeStart, onStore(func(w *World, _ string, below store.Store) store.Store { return evergreen{below, w} }))
}

type evergreen struct {
	store.Store
	world *World
}

func (e evergreen) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	answers, err := e.Store.Readings(ctx, queries)
	for _, all := range answers {
		for _, r := range all {
			if r.Period.IsZero() {
				r.UpdatedAt = e.world.Now()
			}
		}
	}
	return answers, err
}

// The store forgets when data last changed: new data counts as settled at once.
func TestRevertChangeOfDataIsForgotten(t *testing.T) {
	breaks(t, NoUnsafeStart, onReadings(func(r *sensor.Reading) { r.ChangedAt = r.UpdatedAt.Add(-time.Hour) }), only(0, "settles"))
}

// A fact without a date counts for a slice.
func TestRevertUndatedFactIsAFactAboutASlice(t *testing.T) {
	breaksFrom(t, 50, NoUnsafeStart, onReadings(func(r *sensor.Reading) {
		if r.Period.IsZero() {
			r.Period = period.At(r.UpdatedAt, period.Day, time.UTC)
		}
	}), only(0, "daily"))
}

// A run is not woken when data has settled: it waits for its interval.
func TestRevertSettledDataWakesNothing(t *testing.T) {
	breaks(t, WakeUpsArrive, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		b.Tasks = slices.Clone(b.Tasks)
		for i := range b.Tasks {
			if due := &b.Tasks[i].Due; b.Tasks[i].Kind == store.Advance && due.After(now) && due.Before(now.Add(10*time.Minute)) {
				*due = now.Add(10 * time.Minute)
			}
		}
		return below.Commit(ctx, b, now)
	}), only(0, "settles"), (*plan).hush)
}

// onReadings is a bug in every reading that a controller reads.
func onReadings(change func(r *sensor.Reading)) bugs {
	return onStore(func(_ *World, _ string, below store.Store) store.Store { return misread{below, change} })
}

type misread struct {
	store.Store
	change func(r *sensor.Reading)
}

func (m misread) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	answers, err := m.Store.Readings(ctx, queries)
	for _, all := range answers {
		for i, r := range all {
			if r != nil {
				wrong := *r
				m.change(&wrong)
				all[i] = &wrong
			}
		}
	}
	return answers, err
}

// The lease is not fenced: a former holder writes without comparing.
func TestRevertLeaseIsNotFenced(t *testing.T) {
	breaks(t, AtMostOneStart, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		if b.Lease == nil {
			return below.Commit(ctx, b, now)
		}
		b.Lease = nil
		for i := range b.Runs {
			current, err := below.Run(ctx, b.Runs[i].Next.Key)
			if err == nil && current.Version >= b.Runs[i].Next.Version {
				b.Runs[i].Read, b.Runs[i].Next.Version = current.Version, current.Version+1
			}
		}
		return below.Commit(ctx, b, now)
	}), only(0, "lands", "hourly", "plain"), often(0.3, LeaseLost), often(0.1, Slow), func(p *plan) { p.options.Hosts = 3 })
}

// The budget is counted outside the commit: in the memory of a controller, which crashes and is not
// the only one.
func TestRevertBudgetIsCountedOutsideTheCommit(t *testing.T) {
	breaks(t, BudgetsHold, onStore(func(_ *World, _ string, below store.Store) store.Store {
		return &counting{Store: below, counters: map[run.Key]run.Counters{}}
	}))
}

type counting struct {
	store.Store
	counters map[run.Key]run.Counters
}

func (c *counting) Run(ctx context.Context, key run.Key) (run.Run, error) {
	r, err := c.Store.Run(ctx, key)
	r.Counters = c.counters[key]
	return r, err
}

func (c *counting) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	for i := range b.Runs {
		next := &b.Runs[i].Next
		c.counters[next.Key] = next.Counters
		next.Counters = run.Counters{}
	}
	return c.Store.Commit(ctx, b, now)
}

// The deadline is computed from now, not from file and period.
func TestRevertDeadlineIsRecomputedFromNow(t *testing.T) {
	breaks(t, SilenceIsNeverSuccess, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		for i := range b.Deadlines {
			if d := &b.Deadlines[i].Next; d.Version == 1 && d.ClosedAt.IsZero() {
				d.BreachAt = now.Add(time.Hour)
			}
		}
		return below.Commit(ctx, b, now)
	}))
}

// The result of an old attempt counts for the latest.
func TestRevertResultOfAnOldAttemptIsAccepted(t *testing.T) {
	breaks(t, SilenceIsNeverSuccess, bugs{report: func(o run.Outcome) run.Outcome {
		o.Attempt = 0
		return o
	}}, only(0, "lands", "fires"), often(0.5, JobFailed), func(p *plan) { p.wishes = 2 * time.Minute })
}

// A deadline is closed in one commit and reported in another.
func TestRevertDeadlineIsClosedBeforeItIsTold(t *testing.T) {
	breaks(t, SilenceIsNeverSuccess, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		if len(b.Deadlines) == 0 || len(b.Events) == 0 {
			return below.Commit(ctx, b, now)
		}
		told := store.Batch{ID: b.ID + "/told", Events: b.Events}
		b.Events = nil
		if err := below.Commit(ctx, b, now); err != nil {
			return err
		}
		return below.Commit(ctx, told, now)
	}))
}

// The calendar is applied to the current day, not to the period.
func TestRevertExclusionIsTestedOnTheWallClock(t *testing.T) {
	breaks(t, ExcludedMeansDormant, onStore(func(w *World, host string, below store.Store) store.Store {
		return commits{below, func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
			if b = awakened(w, host, b, now); b.Empty() {
				return nil
			}
			return below.Commit(ctx, b, now)
		}}
	}), only(1, "nightly"), func(p *plan) { // the night after an excluded day
		zone, err := time.LoadLocation(p.folder.place.zone)
		if err != nil {
			t.Fatal(err)
		}
		year, month, day := p.options.Start.In(zone).Date()
		p.calm = time.Date(year, month, day+1, 3, 0, 0, 0, zone)
		p.end = p.calm.Add(time.Minute)
	})
}

// awakened opens a run that a batch suppresses, if the calendar allows today.
func awakened(w *World, name string, b store.Batch, now time.Time) store.Batch {
	at := slices.IndexFunc(b.Marks, func(m store.Mark) bool { return strings.HasPrefix(m.ID, "excluded/") })
	if at < 0 {
		return b
	}
	key, err := run.ParseKey(strings.TrimPrefix(b.Marks[at].ID, "excluded/"))
	h := w.hosts[slices.IndexFunc(w.hosts, func(h *host) bool { return h.name == name })]
	e := h.Catalog.Current().Get(key.Pipeline)
	if err != nil || e == nil || e.Schedule.Excluded(period.At(now, period.Day, e.Schedule.Zone())) != "" {
		return b
	}
	opened, err := run.New(key, run.Opening{
		Cause: run.CauseCron, ConfigVersion: e.Version, At: now,
		Limits: run.Limits{Window: e.Window, Interval: e.Interval, StartTries: 1, PollWindow: time.Hour, PollInterval: time.Minute},
	})
	if err != nil {
		return b
	}
	b.Marks = slices.Delete(b.Marks, at, at+1)
	b.Events = slices.DeleteFunc(b.Events, func(e event.Event) bool { return e.Type == event.PipelineExcluded })
	b.Create(opened)
	return b
}

// A change that could not be handled is acknowledged anyway, and its data is lost.
func TestRevertFailedChangeIsForgotten(t *testing.T) {
	forget := bugs{change: func(handle changeHandler) changeHandler {
		return func(ctx context.Context, c store.Change, now time.Time) error {
			_ = handle(ctx, c, now)
			return nil
		}
	}}
	t.Run("CursorNeverPasses", func(t *testing.T) { breaks(t, CursorNeverPasses, forget) })
}

// A run ends without an event.
func TestRevertEndOfARunIsNotTold(t *testing.T) {
	breaks(t, ReadyIsNotForgotten, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		b.Events = slices.DeleteFunc(slices.Clone(b.Events), func(e event.Event) bool { return e.Type == event.ValidationExhausted })
		return below.Commit(ctx, b, now)
	}))
}

// Fires during a downtime are ignored.
func TestRevertMissedFireIsNotTold(t *testing.T) {
	breaks(t, ReadyIsNotForgotten, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		b.Events = slices.DeleteFunc(slices.Clone(b.Events), func(e event.Event) bool { return e.Type == event.ScheduleMissed })
		return below.Commit(ctx, b, now)
	}))
}

// The marker of a report is stored before the report: after a crash in between, the report is never
// sent.
func TestRevertMarkerIsWrittenBeforeTheAlert(t *testing.T) {
	breaks(t, AbsenceIsBounded, onStore(func(w *World, host string, below store.Store) store.Store {
		return commits{below, func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
			if len(b.Marks) == 0 || len(b.Events) == 0 {
				return below.Commit(ctx, b, now)
			}
			told := store.Batch{ID: b.ID + "/told", Events: b.Events}
			b.Events = nil
			if err := below.Commit(ctx, b, now); err != nil {
				return err
			}
			d := throw(uint64(len(w.watch.taken)), host, w.steps)
			if d.chance(0.3) {
				return errFault // it crashes here, or the store does not answer
			}
			return below.Commit(ctx, told, now)
		}}
	}))
}

// Every controller that notices the same absence reports it, each time with another id.
func TestRevertAbsenceIsToldByEverybody(t *testing.T) {
	breaks(t, AbsenceIsBounded, onStore(func(w *World, host string, below store.Store) store.Store {
		return &forgetful{Store: below, host: host, world: w}
	}))
}

// forgetful finds no marker, and gives events random ids.
type forgetful struct {
	store.Store
	host  string
	world *World
}

func (f *forgetful) Marked(context.Context, []string) (map[string]bool, error) { return nil, nil }

func (f *forgetful) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	b.Marks = slices.DeleteFunc(slices.Clone(b.Marks), func(m store.Mark) bool { return strings.HasPrefix(m.ID, "post-run-missing/") })
	b.Events = slices.Clone(b.Events)
	for i := range b.Events {
		if b.Events[i].Type == event.PostRunSensorMissing {
			b.Events[i].ID += f.host + now.String()
			b.ID += now.String()
		}
	}
	return f.Store.Commit(ctx, b, now)
}

// The store acknowledges the end of a run and then returns an older version.
func TestRevertAcknowledgedRunIsLost(t *testing.T) {
	breaks(t, VersionsGrow, bugs{below: sayLess})
}

func sayLess(s store.Store) store.Store { return lossy{s} }

type lossy struct{ store.Store }

func (l lossy) Run(ctx context.Context, key run.Key) (run.Run, error) {
	r, err := l.Store.Run(ctx, key)
	if r.Status.Ended() {
		r.Version--
	}
	return r, err
}

// Identical rewritten data counts as late data.
func TestRevertIdenticalRewriteIsLateData(t *testing.T) {
	breaks(t, EndedStaysEnded, onStore(func(_ *World, _ string, below store.Store) store.Store { return suspicious{below} }))
}

// suspicious alters the snapshot of a start.
type suspicious struct{ store.Store }

func (s suspicious) Snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	found, err := s.Store.Snapshot(ctx, id)
	for i := range found.Sensors {
		if fields := maps.Clone(found.Sensors[i].Fields); fields != nil {
			fields["?"] = true
			found.Sensors[i].Fields = fields
		}
	}
	return found, err
}

// Event ids are random, so that a repeat is not recognised.
func TestRevertEventIDsAreRandom(t *testing.T) {
	breaks(t, EventOnce, onStore(func(w *World, host string, below store.Store) store.Store {
		return commits{below, func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
			b.Events = slices.Clone(b.Events)
			for i := range b.Events {
				b.Events[i].ID += host + now.String()
			}
			return below.Commit(ctx, b, now)
		}}
	}))
}

// A request that is sent twice is answered twice: the answer is neither marked nor looked up.
func TestRevertRerunIsAnsweredTwice(t *testing.T) {
	breaks(t, RerunAnsweredOnce, onStore(func(_ *World, _ string, below store.Store) store.Store { return absentMinded{below} }),
		often(0.2, ErrorAfter), func(p *plan) { p.wishes = 2 * time.Minute })
}

type absentMinded struct{ store.Store }

func (absentMinded) Reruns(context.Context, []run.Key) (map[run.Key][]store.Rerun, error) {
	return nil, nil
}

func (a absentMinded) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	b.Marks = slices.DeleteFunc(slices.Clone(b.Marks), func(m store.Mark) bool { return strings.HasPrefix(m.ID, "rerun/") })
	return a.Store.Commit(ctx, b, now)
}

// A failed task is never released, and no controller looks for runs without a task.
func TestRevertLostTaskIsNeverFound(t *testing.T) {
	breaks(t, Liveness, onStore(func(_ *World, _ string, below store.Store) store.Store { return careless{below} }))
}

// careless loses the task of an attempt at the first step that waits, and hides open runs from
// those who look for them.
type careless struct{ store.Store }

func (careless) OpenRuns(context.Context, pipeline.ID) ([]run.Run, error) { return nil, nil }

func (c careless) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if b.Lease != nil && len(b.Runs) > 0 && b.Runs[0].Next.Status == run.Running {
		b.Tasks = nil
		b.Finished = []string{b.Lease.Task}
	}
	return c.Store.Commit(ctx, b, now)
}

// A write does not increment the version of a run whose job runs: a completion that has read its
// inputs before is still committed, and the change has been handled by then.
func TestRevertWriteDoesNotMoveARunningRun(t *testing.T) {
	breaksFrom(t, 54, InputsAreNotLost, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		if strings.HasPrefix(b.ID, "wake/") && len(b.Runs) == 1 && b.Runs[0].Next.Status != run.Pending {
			return nil
		}
		return below.Commit(ctx, b, now)
	}), only(1, "lands"), (*plan).hush, often(0.1, Raced), often(0, JobHung, JobFailed), seldom)
}

// Starts that are the job occupy the workers that deadlines, fires and the steps of other attempts
// need.
func TestRevertOnePoolForEverything(t *testing.T) {
	breaks(t, NothingStarves, bugs{pools: func(p *pools) {
		p.timers, p.blocking = p.steps, p.steps
	}}, only(0, "lands", "mute1", "mute2", "mute3"), (*plan).hush)
}

// A task that failed holds its worker for a moment, and is then retried before all tasks that are
// due later.
func TestRevertFailedTaskHoldsItsWorker(t *testing.T) {
	breaks(t, NothingStarves, onStore(func(w *World, _ string, below store.Store) store.Store {
		return commits{below, func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
			if !strings.HasPrefix(b.ID, "postpone/") {
				return below.Commit(ctx, b, now)
			}
			w.wait(w.now.Add(backoff))
			return below.Release(ctx, []store.Lease{*b.Lease}, now)
		}}
	}), only(0, "lands"), (*plan).hush, with((*plan).curse))
}

// Changes that fail count towards the bound on unhandled changes, and are retried without end.
func TestRevertStuckPipelineStopsTheFeed(t *testing.T) {
	breaks(t, NothingStarves, bugs{insists: true}, only(0, "lands", "fires"), (*plan).hush, with((*plan).clog))
}

// The commit with which a run begins to wait for a slot does not depend on the pipeline's row. It
// takes ten seconds here, and a slot that is freed meanwhile wakes no run.
func TestRevertSlotIsFreedWhileARunDecidesToWait(t *testing.T) {
	breaks(t, WakeUpsArrive, onStore(func(w *World, _ string, below store.Store) store.Store {
		return commits{below, func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
			if len(b.Runs) == 1 && !b.Runs[0].Next.Progress.WaitingSince.IsZero() {
				b.Expected = nil
				w.wait(w.now.Add(10 * time.Second))
			}
			return below.Commit(ctx, b, now)
		}}
	}), only(0, "lands", "plain"), (*plan).hush, often(0, JobHung, StartTimedOut, StartLost),
		func(p *plan) { p.writes, p.wishes, p.edits = 2*time.Minute, 240*time.Hour, 240*time.Hour })
}

// A write does not increment the version of a run whose start is to be repeated. The evaluation
// before that start finds the gate closed, and its commit takes twenty seconds here: a write that
// opens the gate meanwhile wakes no run.
func TestRevertWriteDuringTheEvaluationBeforeARepeatedStart(t *testing.T) {
	breaksFrom(t, 153, WakeUpsArrive, onStore(func(w *World, _ string, below store.Store) store.Store {
		return commits{below, func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
			switch {
			case len(b.Runs) == 0:
			case strings.HasPrefix(b.ID, "wake/") && b.Runs[0].Next.Status == run.Triggering:
				return nil
			case strings.HasPrefix(b.ID, "closed") && b.Runs[0].Next.Progress.StartTries > 0:
				w.wait(w.now.Add(20 * time.Second))
			}
			return below.Commit(ctx, b, now)
		}}
	}), only(0, "fires"), (*plan).hush, often(0.8, StartRefused), often(0.05, Raced), often(0, JobHung), func(p *plan) {
		p.writes, p.wishes, p.edits = 3*time.Minute, 240*time.Hour, 240*time.Hour
	})
}

// The commit that announces a start does not depend on the pipeline's row, so a pause that is
// stored after the row was read does not stop the start.
func TestRevertPauseDuringAnEvaluationStopsNoStart(t *testing.T) {
	breaks(t, PausedMeansIdle, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		b.Expected = nil
		return below.Commit(ctx, b, now)
	}), (*plan).hush, often(0.05, Raced), func(p *plan) { p.wishes = 5 * time.Minute })
}

// A job whose target accepted the stop counts as stopped, so the next attempt may start while it
// still runs.
func TestRevertStoppingJobCountsAsStopped(t *testing.T) {
	breaks(t, AttemptsDoNotOverlap, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		for i := range b.Runs {
			if b.Runs[i].Next.Progress.Left == run.JobStopping {
				b.Runs[i].Next.Progress.Left = run.JobStopped
			}
		}
		return below.Commit(ctx, b, now)
	}), only(0, "lands", "fires"), (*plan).hush, often(1, StopSlow), func(p *plan) { p.wishes = 2 * time.Minute })
}

// with adds an errand in the first minutes.
func with(errand func(p *plan, at time.Time) *errand) func(p *plan) {
	return func(p *plan) { p.add(p.options.chaos, errand(p, p.options.Start.Add(10*time.Minute))) }
}

// The store reuses the positions of lost events, so that sinks that have read the lost ones never
// see the new ones.
func TestRevertPositionsOfLostEventsAreReused(t *testing.T) {
	breaks(t, AlertsArrive, onStore(func(_ *World, _ string, below store.Store) store.Store { return reusing{below} }), with((*plan).failOver))
}

// reusing gives events their index in the list as position.
type reusing struct{ store.Store }

func (r reusing) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	all, err := r.Store.EventsAfter(ctx, 0, store.MaxPage)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Position = store.Position(i + 1)
	}
	from := min(int(after), len(all))
	return all[from:min(len(all), from+limit)], nil
}
