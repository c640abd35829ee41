// Package store is the contract of Interlock's storage: runs, readings, deadlines, events, tasks. A
// handler reads, decides, and commits one Batch, which is applied atomically. The Batch includes
// the follow-up tasks and the events to publish. So nothing is ever started or published "after" a
// write, and no crash can fall between the two.
//
// Package record implements it, once for all databases, on what a database offers: row.Engine. The
// engines are memory, sqlite, redis and dynamo, each in its folder. storetest is the conformance
// suite that the store passes on each of them, and rowtest that of the engines themselves.
// docs/ADDING-A-STORE.md explains what an engine must do.
//
// For every method: it is safe for concurrent use by goroutines and, where the technology allows,
// by processes sharing the data. Stores take the current time as a parameter and never read a clock
// for anything that a decision sees. Times have nanosecond precision and are returned in UTC. The
// data of readings is returned unchanged as far as sensor.SameData can tell: an integral number may
// have become an int64. Callers own the values they pass and receive: the store copies them.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// ErrConflict means that a Batch was decided on outdated facts: a stale version, a row created
// meanwhile, a lease that another worker holds. Nothing was changed; read again and decide again.
var ErrConflict = errors.New("conflict: something changed since it was read")

// ErrNotFound means that the record does not exist.
var ErrNotFound = errors.New("not found")

// IfFound returns the result of a read, or the zero value if the record does not exist.
func IfFound[T any](record T, err error) (T, error) {
	if errors.Is(err, ErrNotFound) {
		var none T
		return none, nil
	}
	return record, err
}

// IsMarked reports whether one mark is set.
func IsMarked(ctx context.Context, in Marks, id string) (bool, error) {
	set, err := in.Marked(ctx, []string{id})
	if err != nil {
		return false, fmt.Errorf("read mark %s: %w", id, err)
	}
	return set[id], nil
}

// emitter is what EmitOnce needs of a store.
type emitter interface {
	Committer
	Marks
}

// EmitOnce emits an event and sets a mark, which is kept until then, unless the mark is set
// already. It reports whether it emitted the event. Many writes may lead to the same event, and
// most find the mark set.
func EmitOnce(ctx context.Context, s emitter, mark string, until time.Time, e event.Event, now time.Time) (bool, error) {
	if marked, err := IsMarked(ctx, s, mark); err != nil || marked {
		return false, err
	}
	b := Batch{ID: mark + "/" + rand.Text()} // a call at the same time must find the mark set
	b.SetMark(mark, until)
	b.Emit(e)
	switch err := s.Commit(ctx, b, now); {
	case errors.Is(err, ErrConflict):
		return false, nil // it was emitted meanwhile
	case err != nil:
		return false, fmt.Errorf("commit %s: %w", mark, err)
	}
	return true, nil
}

// Marks is the part of a store that reads marks.
type Marks interface {
	// Marked returns which of the marks are set; the others are left out.
	Marked(ctx context.Context, ids []string) (map[string]bool, error)
}

// maxTries is how often Again calls a function.
const maxTries = 10

