package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// box is a sink that records what it is sent, with configurable results.
type box struct {
	name   string
	got    []string
	alerts []sink.Alert
	answer func(e event.Event) error
}

func (b *box) Name() string {
	if b.name == "" {
		return "box"
	}
	return b.name
}

func (b *box) Send(_ context.Context, a sink.Alert) error {
	if b.answer != nil {
		if err := b.answer(a.Event); err != nil {
			return err
		}
	}
	b.got, b.alerts = append(b.got, a.Event.Detail.Message), append(b.alerts, a)
	return nil
}

// world is a notifier with one sink, and a clock.
type world struct {
	*testing.T
	store   *memory.Store
	box     *box
	options notify.Options
	n       *notify.Notifier
	o       *notify.Outbox
	now     time.Time
	lease   time.Duration // nothing renews it here
	failed  int           // times
	alerts  int           // alerts stored
}

func newWorld(t *testing.T, routes ...notify.Route) *world {
	w := &world{T: t, store: memory.New(), box: &box{}, now: noon, lease: 365 * 24 * time.Hour}
	w.options = notify.Options{Store: w.store, Sinks: []sink.Sink{w.box}, Routes: routes}
	w.begin()
	return w
}

// begin starts a process that delivers, as if the previous one had crashed.
func (w *world) begin() {
	w.Helper()
	w.claim(w.box)
}

// claim makes a new process deliver to s.
func (w *world) claim(s sink.Sink) {
	w.Helper()
	w.check(w.store.VoidLeases(w.Context()))
	w.n = notify.New(w.options)
	o, _, err := w.n.Claim(w.Context(), s, notify.Holder{Replica: "here", Lease: w.lease}, w.now)
	w.check(err)
	if o == nil {
		w.Fatal("another outbox holds the lease")
	}
	w.o = o
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) emit(events ...event.Event) {
	w.Helper()
	for _, e := range events {
		w.alerts++
		b := store.Batch{ID: fmt.Sprintf("emit %d", w.alerts)}
		b.Emit(e)
		w.check(w.store.Commit(w.Context(), b, w.now))
	}
}

// failure returns a warning, identified by its message.
func (w *world) failure(id pipeline.ID, message string) event.Event {
	return event.New(event.JobFailed, event.About{Pipeline: id, Schedule: pipeline.ByCron, Which: message, At: w.now}, message, event.Finished{})
}

// failures stores n warnings about a pipeline, "0" to "n-1".
func (w *world) failures(id pipeline.ID, n int) {
	w.Helper()
	for i := range n {
		w.emit(w.failure(id, fmt.Sprint(i)))
	}
}

// turn does everything that can be done at the current time.
func (w *world) turn() {
	w.Helper()
	for range 10_000 {
		w.check(w.o.Fill(w.Context(), w.now))
		l := w.o.Next(w.now)
		if l == nil {
			w.check(w.o.Save(w.Context(), true, w.now))
			return
		}
		outcome, err := w.o.Record(w.Context(), l, w.o.Send(w.Context(), l), w.now)
		w.check(err)
		if outcome.Err != nil {
			w.failed++
		}
	}
	w.Fatal("there is always more to send")
}

// pass advances the clock, and does what is due meanwhile.
func (w *world) pass(d time.Duration) {
	w.Helper()
	end := w.now.Add(d)
	for {
		w.turn()
		wake := w.o.Wake(w.now)
		if !wake.After(w.now) {
			w.Fatalf("at %s there is something to do, and nothing is done", w.now)
		}
		if wake.After(end) {
			w.now = end
			w.turn()
			return
		}
		w.now = wake
	}
}

func (w *world) want(what string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.box.got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) dead() []store.DeadLetter {
	w.Helper()
	dead, err := w.store.Dead(w.Context(), "")
	w.check(err)
	return dead
}

func TestEverythingArrivesInOrderAndOnce(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 1200)
	w.pass(time.Second)
	if len(w.box.got) != 1200 || w.box.got[0] != "0" || w.box.got[1199] != "1199" {
		t.Errorf("got %d alerts: %v", len(w.box.got), w.box.got)
	}
	w.begin()
	w.pass(time.Second)
	if len(w.box.got) != 1200 {
		t.Errorf("%d alerts after a restart", len(w.box.got))
	}
}

