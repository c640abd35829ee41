package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// What the keys of rows begin with, where others have to know it too.
const (
	pipelinePrefix = "PIPELINE#"
	sensorPrefix   = "SENSOR#"
	readingPrefix  = "READING#"
	historyPrefix  = "HISTORY#"
	triggerPrefix  = "TRIGGER#"
	taskPrefix     = "TASK#"
	commitPrefix   = "COMMIT#"
	jobPrefix      = "JOB#"
	rerunPrefix    = "RERUN#"
	rerunRequest   = "RERUN_REQUEST#"
)

// longestName is how much of a key a name may take that holds what others say: a PK has 2048 bytes at most, an SK 1024.
const longestName = 900

// fitting is a name as it is, or, where that is too long, as much of it as fits and a hash of all.
func fitting(name string) string {
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "#" + hex.EncodeToString(sum[:])
	return strings.ToValidUTF8(name[:longestName-len(end)], "") + end
}

func partition(id pipeline.ID) string { return pipelinePrefix + string(id) }

func ofRun(prefix string, key run.Key, more ...string) address {
	sk := append([]string{string(key.Schedule), key.Period.String()}, more...)
	return address{Control, partition(key.Pipeline), prefix + join(sk...)}
}

func runAt(key run.Key) address      { return ofRun(triggerPrefix, key) }
func dryRunAt(key run.Key) address   { return ofRun("DRY_RUN#", key) }
func baselineAt(key run.Key) address { return ofRun("BASELINE#", key) }

func deadlineAt(key run.Key, kind store.DeadlineKind) address {
	return ofRun("DEADLINE#", key, string(kind))
}

func pipelineAt(id pipeline.ID) address { return address{Control, partition(id), "STATE"} }

func configAt(id pipeline.ID, version string) address {
	return address{Control, partition(id), "CONFIG#" + version}
}

func snapshotAt(id run.SnapshotID) address {
	return address{Control, "SNAPSHOT#" + string(id), "SNAPSHOT"}
}

func markAt(id string) address             { return address{Control, "MARK#" + fitting(id), "MARK"} }
func taskAt(id string) address             { return address{Control, taskPrefix + id, "TASK"} }
func deadAt(sink, id string) address       { return address{Control, "DEAD", join(sink, id)} }
func groupAt(name string) address          { return address{Control, "GROUP", name} }
func counterAt(table, name string) address { return address{table, "COUNTER", name} }
func cursorAt(name string) address         { return address{Events, "CURSOR", name} }

func noteAt(kind store.NoteKind, key string) address {
	return address{Events, "NOTE#" + string(kind), key}
}

func jobAt(e store.JobEntry) address {
	at := ofRun(jobPrefix, e.Key, strconv.Itoa(e.Attempt), string(e.Event), strconv.Itoa(e.Try))
	at.table = JobLog
	return at
}

func rerunAt(r store.Rerun) address {
	at := ofRun(rerunPrefix, r.Key, fitting(r.ID))
	at.table = Rerun
	return at
}

func readingAt(id pipeline.ID, key sensor.Key, p period.Period) address {
	return address{Control, partition(id), readingPrefix + join(string(key), p.String())}
}

func historyAt(id pipeline.ID, key sensor.Key, version int64) address {
	return address{Control, partition(id), historyPrefix + join(string(key), digits(version))}
}

// commitAt is where it is remembered that a Batch was taken. One of nothing but notes stays in the table of notes, so that
// who only keeps notes needs no other.
func commitAt(b store.Batch) address {
	at := address{Control, commitPrefix + fitting(b.Identity()), "COMMIT"}
	if len(b.Notes) > 0 && b.Rows() == len(b.Notes)+1 && len(b.Events) == 0 {
		at.table = Events
	}
	return at
}

func changeAt(p store.Position) address { return address{Control, "CHANGES", digits(int64(p))} }

// stretch is how many positions share a partition of the log of all events.
const stretch = 100_000

func logPartition(p store.Position) string { return "LOG#" + strconv.FormatInt(int64(p)/stretch, 10) }

func logAt(p store.Position) address { return address{Events, logPartition(p), digits(int64(p))} }
func eventIDAt(id string) address    { return address{Events, "EVENT#" + id, "EVENT"} }

func eventAt(e event.Event) address {
	return address{Events, partition(e.Detail.Pipeline), join(millis(e.Time), string(e.Type), e.ID)}
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// The places of rows in lists, which are sorted as texts and begin with the kind of row.

// runPlace is latest period first, then by pipeline and schedule, in the list of all runs or of those that ended somehow.
func runPlace(list string, key run.Key) string {
	return join(list, store.LatestFirst(key.Period), names(key))
}

// endedAs is the list of the runs that ended with a status.
func endedAs(s run.Status) string { return join("ENDED", string(s)) }

// openPlace is oldest period first.
func openPlace(key run.Key) string { return join("RUN", store.Place(key.Period), names(key)) }

// deadlinePlace is soonest first, then by period, pipeline, schedule and kind.
func deadlinePlace(d store.Deadline) string {
	return join("DEADLINE", store.Nanos(d.BreachAt), store.Place(d.Key.Period), names(d.Key, string(d.Kind)))
}
