package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// verdict is the result of judging the files of one pipeline: a definition, or problems, or neither
// if there is no file.
type verdict struct {
	id         pipeline.ID
	definition *pipeline.Definition
	config     store.Config    // the stored form of the definition
	held       bool            // there is no file, and the removal waits: see Trouble
	files      []string        // rejected files
	rejected   pipeline.Source // the first of them
	problems   []string
	change     change    // set when the verdict is about to be stored
	since      time.Time // see Files
}

func accepted(d *pipeline.Definition, file pipeline.Source) *verdict {
	config := configOf(d, file)
	config.Version = version(config)
	return &verdict{id: d.ID, definition: d, config: config}
}

// configOf returns the stored form of a definition read from file, without its version.
func configOf(d *pipeline.Definition, file pipeline.Source) store.Config {
	return store.Config{Pipeline: d.ID, File: file, Calendars: d.Calendars, Archetypes: d.Archetypes}
}

// maxProblems bounds the problems reported for one file; `interlock validate` shows the rest.
const maxProblems = 20

func (v *verdict) reject(file pipeline.Source, problems []document.Problem) {
	if len(v.files) == 0 {
		v.rejected = file
	}
	v.addProblems(file.File, errorTexts(problems, file.File))
}

func (v *verdict) addProblems(file string, texts []string) {
	if more := len(texts) - maxProblems; more > 0 {
		texts = append(slices.Clip(texts[:maxProblems]), fmt.Sprintf("%s: and %d more", file, more))
	}
	v.files, v.problems = append(v.files, file), append(v.problems, texts...)
}

// version hashes a file's text together with the calendars and archetypes it uses.
func version(c store.Config) string {
	sources := append([]pipeline.Source{c.File}, c.Calendars...)
	return digest(append(sources, c.Archetypes...)...)
}

// digest hashes texts, ignoring file names. The first is the pipeline's; the order of the others
// does not matter.
func digest(sources ...pipeline.Source) string {
	sums := make([]string, len(sources))
	for i, s := range sources {
		sum := sha256.Sum256(s.Data)
		sums[i] = string(sum[:])
	}
	if len(sums) > 1 {
		slices.Sort(sums[1:])
	}
	sum := sha256.Sum256([]byte(strings.Join(sums, "")))
	return hex.EncodeToString(sum[:8])
}

// against returns the batch that applies v to a stored pipeline, and whether that is a new version
// or a removal. all is the row of store.AllPipelines.
func (c *Catalog) against(v verdict, row, all store.Pipeline, now time.Time) (store.Batch, bool) {
	switch {
	case v.held:
		return store.Batch{}, false
	case v.problems != nil:
		return v.rejection(row, now), false
	case v.definition == nil:
		return v.removal(row, now)
	default:
		return c.acceptance(v, row, all, now)
	}
}

