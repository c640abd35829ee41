package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// Commit looks at everything first and changes nothing before all of it is known to fit.
func (s *Store) Commit(_ context.Context, b store.Batch, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	kept, err := newIce(b)
	if err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, err)
	}
	if err := s.open(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, taken := s.commits[b.Identity()]; taken {
		s.given(b, now)
		return nil
	}
	if what := s.conflict(b, now); what != "" {
		return fmt.Errorf("commit %s: %s: %w", b.ID, what, store.ErrConflict)
	}
	s.commits[b.Identity()] = instant(now)
	s.swap(b, kept, now)
	s.add(b, kept)
	s.announce(b)
	s.settle(b, now)
	return nil
}

// conflict says what b was decided on and is no longer so; "" if all still is.
func (s *Store) conflict(b store.Batch, now time.Time) string {
	if b.Lease != nil && !s.holds(*b.Lease, now) {
		return fmt.Sprintf("the lease on task %s is lost", b.Lease.Task)
	}
	if b.Hold != nil {
		if t := s.tasks[b.Hold.Task]; t != nil && !t.free(now) {
			return fmt.Sprintf("task %s is held", t.ID)
		}
	}
	for _, w := range b.Runs {
		if got := s.runs[w.Next.Key].Version; got != w.Read {
			return stale("run", w.Next.Key, got, w.Read)
		}
	}
	for _, w := range b.DryRuns {
		if got := s.dryRuns[w.Next.Key].Version; got != w.Read {
			return stale("dry run", w.Next.Key, got, w.Read)
		}
	}
	for _, w := range b.Pipelines {
		if got := s.pipelines[w.Next.ID].version; got != w.Read {
			return stale("pipeline", w.Next.ID, got, w.Read)
		}
	}
	for _, e := range b.Expected {
		if got := s.pipelines[e.ID].version; got != e.Version {
			return stale("pipeline", e.ID, got, e.Version)
		}
	}
	for _, w := range b.Deadlines {
		if got := s.deadlines[deadlineKey{w.Next.Key, w.Next.Kind}].Version; got != w.Read {
			return stale("deadline", w.Next.Key, got, w.Read)
		}
	}
	for _, w := range b.PostRuns {
		if got := s.postRuns[w.Next.Key].version; got != w.Read {
			return stale("post-run", w.Next.Key, got, w.Read)
		}
	}
	for _, w := range b.Notes {
		if got := s.notes[noteKey{w.Next.Kind, w.Next.Key}].version; got != w.Read {
			return stale("note", w.Next.Key, got, w.Read)
		}
	}
	for _, m := range b.Marks {
		if _, set := s.marks[m.ID]; set {
			return fmt.Sprintf("mark %s is set", m.ID)
		}
	}
	return ""
}

func stale(kind string, id any, got, read int64) string {
	return fmt.Sprintf("%s %v is at version %d, was read at %d", kind, id, got, read)
}

// swap replaces the versioned records and tells the feed of those that others react to.
func (s *Store) swap(b store.Batch, kept ice, now time.Time) {
	for _, w := range b.Runs {
		before, after := s.runs[w.Next.Key], w.Next
		s.runs[after.Key] = after
		if before.Status != after.Status || before.Attempt != after.Attempt {
			s.feed(store.Change{
				Kind: store.RunMoved, At: now, Pipeline: after.Pipeline, Version: after.Version,
				Run: after.Key, Status: after.Status, Attempt: after.Attempt,
			})
		}
	}
	for _, w := range b.DryRuns {
		s.dryRuns[w.Next.Key] = w.Next
	}
	for i, w := range b.Pipelines {
		s.pipelines[w.Next.ID] = kept.pipelines[i]
		s.feed(store.Change{Kind: store.PipelineMoved, At: now, Pipeline: w.Next.ID, Version: w.Next.Version})
	}
	for _, w := range b.Deadlines {
		s.deadlines[deadlineKey{w.Next.Key, w.Next.Kind}] = w.Next
	}
	for i, w := range b.PostRuns {
		s.postRuns[w.Next.Key] = kept.postRuns[i]
	}
	for i, w := range b.Notes {
		s.notes[noteKey{w.Next.Kind, w.Next.Key}] = kept.notes[i]
	}
}

// add stores the records that never change once they are there.
func (s *Store) add(b store.Batch, kept ice) {
	for i, c := range b.Configs {
		addNew(s.configs, configKey{c.Pipeline, c.Version}, kept.configs[i])
	}
	for i, v := range b.Snapshots {
		addNew(s.snapshots, v.ID, kept.snapshots[i])
	}
	for _, e := range b.Log {
		same := func(o store.JobEntry) bool { return o.Attempt == e.Attempt && o.Event == e.Event && o.Try == e.Try }
		if !slices.ContainsFunc(s.log[e.Key], same) {
			s.log[e.Key] = append(s.log[e.Key], e)
		}
	}
	for _, r := range b.Reruns {
		if !slices.ContainsFunc(s.reruns[r.Key], func(o store.Rerun) bool { return o.ID == r.ID }) {
			s.reruns[r.Key] = append(s.reruns[r.Key], r)
		}
	}
	for _, m := range b.Marks {
		s.marks[m.ID] = m.Until
	}
	for _, d := range b.Dead {
		s.dead[deadKey{d.Sink, d.Event.ID}] = d
	}
	for _, d := range b.Buried {
		delete(s.dead, deadKey{d.Sink, d.Event.ID})
	}
}

func addNew[K comparable, V any](to map[K]V, key K, value V) {
	if _, there := to[key]; !there {
		to[key] = value
	}
}

// announce appends the events that were not announced before. An event's Extra is never changed by anybody, so it may be
// shared.
func (s *Store) announce(b store.Batch) {
	for _, e := range b.Events {
		if s.announced[e.ID] {
			continue
		}
		s.lastEvent++
		s.announced[e.ID] = true
		s.events = append(s.events, store.StoredEvent{Position: s.lastEvent, Event: e})
		s.eventsChanged.Raise()
	}
}