// Again calls decide until it returns no ErrConflict, but not too often. Each call reads the
// current state anew.
func Again(decide func() error) (err error) {
	for range maxTries {
		if err = decide(); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return err
}

// ErrAway means that the store cannot be reached or accepts no changes at the moment. It is
// temporary and not the caller's fault. Whether the request took effect is unknown, unless the
// error says more.
var ErrAway = errors.New("the store is not available")

// ErrTooLarge means that one call contains more than this store accepts at once.
var ErrTooLarge = errors.New("too much for one call")

// ErrMarked means that the mark of a write was set for something else. Nothing was stored.
var ErrMarked = errors.New("the mark was set for something else")

// Store is the whole contract. Handlers declare the roles they need.
type Store interface {
	Committer
	Sensors
	Reader
	Feed
	Tasks
	Keeper
}

// Committer commits changes.
type Committer interface {
	// Commit applies all of b, or returns an error and applies none of it. Batch documents what
	// each part does and when it is ErrConflict. All conflicts are checked before anything is
	// changed, so a rejected Batch leaves no event, task or mark behind.
	//
	// Committing a Batch again, recognised by its Identity, returns nil and changes nothing,
	// whatever it contains and whatever has happened since. This holds for at least CommitLife;
	// after that, versions detect repeats. So if an error other than ErrConflict leaves it unknown
	// whether a Batch was committed, commit the same Batch again. A rejected Batch is not
	// remembered.
	//
	// Commit appends changes to the feed for runs that were created or whose status or attempt
	// changed, and for every swap of a pipeline's row. One Batch may append several: runs first,
	// then pipelines.
	Commit(ctx context.Context, b Batch, now time.Time) error
}

// Sensors stores readings.
type Sensors interface {
	// PutReadings stores all writes or none, in order, as the current reading of their pipeline,
	// key and period and as history. It appends a Change for each that was not ignored. Two writes
	// of one row in one call are two writes. Each gets a version larger than every version assigned
	// before, of any row, and now as its UpdatedAt. A write with Deleted is stored like any other,
	// without fields; rules ignore it. When PutReadings returns, the writes are durable.
	//
	// More writes than the store accepts at once are ErrTooLarge (MaxWrites everywhere, however many
	// marks they have, except on DynamoDB, which accepts at least 5, or 4 with one mark). A write without pipeline or key, or
	// with data that sensor.Normalize rejects, is an error too. Pipelines need not exist.
	PutReadings(ctx context.Context, writes []Write, now time.Time) ([]Put, error)
}

// PutAll stores any number of writes: in one call of PutReadings, or in several if the store does not
// accept as many at once. After an error it returns the results of those that are stored, the first
// ones.
func PutAll(ctx context.Context, s Sensors, writes []Write, now time.Time) ([]Put, error) {
	puts, err := s.PutReadings(ctx, writes, now)
	half := len(writes) / 2
	if half == 0 || !errors.Is(err, ErrTooLarge) {
		return puts, err
	}
	if puts, err = PutAll(ctx, s, writes[:half], now); err != nil {
		return puts, err
	}
	rest, err := PutAll(ctx, s, writes[half:], now)
	return append(puts, rest...), err
}

// Write is one reading to store.
type Write struct {
	Pipeline pipeline.ID
	Reading  sensor.Reading // the store sets UpdatedAt and Version
	// Order, if not 0, makes a late write harmless: it is ignored unless its order is above that of
	// the stored reading of that pipeline, key and period. The engine's own readings use it. A
	// write without it is always stored, and leaves the stored order unchanged.
	Order int64
	// Series is what Order counts. Orders of different series are not compared: the write is stored.
	Series string
	// Once, if it has an ID, makes a repeat harmless: the mark is set together with the write, and
	// a write of another call is skipped if its mark is set already. Writes of one call may share a
	// mark. A mark does not count after its Until. If one was set with another Of, no write of the
	// call is stored, and the error is ErrMarked.
	//
	// With a Rank above 0, a write is skipped only if its mark was set with a higher rank;
	// otherwise it sets the mark to its own rank. With the Rank Unmarked it is skipped if the mark
	// is set, and does not set it.
	Once Mark
}

// Put is the result of a Write.
type Put struct {
	Version   int64
	UpdatedAt time.Time
	// Changed means that the data differs (sensor.Reading.SameFacts) from the current reading of that
	// period, that there was none, or that one of the two is Deleted.
	Changed bool
	Ignored bool // a later one, by Order, was stored already: Version and UpdatedAt are those of that reading
	// Repeated means that the mark of Once kept the write from being stored. Version and
	// UpdatedAt are zero.
	Repeated bool
}

// Reader reads. Every result reflects all commits and writes acknowledged before the call. (On
// DynamoDB, events and lists over all pipelines may lag slightly; callers that act on an entry swap
// it by version.)
//
// Paged lists have a total order, so that two reads of the same rows agree; see Page and PageSize.
// A cursor of another list is ErrCursor. An empty list is not an error.
type Reader interface {
	// Run returns a run, and DryRun the run of a dry-run pipeline; ErrNotFound if there is none.
	// The two share no rows.
	Run(ctx context.Context, key run.Key) (run.Run, error)
	DryRun(ctx context.Context, key run.Key) (run.Run, error)
	// Runs lists runs, latest period first (by Compare), then by pipeline and schedule. It excludes
	// dry runs.
	Runs(ctx context.Context, q RunQuery) (Page[run.Run], error)
	// OpenRuns lists all runs of a pipeline (of all, if id is "") that have not ended, oldest
	// period first, then by pipeline and schedule. It excludes dry runs.
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	// RunsAt returns the runs with these keys; missing ones are left out.
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)

	// Pipeline returns a pipeline's row; ErrNotFound if it was never accepted.
	Pipeline(ctx context.Context, id pipeline.ID) (Pipeline, error)
	// Pipelines lists all rows by id, including removed pipelines. EachPipeline passes them to do
	// one by one, for callers that need little of each: a row is large, and there may be very many.
	// It stops at the first error of do.
	Pipelines(ctx context.Context) ([]Pipeline, error)
	EachPipeline(ctx context.Context, do func(Pipeline) error) error
	// Config returns one version of a pipeline's file; ErrNotFound if there is none. Configs lists
	// them WithoutTexts, newest first by At, then by version.
	Config(ctx context.Context, id pipeline.ID, version string) (Config, error)
	Configs(ctx context.Context, id pipeline.ID) ([]Config, error)

	// Readings answers each query, in order, with the readings that sensor.ForPeriod chooses from,
	// in any order: those of the period itself and of the periods that contain it, the undated one,
	// and of all others the one with the latest period by Compare. Expired and deleted readings are
	// included: sensor.ForPeriod and rules decide whether they count.
	Readings(ctx context.Context, queries []ReadingQuery) ([][]*sensor.Reading, error)
	// LatestReadings lists the most recently written reading, by version, of every key of a
	// pipeline, by key. It may be Deleted.
	LatestReadings(ctx context.Context, q LatestQuery) (Page[*sensor.Reading], error)
	// SensorSizes returns the approximate JSON size in bytes of the latest reading of each key of a
	// pipeline.
	SensorSizes(ctx context.Context, id pipeline.ID) (map[sensor.Key]int, error)
	// History lists the writes of a key, newest first by version. It excludes ignored writes.
	History(ctx context.Context, q HistoryQuery) (Page[*sensor.Reading], error)
	// Writes returns the writes with these ids, as History has them; missing ones are left out.
	Writes(ctx context.Context, ids []WriteID) (map[WriteID]*sensor.Reading, error)

	// Deadlines lists ledger rows by breach time, earliest first, then by period, pipeline,
	// schedule and kind.
	Deadlines(ctx context.Context, q DeadlineQuery) (Page[Deadline], error)
	// JobLogs returns the job logs of these runs; runs without entries are left out. Entries are
	// sorted by At, oldest first, then in the order they were appended.
	JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]JobEntry, error)
	// Snapshot returns the facts a start was decided on, PostRun the post-run state of a completed
	// run; ErrNotFound if there is none.
	Snapshot(ctx context.Context, id run.SnapshotID) (Snapshot, error)
	PostRun(ctx context.Context, key run.Key) (PostRun, error)
	// Reruns returns the rerun requests for these runs with their answers, in the same order; runs
	// without any are left out.
	Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]Rerun, error)
	// Events lists events in commit order, newest first (oldest first with q.Ascending).
	Events(ctx context.Context, q EventQuery) (Page[event.Event], error)
	// EventsAfter lets sinks and streams follow the event log: it returns up to PageSize(limit)
	// events after a position, oldest first, with their positions. Positions start above 0 and
	// grow. There may be gaps of any size, which are never filled. A position is never reused, not
	// even if the technology loses the last commits, as in a failover: followers keep their
	// positions in memory.
	EventsAfter(ctx context.Context, after Position, limit int) ([]StoredEvent, error)
	// LastPosition returns the position of the last event; 0 if there is none.
	LastPosition(ctx context.Context) (Position, error)
	// PositionAt returns the position before the first event since t, assuming correct clocks. If
	// there is no event since t, it is the position of the last event.
	PositionAt(ctx context.Context, t time.Time) (Position, error)
	Marks
	// Note returns one note; ErrNotFound if there is none. Notes lists those of a kind, by key.
	Note(ctx context.Context, kind NoteKind, key string) (Note, error)
	Notes(ctx context.Context, kind NoteKind) ([]Note, error)
	// Dead lists the dead letters of a sink (of any, if it is ""), oldest first by At, then by sink
	// and event id.
	Dead(ctx context.Context, sink string) ([]DeadLetter, error)
}