// acceptance activates a version. If it is active already, it only clears an earlier rejection. A
// pipeline that was not active is paused from its acceptance on if all pipelines are, according to
// row all; the commit depends on that row.
func (c *Catalog) acceptance(v verdict, row, all store.Pipeline, now time.Time) (store.Batch, bool) {
	if row.Config == v.config.Version && row.Problem == "" {
		return store.Batch{}, false
	}
	b := v.batch("accept", row)
	next := row
	next.ID, next.Problem = v.id, ""
	if row.Config == v.config.Version {
		b.SwapPipeline(row, next)
		return b, false
	}
	if row.Config == "" {
		// A pipeline that was not active expected nothing: neither its first acceptance nor its
		// return opens past periods.
		next.Horizon = period.Instant(now)
		if !v.since.IsZero() && v.since.Before(now) {
			next.Horizon = period.Instant(v.since)
		}
		next.PauseAll = all.Pause
		b.ExpectPipeline(store.AllPipelines, all)
		if all.Paused() {
			next.HoldBack(now)
		}
	}
	if c.pendingFire(row, now) {
		next.Earlier = append(slices.Clip(row.Earlier), store.Acceptance{Config: row.Config, At: row.AcceptedAt})
	} else {
		// An edited schedule counts from now: its own past fires were never expected.
		next.FiredThrough, next.Earlier = period.Instant(now), nil
	}
	next.Older = olderThan(row, v.config.Version)
	next.Config, next.AcceptedAt, next.RemovedAt = v.config.Version, period.Instant(now), time.Time{}
	b.SwapPipeline(row, next)
	stored := v.config
	stored.At = period.Instant(now)
	b.Configs = append(b.Configs, stored)
	message := fmt.Sprintf("%s is active, version %s", v.config.File.File, v.config.Version)
	b.Emit(event.New(event.ConfigAccepted, v.about(row, v.config.Version, now), message, v.detail(v.config.Version)))
	if row.Config == "" && all.Paused() {
		b.Emit(all.Pause.Paused(v.id, row.Version, now))
	}
	b.Schedule(store.PipelineTask(store.ReopenPeriods, v.id, now))
	b.Schedule(store.PipelineTask(store.Arm, v.id, now))
	if len(v.definition.Probes) > 0 {
		b.Schedule(store.PipelineTask(store.RunProbe, v.id, now))
	}
	return b, true
}

// rejection records the problems. The active version stays.
func (v verdict) rejection(row store.Pipeline, now time.Time) store.Batch {
	b := v.batch("reject", row)
	next := row
	next.ID, next.Problem = v.id, strings.Join(v.problems, "\n")
	if next.Problem == row.Problem {
		return store.Batch{}
	}
	b.SwapPipeline(row, next)
	stays := "no version of it is active"
	if row.Config != "" {
		stays = fmt.Sprintf("version %s stays active", row.Config)
	}
	b.Emit(event.New(event.ConfigRejected, v.about(row, hash(next.Problem), now), v.refusal()+"; "+stays, v.detail(row.Config)))
	return b
}

// refusal describes the problems in a sentence.
func (v verdict) refusal() string {
	message := fmt.Sprintf("%s was rejected: %s", strings.Join(v.files, ", "), v.problems[0])
	if more := len(v.problems) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return message
}

// removal deactivates a pipeline. Open attempts finish on their own versions. A pipeline that was
// not active only loses its problem.
func (v verdict) removal(row store.Pipeline, now time.Time) (store.Batch, bool) {
	b := v.batch("remove", row)
	next := row
	next.Problem, next.Config = "", ""
	if row.Config != "" || row.RemovedAt.IsZero() {
		next.RemovedAt = period.Instant(now)
	}
	if row.Config == "" {
		if row.Problem != "" {
			b.SwapPipeline(row, next)
		}
		return b, false
	}
	next.Older = olderThan(row, "")
	b.SwapPipeline(row, next)
	b.Emit(event.New(event.ConfigRemoved, v.about(row, row.Config, now), "its file was removed: open attempts finish, nothing new opens", v.detail("")))
	for _, kind := range []store.TaskKind{store.Fire, store.Arm, store.ReopenPeriods, store.RunProbe} {
		b.Finish(store.PipelineTaskID(kind, v.id))
	}
	return b, true
}

// detail returns the verdict as part of an event.
func (v verdict) detail(version string) event.Config {
	d := v.change.detail(v.problems)
	if d.Version = version; len(v.files) > 1 {
		d.File = strings.Join(v.files, ", ")
	}
	return d
}

func (v verdict) batch(what string, row store.Pipeline) store.Batch {
	return store.Batch{ID: fmt.Sprintf("config/%s/%s/%s/v%d", what, v.id, hash(v.config.Version+strings.Join(v.problems, "\n")), row.Version)}
}

// about distinguishes repeats of the same event by row version: a version may return.
func (v verdict) about(row store.Pipeline, what string, now time.Time) event.About {
	return event.About{Pipeline: v.id, Which: fmt.Sprintf("%s/v%d", what, row.Version), At: now}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
