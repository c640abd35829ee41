package store

import (
	"errors"
	"fmt"
	"strconv"
)

// Identity is how a store recognises a repeated Batch: its ID, and the lease it was decided under.
// Two workers that decide on the same version under different leases give their Batches the same
// ID; if the second were treated as a repeat of the first, it would continue work that the first
// has started.
func (b *Batch) Identity() string {
	if b.Lease == nil {
		return b.ID
	}
	return b.ID + " lease " + strconv.FormatInt(b.Lease.Token, 10)
}

// Empty reports whether b changes nothing.
func (b *Batch) Empty() bool { return b.changed() == 0 && len(b.Events) == 0 }

// changed counts the records that b changes, except events.
func (b *Batch) changed() int {
	return len(b.Runs) + len(b.DryRuns) + len(b.Pipelines) + len(b.Deadlines) + len(b.PostRuns) + len(b.Notes) +
		len(b.Configs) + len(b.Log) + len(b.Snapshots) + len(b.Reruns) + len(b.Marks) +
		len(b.Tasks) + len(b.Finished) + len(b.Dead) + len(b.Buried)
}

// Rows counts the rows a store must touch: each record that b changes or expects, one row for the
// commit record and its events, and the row of the leased task unless b changes that anyway.
func (b *Batch) Rows() int {
	n := b.changed() + len(b.Expected) + 1
	if b.Lease != nil && !b.Settles(b.Lease.Task) {
		n++
	}
	return n
}

// Full reports whether b has no room for another row. Callers that add a variable number of rows
// commit a full Batch and start another.
func (b *Batch) Full() bool { return b.Rows() >= MaxRows }

// Settles reports whether b stores or finishes that task.
func (b *Batch) Settles(task string) bool {
	for _, t := range b.Tasks {
		if t.ID == task {
			return true
		}
	}
	for _, id := range b.Finished {
		if id == task {
			return true
		}
	}
	return false
}

// Check returns an error for a Batch that no store accepts: without an id, with more than MaxRows
// rows (ErrTooLarge), with a duplicate or unnamed record, or with a swap that does not increase the
// version. Adapters call it first.
func (b *Batch) Check() error {
	if b.ID == "" {
		return errors.New("commit: the batch has no id")
	}
	if n := b.Rows(); n > MaxRows {
		return fmt.Errorf("commit %s: %d rows are more than %d: %w", b.ID, n, MaxRows, ErrTooLarge)
	}
	c := checker{seen: map[string]bool{}}
	c.swaps(b)
	c.records(b)
	if c.err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, c.err)
	}
	return nil
}

// checker records the names it has seen, and the first error.
type checker struct {
	seen map[string]bool
	err  error
}

func (c *checker) swaps(b *Batch) {
	for _, s := range b.Runs {
		c.swap("run", s.Next.Key.String(), s.Read, s.Next.Version)
	}
	for _, s := range b.DryRuns {
		c.swap("dry run", s.Next.Key.String(), s.Read, s.Next.Version)
	}
	for _, s := range b.Pipelines {
		c.swap("pipeline", string(s.Next.ID), s.Read, s.Next.Version)
	}
	for _, e := range b.Expected {
		c.once("pipeline", string(e.ID))
	}
	for _, s := range b.Deadlines {
		c.swap("deadline", s.Next.Key.String()+" "+string(s.Next.Kind), s.Read, s.Next.Version)
	}
	for _, s := range b.PostRuns {
		c.swap("post-run", s.Next.Key.String(), s.Read, s.Next.Version)
	}
	for _, s := range b.Notes {
		c.named("note", string(s.Next.Kind))
		c.named("note", s.Next.Key)
		c.swap("note", string(s.Next.Kind)+" "+s.Next.Key, s.Read, s.Next.Version)
	}
}

func (c *checker) records(b *Batch) {
	for _, v := range b.Configs {
		c.once("config", string(v.Pipeline), v.Version)
	}
	for _, e := range b.Log {
		c.once("job log entry", e.Key.String(), strconv.Itoa(e.Attempt), string(e.Event), strconv.Itoa(e.Try))
	}
	for _, s := range b.Snapshots {
		c.once("snapshot", string(s.ID))
	}
	for _, r := range b.Reruns {
		c.once("rerun", r.Key.String(), r.ID)
	}
	for _, m := range b.Marks {
		c.once("mark", m.ID)
	}
	for _, t := range b.Tasks {
		c.once("task", t.ID)
	}
	for _, id := range b.Finished {
		c.once("task", id)
	}
	for _, d := range b.Dead {
		c.once("dead letter", d.Sink, d.Event.ID)
	}
	for _, d := range b.Buried {
		c.once("dead letter", d.Sink, d.Event.ID)
	}
	for _, e := range b.Events {
		c.named("event", e.ID)
	}
}

func (c *checker) swap(kind, id string, read, next int64) {
	c.once(kind, id)
	if next <= read || read < 0 {
		c.fail("%s %s: version %d does not follow %d", kind, id, next, read)
	}
}

// once rejects a record without a name, and a duplicate.
func (c *checker) once(kind string, id ...string) {
	for _, part := range id {
		c.named(kind, part)
	}
	name := fmt.Sprintf("%s %q", kind, id)
	if c.seen[name] {
		c.fail("%s is in it twice", name)
	}
	c.seen[name] = true
}

func (c *checker) named(kind, id string) {
	if id == "" {
		c.fail("a %s has no name", kind)
	}
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// MaxWrites is how many readings one call accepts on every store except DynamoDB.
const MaxWrites = 1000

// CheckWrites returns an error for writes that no store accepts: more than most at once
// (ErrTooLarge), or one without a pipeline or a key. Adapters call it first.
func CheckWrites(writes []Write, most int) error {
	if len(writes) > most {
		return fmt.Errorf("put readings: %d are more than %d: %w", len(writes), most, ErrTooLarge)
	}
	for i, w := range writes {
		if w.Pipeline == "" || w.Reading.Key == "" {
			return fmt.Errorf("put readings: write %d has pipeline %q and key %q, but needs both", i+1, w.Pipeline, w.Reading.Key)
		}
	}
	return nil
}