// spread is a store with gaps between the positions of events, as after a failover.
type spread struct{ *memory.Store }

const gap = 1 << 40

func (s spread) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	events, err := s.Store.EventsAfter(ctx, after/gap, limit)
	for i := range events {
		events[i].Position *= gap
	}
	return events, err
}

func (s spread) PositionAt(ctx context.Context, t time.Time) (store.Position, error) {
	at, err := s.Store.PositionAt(ctx, t)
	return at * gap, err
}

func TestGapsBetweenPositionsAreNotABacklog(t *testing.T) {
	w := newWorld(t)
	w.options.Store = spread{w.store}
	w.begin()
	w.box.answer = func(e event.Event) error {
		if e.Detail.Pipeline == "stuck" {
			return errors.New("no answer")
		}
		return nil
	}
	w.emit(w.failure("stuck", "first"))
	w.failures("orders", 300)
	w.pass(2 * time.Second)
	if len(w.box.got) != 300 || len(w.dead()) != 0 {
		t.Errorf("%d alerts were sent while one kept failing, want 300; %d dead letters", len(w.box.got), len(w.dead()))
	}
}

func TestSinkGetsEverythingAfterAnOutage(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 3)
	away := true
	var asked []time.Time
	w.box.answer = func(e event.Event) error {
		if away && e.Detail.Message == "1" {
			asked = append(asked, w.now)
			return errors.New("no answer")
		}
		return nil
	}
	w.pass(20 * time.Second)
	if w.want("before", "0"); len(asked) != 5 || w.failed != 5 {
		t.Fatalf("asked at %v, failed %d times", asked, w.failed)
	}
	wait := time.Second
	for i := 1; i < len(asked); i++ { // each wait is twice as long, less up to a fifth
		if got := asked[i].Sub(asked[i-1]); got > wait || got < wait*4/5 {
			t.Errorf("wait %d is %s, want about %s", i, got, wait)
		}
		wait *= 2
	}
	away = false
	w.pass(time.Minute)
	w.want("after", "0", "1", "2")
}

func TestSinkGetsEverythingAfterAnOutageAndACrash(t *testing.T) {
	w := newWorld(t)
	w.box.answer = func(event.Event) error { return errors.New("no answer") }
	w.failures("orders", 3)
	w.pass(time.Minute)
	w.begin()
	w.box.answer = nil
	w.pass(time.Minute)
	w.want("after", "0", "1", "2")
}

func TestBusySinkIsNotCalledForAsLongAsItAsks(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 1)
	w.failures("silver", 1)
	asked := 0
	w.box.answer = func(event.Event) error {
		if asked++; asked == 1 {
			return &sink.Busy{After: 42 * time.Second, Reason: "slow down"}
		}
		return nil
	}
	w.pass(42*time.Second - 1)
	if asked != 1 || w.failed != 0 {
		t.Errorf("asked %d times, failed %d times", asked, w.failed)
	}
	w.pass(1)
	w.want("after", "0", "0")
}

func TestOneFailingAlertDelaysOthersOnlyForAWhile(t *testing.T) {
	w := newWorld(t)
	w.emit(w.failure("orders", "poison"))
	w.failures("silver", 5000) // more than the outbox reads ahead
	w.box.answer = func(e event.Event) error {
		if e.Detail.Message == "poison" {
			return errAway
		}
		return nil
	}
	w.pass(2 * time.Hour)
	if dead := w.dead(); len(dead) != 1 || len(w.box.got) != 5000 {
		t.Errorf("%d arrived, %d are dead", len(w.box.got), len(dead))
	}
}

func TestAlertIsNotBuriedBecauseTheSinkIsBusy(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 1)
	asked := 0
	w.box.answer = func(e event.Event) error {
		if e.Detail.Pipeline == "orders" {
			asked++
		}
		switch {
		case e.Detail.Pipeline == "silver" || asked > 20:
			return nil
		case asked == 20:
			return &sink.Busy{After: time.Minute, Reason: "slow down"}
		}
		return errAway
	}
	for i := range 100 {
		w.emit(w.failure("silver", fmt.Sprint(i)))
		w.pass(5 * time.Minute)
	}
	if dead := w.dead(); len(dead) != 0 || len(w.box.got) != 101 {
		t.Errorf("%d arrived, dead letters: %+v", len(w.box.got), dead)
	}
}

