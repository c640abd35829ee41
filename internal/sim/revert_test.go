package sim

import (
	"context"
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

// An invariant that nothing can break is none. Each of these tests puts a known bug back, by a wrapper that lets one part
// misbehave in one way, and wants the invariant that it breaks by its name.

// breaks plays seeds with a bug until the invariant is broken.
func breaks(t *testing.T, invariant string, b bugs, tune ...func(p *plan)) {
	t.Helper()
	breaksFrom(t, 0, invariant, b, tune...)
}

// breaksFrom is breaks for a bug that hides well: it leaves out seeds that are known to miss it.
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
			t.Errorf("%s does not hold in seed %d without the bug either", invariant, seed)
		}
		return
	}
	t.Errorf("%s holds in %d seeds although the bug is back", invariant, most)
}

// only lets a world have these pipelines, each as its file is after so many edits.
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

// often lets faults of some kinds happen with that probability, wherever they may.
func often(rate float64, kinds ...Kind) func(p *plan) {
	return func(p *plan) {
		for _, kind := range kinds {
			p.options.chaos.rates[kind] = rate
		}
	}
}

// seldom lets producers and people do little but what they do while a commit is under way.
func seldom(p *plan) { p.writes, p.wishes, p.edits = time.Hour, 240*time.Hour, 240*time.Hour }

// onStore is a bug in what a controller sees of its store.
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

// The start is made before it is announced: the commit that says TRIGGERING is put off until the one after it.
func TestRevertStartBeforeTheStateIsWritten(t *testing.T) {
	breaks(t, NoUnsafeStart, onStore(func(_ *World, _ string, below store.Store) store.Store {
		return &hasty{Store: below, put: map[run.Key]store.Batch{}}
	}))
}

// hasty says that a start is announced, and announces it only with what comes after it.
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

// Yesterday's undated "ready" starts today: the store gives every undated reading as if it had just been written.
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

// The store forgets when data last changed: what has just been written has settled at once.
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

// The lease is not fenced: whoever has once had one writes without comparing.
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

// The budget is counted outside the commit: in the memory of a controller, which dies and is not the only one.
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

// A result of an old attempt is taken for one of the latest.
func TestRevertResultOfAnOldAttemptIsAccepted(t *testing.T) {
	breaks(t, SilenceIsNeverSuccess, bugs{report: func(o run.Outcome) run.Outcome {
		o.Attempt = 0
		return o
	}}, only(0, "lands", "fires"), often(0.5, JobFailed), func(p *plan) { p.wishes = 2 * time.Minute })
}

// A deadline is closed in one commit, and told of in another.
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

// The calendar is asked about the day on which somebody looks, not about the period.
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

// awakened opens what a batch suppresses, where the calendar has nothing against today.
func awakened(w *World, name string, b store.Batch, now time.Time) store.Batch {
	at := slices.IndexFunc(b.Marks, func(m store.Mark) bool { return strings.HasPrefix(m.ID, "excluded/") })
	if at < 0 {
		return b
	}
	key, err := run.ParseKey(strings.TrimPrefix(b.Marks[at].ID, "excluded/"))
	h := w.hosts[slices.IndexFunc(w.hosts, func(h *host) bool { return h.name == name })]
	e := h.catalog.Current().Get(key.Pipeline)
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

// A change that could not be handled is passed all the same, and with it what was ready.
func TestRevertFailedChangeIsForgotten(t *testing.T) {
	forget := bugs{change: func(handle changeHandler) changeHandler {
		return func(ctx context.Context, c store.Change, now time.Time) error {
			_ = handle(ctx, c, now)
			return nil
		}
	}}
	t.Run("CursorNeverPasses", func(t *testing.T) { breaks(t, CursorNeverPasses, forget) })
}

// A run ends without a word.
func TestRevertEndOfARunIsNotTold(t *testing.T) {
	breaks(t, ReadyIsNotForgotten, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		b.Events = slices.DeleteFunc(slices.Clone(b.Events), func(e event.Event) bool { return e.Type == event.ValidationExhausted })
		return below.Commit(ctx, b, now)
	}))
}

// Fires that come in a downtime are dealt with as if they had never been.
func TestRevertMissedFireIsNotTold(t *testing.T) {
	breaks(t, ReadyIsNotForgotten, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		b.Events = slices.DeleteFunc(slices.Clone(b.Events), func(e event.Event) bool { return e.Type == event.ScheduleMissed })
		return below.Commit(ctx, b, now)
	}))
}