// Keeper maintains the store itself.
type Keeper interface {
	// Trim deletes rows whose retention has passed, at most MaxTrim per call, and returns how many;
	// 0 means that nothing is left to delete. A row exactly as old as its retention stays. The cost
	// depends on what Trim deletes, not on what stays: once it has kept a record, it may not examine
	// it again for a day, or until the record is twice as old if that is later. Rows stored while a clock ran ahead do not hold up others: they are
	// deleted in their own time, or with rows stored after them. It deletes:
	//
	//   - events, by their Time, that every cursor has passed. Their ids may then be used again.
	//   - writes, by AgesFrom; a write replaced by another of its period may be deleted by UpdatedAt. It never deletes the
	//     most recently written reading of a key, the current undated one, or the current one of a period that equals,
	//     contains or lies within the period of an open run or dry run of any pipeline.
	//   - job log entries and rerun requests, by At, of runs that are not open, and those runs' snapshots to which the
	//     run does not refer.
	//   - changes that every group has passed, if there is a group.
	//   - runs that have ended, by AgesFrom with their UpdatedAt, with their deadlines, post-run state and snapshots; a
	//     run and these count as one row. It sets the ExcludedMark of each. It never deletes a pipeline's run of the
	//     latest period, one that may still have a job or has an armed deadline, or one whose period equals, contains or
	//     lies within the period of an open run or dry run of any pipeline.
	//   - dry runs that ended and have not changed for DryRunLife, marks and notes whose Until has passed, and records of
	//     batches older than CommitLife.
	//
	// Everything else stays: open runs, pipelines, config versions, tasks, cursors, dead letters.
	Trim(ctx context.Context, keep Retention, now time.Time) (int, error)
	// Fit returns keep with Events and History shortened, but never below LeastFit, so that after a
	// Trim the events and writes that are stored, apart from those that Trim keeps whatever their age,
	// do not exceed EventsBytes and HistoryBytes. Each counts its JSON and RowBytes. Fit counts what was
	// stored since the last call, of any process. It is precise to a hundredth of a limit, and passes
	// over what was stored with an instant before the last call.
	Fit(ctx context.Context, keep Retention, now time.Time) (Retention, error)
	// Purge deletes everything that is stored about a pipeline that was removed, and whose runs last
	// changed, at least PurgeAfter ago: runs with their logs, deadlines, snapshots and marks, readings
	// with their history, events
	// that every cursor has passed, versions of its file, and its row. AUDIT events and dead letters
	// stay. It returns what it deleted or, if dry is set, what it would delete. It deletes nothing if
	// the pipeline is active or anything of it is open; Purged says so.
	// A pipeline without a row is ErrNotFound, one that becomes active meanwhile ErrConflict. It
	// commits in small steps. After an error, a repeated call continues.
	Purge(ctx context.Context, id pipeline.ID, dry bool, now time.Time) (Purged, error)
	// Close ends blocked calls, and releases changes that were received but not acknowledged. Every
	// later call returns an error, except that Close may be called twice.
	Close() error
}