func TestOneFailingAlertDelaysOnlyItsOwnPipeline(t *testing.T) {
	w := newWorld(t)
	w.emit(w.failure("orders", "poison"), w.failure("orders", "behind it"), w.failure("silver", "free"))
	w.box.answer = func(e event.Event) error {
		if e.Detail.Message == "poison" {
			return errors.New("it makes me fall over")
		}
		return nil
	}
	w.pass(10 * time.Second)
	w.want("after a while", "free")
	for i := range 100 { // the sink keeps accepting others
		w.emit(w.failure("silver", fmt.Sprint(i)))
		w.pass(time.Minute)
	}
	if dead := w.dead(); len(dead) != 1 || dead[0].Event.Detail.Message != "poison" || dead[0].Tries < 20 {
		t.Errorf("dead letters: %+v", dead)
	}
	if len(w.box.got) != 102 {
		t.Errorf("%d alerts arrived", len(w.box.got))
	}
}

func TestTriesDuringAnOutageDoNotCountAgainstAnAlert(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 1)
	w.failures("silver", 1)
	w.box.answer = func(event.Event) error { return errAway }
	w.pass(6 * time.Hour)
	asked := 0
	w.box.answer = func(event.Event) error {
		if asked++; asked == 2 { // it is back, and fails once
			return errAway
		}
		return nil
	}
	w.pass(time.Hour)
	if dead := w.dead(); len(dead) != 0 {
		t.Errorf("dead letters: %+v", dead)
	}
	w.want("in the end", "0", "0")
}

func TestRejectedAlertIsKeptAndCanBeSentAgain(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 3)
	refuse := true
	w.box.answer = func(e event.Event) error {
		if refuse && e.Detail.Message == "1" {
			return &sink.Refused{Reason: "not this one"}
		}
		return nil
	}
	w.turn()
	w.want("taken", "0", "2")
	dead := w.dead()
	if len(dead) != 1 || dead[0].Reason != "not this one" || dead[0].Event.Detail.Message != "1" || dead[0].Tries != 1 {
		t.Fatalf("dead letters: %+v", dead)
	}
	clock := func() time.Time { return w.now }
	for _, q := range []notify.DeadQuery{{Sink: "other"}, {Events: []string{"other"}}} {
		if done, err := w.n.Retry(t.Context(), q, clock); err != nil || len(done) != 0 {
			t.Errorf("retry %+v did %+v, %v", q, done, err)
		}
	}
	done, err := w.n.Retry(t.Context(), notify.DeadQuery{Sink: "box"}, clock)
	if err != nil || len(done) != 1 || done[0].Error != "not this one" || w.dead()[0].Tries != 2 {
		t.Errorf("rejected again: %+v, %v", done, err)
	}
	refuse = false
	done, err = w.n.Retry(t.Context(), notify.DeadQuery{Events: []string{dead[0].Event.ID}}, clock)
	if err != nil || len(done) != 1 || done[0].Error != "" || len(w.dead()) != 0 {
		t.Errorf("sent again: %+v, %v, %d still dead", done, err, len(w.dead()))
	}
	w.want("in the end", "0", "2", "1")
}

func TestFailingSinkIsTriedOnceForAllItsDeadLetters(t *testing.T) {
	w := newWorld(t)
	w.box.answer = func(event.Event) error { return &sink.Refused{Reason: "no"} }
	w.failures("orders", 3)
	w.turn()
	asked := 0
	w.box.answer = func(event.Event) error { asked++; return errors.New("away") }
	done, err := w.n.Retry(t.Context(), notify.DeadQuery{}, func() time.Time { return w.now })
	if err != nil || len(done) != 3 || asked != 1 || done[0].Error != "away" || done[2].Error == "" {
		t.Errorf("asked %d times: %+v, %v", asked, done, err)
	}
	if len(w.dead()) != 3 {
		t.Errorf("%d are left", len(w.dead()))
	}
}

