package scenario_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// player plays a story on a platform.
type player struct {
	*testing.T
	platform
	story story
	files map[string]string
	asked int // numbers people's requests
}

// tell plays a story to its end and returns its log.
func tell(t *testing.T, s story, p platform) string {
	t.Helper()
	pl := &player{T: t, platform: p, story: s, files: maps.Clone(s.Files)}
	pl.start()
	defer pl.stop()
	pl.apply()
	pl.settle()
	for i, one := range s.Steps {
		at, err := instant(one.At, pl.now())
		pl.check(err)
		if at.Before(pl.now()) {
			t.Fatalf("step %d is at %s, and it is %s", i+1, one.At, pl.now().UTC().Format(time.DateTime))
		}
		pl.until(at) // a step comes after all that was due at its instant
		pl.take(i+1, one)
		pl.settle()
	}
	return pl.log()
}

func (p *player) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// settle does everything that follows at once.
func (p *player) settle() { p.until(p.now()) }

// take takes one step. A request may be refused only if the story says so.
func (p *player) take(n int, s step) {
	p.Helper()
	err := p.act(s)
	refused := errors.As(err, new(*router.Refusal)) || errors.As(err, new(*router.ClaimRefused))
	switch {
	case s.Refused == "" && err != nil:
		p.Fatalf("step %d: %v", n, err)
	case s.Refused != "" && (!refused || !strings.Contains(err.Error(), s.Refused)):
		p.Errorf("step %d was answered with %v, want a refusal that says %q", n, err, s.Refused)
	}
}

func (p *player) act(s step) error {
	p.Helper()
	if s.Unseen {
		p.unseen()
	}
	switch {
	case s.Write != "":
		return p.write(s)
	case s.Delete != "":
		id, key, _ := strings.Cut(s.Delete, "/")
		return p.put(pipeline.ID(id), key, nil)
	case s.File != "":
		p.files[s.File] = s.Text
		p.apply()
	case s.Remove != "":
		delete(p.files, s.Remove)
		p.apply()
	case s.Lose != "":
		return p.lose(s.Lose)
	case s.Stop:
		p.stop()
	case s.Start:
		p.start()
	case s.Expect != nil:
		p.expect(s.Expect)
	case s.Pass:
	default:
		return p.ask(s)
	}
	return nil
}

// apply activates the story's files. The controller itself reports a rejected one.
func (p *player) apply() {
	p.Helper()
	p.check(p.platform.apply(catalog.Files{Pipelines: p.sources(p.files), Calendars: p.sources(p.story.Days)}))
}

// sources converts texts to files.
func (*player) sources(texts map[string]string) []pipeline.Source {
	var files []pipeline.Source
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		files = append(files, pipeline.Source{File: name + ".yaml", Data: []byte(texts[name])})
	}
	return files
}

func (p *player) write(s step) error {
	id, key, _ := strings.Cut(s.Write, "/")
	fields, ok := s.Data.Value().(map[string]any)
	if !ok {
		return fmt.Errorf("a write has fields: %s has none", s.Write)
	}
	return p.put(pipeline.ID(id), key, fields)
}

// lose deletes a task, which must exist.
func (p *player) lose(id string) error {
	if _, err := p.store().Task(p.Context(), id); err != nil {
		return fmt.Errorf("lose task %s: %w", id, err)
	}
	b := store.Batch{ID: fmt.Sprintf("lose/%s/%d", id, p.now().UnixNano())}
	b.Finish(id)
	return p.store().Commit(p.Context(), b, p.now())
}

// ask makes a person's request.
func (p *player) ask(s step) error {
	p.Helper()
	p.asked++
	id := fmt.Sprintf("request-%d", p.asked)
	return p.operate(func(ctx context.Context, r *router.Router, now time.Time) error { return p.request(ctx, r, id, s, now) })
}