// The marker that something was told is stored before it is told: a crash in between, and nobody ever hears of it.
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
				return errFault // it dies here, or the store does not answer
			}
			return below.Commit(ctx, told, now)
		}}
	}))
}

// The same absence is told again by everybody who notices it, under another id each time.
func TestRevertAbsenceIsToldByEverybody(t *testing.T) {
	breaks(t, AbsenceIsBounded, onStore(func(w *World, host string, below store.Store) store.Store {
		return &forgetful{Store: below, host: host, world: w}
	}))
}

// forgetful knows of no mark, and gives events ids of its own.
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

// A store that acknowledges the end of a run and then shows an older version.
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

// Identical data that is written again is taken for late data.
func TestRevertIdenticalRewriteIsLateData(t *testing.T) {
	breaks(t, EndedStaysEnded, onStore(func(_ *World, _ string, below store.Store) store.Store { return suspicious{below} }))
}

// suspicious shows what a start rested on as if it had been something else.
type suspicious struct{ store.Store }

func (s suspicious) Snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	found, err := s.Store.Snapshot(ctx, id)
	for i := range found.Sensors {
		found.Sensors[i].Content += "?"
	}
	return found, err
}

// Ids of events are drawn anew each time, so that a repeat is not recognised.
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

// A request that is sent twice is answered twice: the answer is neither marked nor looked for.
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

// A task that could not be carried out is never given back, and nobody looks for runs without one.
func TestRevertLostTaskIsNeverFound(t *testing.T) {
	breaks(t, Liveness, onStore(func(_ *World, _ string, below store.Store) store.Store { return careless{below} }))
}

// careless loses the task of an attempt with the first step that waits, and hides open runs from who would look for them.
type careless struct{ store.Store }

func (careless) OpenRuns(context.Context, pipeline.ID) ([]run.Run, error) { return nil, nil }

func (c careless) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if b.Lease != nil && len(b.Runs) > 0 && b.Runs[0].Next.Status == run.Running {
		b.Tasks = nil
		b.Finished = []string{b.Lease.Task}
	}
	return c.Store.Commit(ctx, b, now)
}

// A write does not move the version of a run whose job runs: a completion that has read its inputs before is committed all
// the same, and the change has been handled by then.
func TestRevertWriteDoesNotMoveARunningRun(t *testing.T) {
	breaksFrom(t, 54, InputsAreNotLost, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		if strings.HasPrefix(b.ID, "wake/") && len(b.Runs) == 1 && b.Runs[0].Next.Status != run.Pending {
			return nil
		}
		return below.Commit(ctx, b, now)
	}), only(1, "lands"), (*plan).hush, often(0.1, Raced), often(0, JobHung, JobFailed), seldom)
}

// Starts that are the job take the workers that deadlines, fires and the steps of other attempts need.
func TestRevertOnePoolForEverything(t *testing.T) {
	breaks(t, NothingStarves, bugs{pools: func(p *pools) {
		p.timers, p.blocking = p.steps, p.steps
	}}, only(0, "lands", "mute1", "mute2", "mute3"), (*plan).hush)
}

// A task that failed holds its worker for a moment, and is then retried before all tasks that are due later.
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

// The commit with which a run waits for a slot does not depend on the pipeline's row. It takes ten seconds here, and a slot that
// is freed meanwhile wakes no run.
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

// A write does not move a run whose start is to be repeated. The evaluation before that start finds the gate closed, and its
// commit takes twenty seconds here: a write that opens the gate meanwhile wakes no run.
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

// The commit that announces a start does not depend on the pipeline's row, so a pause that is stored after the row was read does
// not stop the start.
func TestRevertPauseDuringAnEvaluationStopsNoStart(t *testing.T) {
	breaks(t, PausedMeansIdle, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		b.Expected = nil
		return below.Commit(ctx, b, now)
	}), (*plan).hush, often(0.05, Raced), func(p *plan) { p.wishes = 5 * time.Minute })
}

// A job whose target accepted the stop counts as stopped, so the next attempt may start while it still runs.
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

// with lets something happen in the first minutes.
func with(errand func(p *plan, at time.Time) *errand) func(p *plan) {
	return func(p *plan) { p.add(p.options.chaos, errand(p, p.options.Start.Add(10*time.Minute))) }
}

// The store gives the positions of events that it lost to new ones, which sinks that have read the lost ones then never see.
func TestRevertPositionsOfLostEventsAreReused(t *testing.T) {
	breaks(t, AlertsArrive, onStore(func(_ *World, _ string, below store.Store) store.Store { return reusing{below} }), with((*plan).failOver))
}

// reusing gives events the positions that they have in the list.
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