func TestAlertUndeliveredForADayBecomesADeadLetter(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 20)
	w.failures("silver", 1)
	w.box.answer = func(event.Event) error { return errors.New("no answer") }
	w.pass(24*time.Hour - time.Minute)
	if n := len(w.dead()); n != 0 {
		t.Errorf("%d are dead before a day has passed", n)
	}
	w.emit(w.failure("gold", "young"))
	w.pass(time.Hour)
	if n := len(w.dead()); n != 21 {
		t.Errorf("%d are dead", n)
	}
	w.box.answer = nil
	w.pass(time.Hour)
	w.want("what is younger", "young")
}

func TestNewSinkGetsEventsSinceTheServerStarted(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 3)
	w.now = w.now.Add(time.Hour)
	w.options.Since = w.now
	w.emit(w.failure("orders", "at the start"))
	w.box = &box{name: "new"}
	w.options.Sinks = []sink.Sink{w.box}
	w.begin()
	w.turn()
	w.want("sent", "at the start")
	w.box.answer = func(event.Event) error { return errors.New("away") }
	w.emit(w.failure("orders", "missed"))
	w.pass(time.Minute)
	w.box.answer = nil
	w.options.Since = w.now
	w.begin()
	w.turn()
	w.want("after a restart", "at the start", "missed")
}

func TestAlertsCarryOwnerAndLinks(t *testing.T) {
	w := newWorld(t)
	w.options.Subject = func(id pipeline.ID) notify.Subject { return notify.Subject{Owner: "team of " + string(id)} }
	w.options.BaseURL = "https://interlock.example.com/"
	w.begin()
	day, err := period.Parse("2026-03-03T10:15")
	w.check(err)
	w.emit(event.New(event.SLABreach, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Date: day, At: noon}, "late", event.Deadline{}),
		event.New(event.WatchdogDegraded, event.About{At: noon}, "blind", event.Degraded{}))
	w.turn()
	if len(w.box.alerts) != 2 {
		t.Fatalf("got %+v", w.box.alerts)
	}
	want := sink.Links{Run: "https://interlock.example.com/runs/orders/cron/2026-03-03T10:15", Pipeline: "https://interlock.example.com/pipelines/orders"}
	if a := w.box.alerts[0]; a.Owner != "team of orders" || a.Links != want || a.Count != 1 || !a.Since.Equal(noon) {
		t.Errorf("got %+v", a)
	}
	if a := w.box.alerts[1]; a.Links != (sink.Links{}) {
		t.Errorf("the platform has no page, got %+v", a.Links)
	}
}

// screen is a sink that displays open problems.
type screen struct {
	box
	away     bool
	followed []string
}

func (s *screen) Follow(_ context.Context, a sink.Alert) error {
	if s.away {
		return errAway
	}
	s.followed = append(s.followed, a.Event.Detail.Message)
	return nil
}

func TestFollowerGetsEventsThatSettleProblems(t *testing.T) {
	w := newWorld(t)
	s := &screen{}
	w.options.Sinks = []sink.Sink{s}
	w.claim(s)
	about := event.About{Pipeline: "orders", Schedule: pipeline.ByCron, At: w.now}
	w.emit(w.failure("orders", "failed"), event.New(event.TriggerStarted, about, "opened", event.Opening{}), event.New(event.JobCompleted, about, "fine", event.Finished{}))
	w.turn()
	if diff := cmp.Diff([][]string{{"failed"}, {"fine"}}, [][]string{s.got, s.followed}); diff != "" {
		t.Errorf("sent, followed (-want +got):\n%s", diff)
	}
}

func TestSettlingEventIsFollowedAtOnceEvenInABurst(t *testing.T) {
	route := grouped(notify.ByPipeline)
	route.Severity = event.Info
	w := newWorld(t, route)
	s := &screen{}
	w.options.Sinks = []sink.Sink{s}
	w.claim(s)
	done := event.New(event.JobCompleted, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, At: w.now}, "fine", event.Finished{})
	w.emit(w.failure("orders", "failed"))
	w.turn()
	w.emit(done, w.failure("orders", "another"))
	w.turn()
	if diff := cmp.Diff([][]string{{"failed"}, {"fine"}}, [][]string{s.got, s.followed}); diff != "" {
		t.Errorf("at once: sent, followed (-want +got):\n%s", diff)
	}
	w.pass(5 * time.Minute)
	if a := s.alerts[len(s.alerts)-1]; a.Count != 2 || a.Event.Detail.Message != "another" || len(s.followed) != 1 {
		t.Errorf("after the interval: %+v, followed %v", a, s.followed)
	}
}

