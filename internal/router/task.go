package router

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// dryID returns the id of the task that advances a dry run.
func dryID(key run.Key) string { return "dry/" + key.String() }

// advance returns the task for the next step of a run or dry run.
func advance(dry bool, key run.Key, due time.Time) store.Task {
	t := store.Task{ID: lifecycle.TaskID(key), Kind: store.Advance, Pipeline: key.Pipeline, Key: key, Due: period.Instant(due)}
	if dry {
		t.ID, t.Kind = dryID(key), store.AdvanceDry
	}
	return t
}

// pipelineTask returns a task of a whole pipeline; the prefix of its id is the kind of task.
func pipelineTask(kind store.TaskKind, prefix string, id pipeline.ID, due time.Time) store.Task {
	return store.Task{ID: prefix + string(id), Kind: kind, Pipeline: id, Due: period.Instant(due)}
}

// The id prefixes of tasks of a whole pipeline.
const (
	firePrefix   = "fire/"
	armPrefix    = "arm/"
	resumePrefix = "resume/"
	reopenPrefix = "reopen/"
)

// name returns the batch id of a decision about a run; it includes the version that the decision is based on.
func name(what string, r run.Run) string {
	return fmt.Sprintf("%s/%s/v%d", what, r.Key, r.Version)
}

// nameOf is name for a run or a dry run, which may have the same key and version.
func nameOf(what string, dry bool, key run.Key, read run.Run) string {
	read.Key = key
	if dry {
		what += "-dry"
	}
	return name(what, read)
}
