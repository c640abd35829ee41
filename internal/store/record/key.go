package record

import (
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// The kinds of rows, besides row.Tasks and row.Events.
const (
	Pipelines row.Kind = "pipeline"
	Configs   row.Kind = "config"
	Runs      row.Kind = "run"
	DryRuns   row.Kind = "dry"
	Deadlines row.Kind = "deadline"
	Baselines row.Kind = "baseline"
	RunLog    row.Kind = "runlog"
	Reruns    row.Kind = "rerun"
	Snapshots row.Kind = "snapshot"
	Marks     row.Kind = "mark"
	Notes     row.Kind = "note"
	Dead      row.Kind = "dead"
	Cursors   row.Kind = "cursor"
	Readings  row.Kind = "sensor"
	Sensors   row.Kind = "sensors"
	History   row.Kind = "history"
	Readiness row.Kind = "readiness"
)

// The names of index lists.
const (
	listPipelines = "pipelines"
	listRuns      = "runs"
	listOpen      = "open"
	listEnded     = "ended:" // followed by a status
	listDry       = "dry"
	listDeadlines = "deadlines"
	listArmed     = "armed"
	listDue       = "due:" // followed by one of taskLists: sorted by when a task is due
	listDead      = "dead"
	listEvents    = "events"
	listTyped     = "events:"   // followed by a type
	listExpiring  = "expiring:" // followed by a kind
	listRunLogs   = "runlogs"
	listReruns    = "reruns"
	listSnapshots = "snapshots"
	listHistory   = "history"
	listKept      = "kept" // writes that Trim had to keep and examines again later
)

// join builds a row key or an index key from parts. The separator sorts before every character of
// ids, schedules, dates and sensor keys; the suffix of bound sorts right after it.
func join(parts ...string) string { return strings.Join(parts, "#") }

// bound returns the upper bound of all keys that join builds with this prefix.
func bound(part string) string { return part + "$" }

// inRun returns the key of a row about a run, within the partition of its pipeline.
func inRun(key run.Key, more ...string) string {
	return strings.Join(append([]string{string(key.Schedule), key.Period.String()}, more...), "/")
}

func refOf(kind row.Kind, key run.Key, more ...string) row.Ref {
	return row.Ref{Kind: kind, Part: string(key.Pipeline), Key: inRun(key, more...)}
}

func refPipeline(id pipeline.ID) row.Ref {
	return row.Ref{Kind: Pipelines, Part: string(id), Key: "state"}
}

func refConfig(id pipeline.ID, version string) row.Ref {
	return row.Ref{Kind: Configs, Part: string(id), Key: version}
}

func refLog(e store.JobEntry) row.Ref {
	return refOf(RunLog, e.Key, strconv.Itoa(e.Attempt), string(e.Event), strconv.Itoa(e.Try))
}

func refSnapshot(id run.SnapshotID) row.Ref { return row.Ref{Kind: Snapshots, Key: string(id)} }
func refMark(id string) row.Ref             { return row.Ref{Kind: Marks, Key: id} }
func refTask(id string) row.Ref             { return row.Ref{Kind: row.Tasks, Key: id} }
func refCursor(name string) row.Ref         { return row.Ref{Kind: Cursors, Key: name} }

func refNote(kind store.NoteKind, key string) row.Ref {
	return row.Ref{Kind: Notes, Part: string(kind), Key: key}
}

func refDead(sink, event string) row.Ref { return row.Ref{Kind: Dead, Part: sink, Key: event} }

func refReading(id pipeline.ID, key sensor.Key, p period.Period) row.Ref {
	return row.Ref{Kind: Readings, Part: string(id), Key: join(string(key), store.Place(p))}
}

func refSensor(id pipeline.ID, key sensor.Key) row.Ref {
	return row.Ref{Kind: Sensors, Part: string(id), Key: string(key)}
}

func refWrite(id pipeline.ID, key sensor.Key, version int64) row.Ref {
	return row.Ref{Kind: History, Part: string(id), Key: join(string(key), row.Digits(version))}
}

// latestPlace sorts by latest period first, then by pipeline and schedule.
func latestPlace(key run.Key) string {
	return join(store.LatestFirst(key.Period), string(key.Pipeline), string(key.Schedule))
}

// oldestPlace sorts by oldest period first, then by pipeline and schedule.
func oldestPlace(key run.Key) string {
	return join(store.Place(key.Period), string(key.Pipeline), string(key.Schedule))
}

// deadlinePlace sorts by earliest breach first, then by period, pipeline, schedule and kind.
func deadlinePlace(d store.Deadline) string {
	return join(store.Nanos(d.BreachAt), oldestPlace(d.Key), string(d.Kind))
}

// timePlace sorts by an instant.
func timePlace(at time.Time, r row.Ref) string {
	return join(store.Nanos(at), r.Part, r.Key)
}

// aging lists a row for retention, by an instant.
func aging(r *row.Row, list string, at time.Time) {
	r.Places[row.Aging] = row.Place{List: list, Key: timePlace(at, r.Ref)}
}

// expiring lists a row that may be deleted after until; zero means never.
func expiring(r *row.Row, until time.Time) {
	if !until.IsZero() {
		aging(r, listExpiring+string(r.Kind), until)
		r.Expires = until
	}
}