func TestFollowUpsDoNotMakeAFailingSinkLookHealthy(t *testing.T) {
	w := newWorld(t)
	s := &screen{box: box{answer: func(event.Event) error { return errAway }}}
	w.options.Sinks = []sink.Sink{s}
	w.claim(s)
	w.failures("orders", 1)
	for i := range 60 { // successful runs that it never showed
		about := event.About{Pipeline: "silver", Schedule: pipeline.ByCron, Which: fmt.Sprint(i), At: w.now}
		w.emit(event.New(event.JobCompleted, about, "fine", event.Finished{}))
		w.pass(5 * time.Minute)
	}
	if dead := w.dead(); len(dead) != 0 || len(s.followed) != 60 {
		t.Errorf("followed %d, dead letters: %+v", len(s.followed), dead)
	}
	s.answer = nil
	w.pass(5 * time.Minute)
	if diff := cmp.Diff([]string{"0"}, s.got); diff != "" {
		t.Errorf("when it is back (-want +got):\n%s", diff)
	}
}

func TestSinkIsBackWhenItAcceptsAFailedLetter(t *testing.T) {
	w := newWorld(t)
	s := &screen{away: true}
	w.options.Sinks = []sink.Sink{s}
	w.claim(s)
	w.emit(event.New(event.JobCompleted, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, At: w.now}, "fine", event.Finished{}))
	w.turn()
	s.away, w.now = false, w.now.Add(time.Second)
	l := w.o.Next(w.now)
	if got, err := w.o.Record(t.Context(), l, w.o.Send(t.Context(), l), w.now); !got.Sent || !got.Back || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCursorWaitsForTheFirstUndeliveredAlert(t *testing.T) {
	w := newWorld(t)
	w.emit(w.failure("orders", "slow"), w.failure("silver", "quick"), w.failure("orders", "behind"))
	w.check(w.o.Fill(t.Context(), w.now))
	slow, quick := w.o.Next(w.now), w.o.Next(w.now)
	if slow == nil || quick == nil || w.o.Next(w.now) != nil {
		t.Fatal("want one letter of each pipeline in flight")
	}
	_, err := w.o.Record(t.Context(), quick, w.o.Send(t.Context(), quick), w.now)
	w.check(err)
	w.check(w.o.Save(t.Context(), true, w.now))
	w.begin() // the process crashed before the slow one was settled
	w.pass(time.Second)
	w.want("what a killed process had not noted comes again", "quick", "slow", "quick", "behind")
}

func TestConcurrencyIsLimited(t *testing.T) {
	w := newWorld(t)
	w.options.Concurrency = 3
	w.begin()
	for i := range 10 {
		w.emit(w.failure(pipeline.ID(fmt.Sprintf("p%d", i)), "x"))
	}
	w.check(w.o.Fill(t.Context(), w.now))
	for n := range 4 {
		if l := w.o.Next(w.now); (l != nil) != (n < 3) {
			t.Errorf("letter %d: %v", n+1, l)
		}
	}
}

func TestOutboxIsBounded(t *testing.T) {
	w := newWorld(t)
	w.box.answer = func(event.Event) error { return errors.New("away") }
	for i := range 30 {
		w.failures(pipeline.ID(fmt.Sprintf("p%d", i)), 100)
	}
	w.pass(time.Minute)
	taken := 0
	for l := w.o.Next(w.now.Add(time.Hour)); l != nil && taken < 3000; l = w.o.Next(w.now.Add(time.Hour)) {
		_, err := w.o.Record(t.Context(), l, nil, w.now)
		w.check(err)
		taken++
	}
	if taken < 512 || taken > 700 {
		t.Errorf("%d letters were held in memory", taken)
	}
}

func TestFailingSinkIsTriedWithOneLetterAtATime(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.emit(w.failure(pipeline.ID(fmt.Sprintf("p%d", i)), "x"))
	}
	w.box.answer = func(event.Event) error { return errAway }
	w.turn()
	w.now = w.now.Add(time.Second)
	if w.o.Next(w.now) == nil || w.o.Next(w.now) != nil {
		t.Error("want exactly one letter")
	}
}