// request passes a step's request to the router.
func (p *player) request(ctx context.Context, r *router.Router, id string, s step, now time.Time) (err error) {
	p.Helper()
	switch {
	case s.Trigger != "":
		_, err = r.Trigger(ctx, router.TriggerRequest{
			ID: id, Pipeline: pipeline.ID(s.Trigger), Period: p.period(s.Date), By: s.By, Reason: s.Reason, Force: s.Force, BypassGate: s.BypassGate,
		}, now)
	case s.Rerun != "":
		_, err = r.Rerun(ctx, router.RerunRequest{
			ID: id, Pipeline: pipeline.ID(s.Rerun), Schedule: pipeline.ScheduleID(s.Schedule), Period: p.period(s.Date),
			By: s.By, Reason: s.Reason, Force: s.Force, BypassGate: s.BypassGate,
		}, now)
	case s.Backfill != "":
		_, err = r.Backfill(ctx, router.BackfillRequest{
			ID: id, Pipeline: pipeline.ID(s.Backfill), From: p.period(s.From), To: p.period(s.To), By: s.By, Reason: s.Reason, OnlyMissing: s.OnlyMissing,
		}, now)
	case s.Pause != "":
		_, err = r.Pause(ctx, pipeline.ID(s.Pause), store.Pause{By: s.By, Why: s.Reason, Until: p.end(s.Until, now), HoldSLA: s.HoldSLA}, now)
	case s.Resume != "":
		err = r.Resume(ctx, pipeline.ID(s.Resume), s.By, s.Reason, now)
	case s.Cancel != "":
		_, err = r.Cancel(ctx, p.key(s.Cancel), s.By, s.Reason, now)
	case s.Claim != "":
		_, err = r.Claim(ctx, router.ClaimRequest{Key: p.key(s.Claim), Worker: s.Worker}, now)
	case s.Beat != "":
		_, err = r.Heartbeat(ctx, p.key(s.Beat), s.Attempt, router.Heartbeat{}, now)
	case s.Report != "":
		_, err = r.Report(ctx, run.Outcome{Key: p.key(s.Report), Attempt: s.Attempt, Report: run.Report{
			Result: run.Result(s.Result), Category: run.Category(s.Category), Message: s.Message, By: s.By,
		}}, now)
	}
	return err
}

// end returns when a pause ends; zero if it does not end by itself.
func (p *player) end(until string, now time.Time) time.Time {
	p.Helper()
	if until == "" {
		return time.Time{}
	}
	at, err := instant(until, now)
	p.check(err)
	return at
}

func (p *player) period(name string) period.Period {
	p.Helper()
	if name == "" {
		return period.Period{}
	}
	date, err := period.Parse(name)
	p.check(err)
	return date
}

func (p *player) key(name string) run.Key {
	p.Helper()
	key, err := run.ParseKey(name)
	p.check(err)
	return key
}

// expect compares the states of runs with the story.
func (p *player) expect(want map[string]string) {
	p.Helper()
	for name, stands := range want {
		got := "none"
		r, err := p.store().Run(p.Context(), p.key(name))
		if err == nil {
			got = fmt.Sprintf("%s %d", r.Status, r.Attempt)
		} else if !errors.Is(err, store.ErrNotFound) {
			p.Fatal(err)
		}
		if got != stands {
			p.Errorf("at %s run %s is %s, want %s", p.now().UTC().Format(time.DateTime), name, got, stands)
		}
	}
}

// events returns all events in commit order.
func (p *player) events() []event.Event {
	p.Helper()
	var all []event.Event
	for last := store.Position(0); ; {
		stored, err := p.store().EventsAfter(p.Context(), last, store.MaxPage)
		p.check(err)
		if len(stored) == 0 {
			return all
		}
		for _, s := range stored {
			last = s.Position
			p.check(s.Event.Validate())
			all = append(all, s.Event)
		}
	}
}

// log lists the events, one per line. Events of one run are in the order in which they happened.
// Events of different runs at one instant have no defined order if the platform is concurrent; the
// log sorts them: upstreams first, then by name and period.
func (p *player) log() string {
	p.Helper()
	events := p.events()
	depths := p.depths()
	slices.SortStableFunc(events, func(a, b event.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(depths[a.Detail.Pipeline], depths[b.Detail.Pipeline]),
			cmp.Compare(a.Detail.Pipeline, b.Detail.Pipeline), cmp.Compare(a.Detail.Schedule, b.Detail.Schedule), a.Detail.Date.Compare(b.Detail.Date))
	})
	var log strings.Builder
	encode := json.NewEncoder(&log)
	encode.SetEscapeHTML(false)
	for _, e := range events {
		if late, is := e.Detail.Extra.(event.Late); is && late.SnapshotVersion != 0 {
			late.SnapshotVersion = 1 // each store counts its versions in its own way
			e.Detail.Extra = late
		}
		p.check(encode.Encode(e))
	}
	return log.String()
}

// depths returns how many pipelines are upstream of each pipeline, in the longest chain, by the
// story's last files.
func (p *player) depths() map[pipeline.ID]int {
	set := pipeline.Load(p.sources(p.files), pipeline.Options{Jobs: all.Kinds(), Calendars: p.sources(p.story.Days), Whole: true})
	depths := map[pipeline.ID]int{}
	for range set.Definitions { // the longest way there can be
		for _, d := range set.Definitions {
			for _, up := range d.After {
				depths[d.ID] = max(depths[d.ID], depths[up]+1)
			}
		}
	}
	return depths
}