// Retention is how long history is kept; 0 means forever.
type Retention struct {
	Events, History, JobLog time.Duration
	// Runs is how long ended runs are kept. It must be longer than a quarter, for whose runs another
	// pipeline may wait, and not shorter than the three others.
	Runs time.Duration
	// EventsBytes and HistoryBytes are the limits of Fit; 0 means no limit. Trim ignores them.
	EventsBytes, HistoryBytes int64
}

// Purged is what Purge deleted, or why it deleted nothing.
type Purged struct {
	Rows map[string]int // deleted rows, by kind of record
	// Each of the following means that nothing was deleted.
	Active    bool      // the pipeline has a file
	NotBefore time.Time // it was removed, or a run of it changed, too recently; zero otherwise
	Open      []string  // runs, deadlines and tasks that are open, not all of them
}

// Limits that users cannot configure.
const (
	MaxTrim    = 500                // maximum rows per Trim
	DryRunLife = 7 * 24 * time.Hour // how long an ended dry run is kept
	LeastFit   = 5 * time.Minute    // how long Fit keeps everything, at least
	RowBytes   = 256                // what an event or a write counts besides its JSON
	CommitLife = time.Hour          // how long a repeated Batch is recognised, at least
	// PurgeAfter is how long a removed pipeline must be at rest: until then a batch of a new pipeline of its
	// name may have the id of one of its last batches, and count as its repeat.
	PurgeAfter = 2 * CommitLife
)
