package catalog

import (
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Origin returns the owner of a file and the Git commit that is checked out in its directory; ""
// for what is unknown.
type Origin func(file string) (owner, commit string)

// Audit makes Apply record every change of a configuration file in log, in the commit that carries
// it out. It must be called before files are applied.
func (c *Catalog) Audit(log *audit.Log, from Origin) { c.audit, c.origin = log, from }

// change is a change of a configuration file. Without a file in after, it was removed; with
// problems, after was rejected.
type change struct {
	fileKey
	before, after pipeline.Source
	problems      []string
	owner, commit string
}

// changeOf returns a change, with the origin of the file.
func (c *Catalog) changeOf(key fileKey, before, after pipeline.Source) change {
	ch := change{fileKey: key, before: before, after: after}
	if c.origin != nil {
		ch.owner, ch.commit = c.origin(ch.file())
	}
	return ch
}

func (ch change) file() string {
	if ch.after.File != "" {
		return ch.after.File
	}
	return ch.before.File
}

// moved reports whether the contents are those before.
func (ch change) moved() bool { return ch.before.Digest() == ch.after.Digest() }

// detail returns the change as part of an event.
func (ch change) detail(problems []string) event.Config {
	return event.Config{
		Kind: string(ch.kind), File: ch.file(), Before: ch.before.Digest(), After: ch.after.Digest(),
		Owner: ch.owner, Commit: ch.commit, Problems: append([]string{}, problems...),
	}
}

// record adds the audit entry of a change to the batch that carries it out. A file that was only
// moved has none, nor has a pipeline whose calendar or archetype changed: that file has its own.
func (c *Catalog) record(ctx context.Context, b *store.Batch, ch change, now time.Time) error {
	if c.audit == nil || ch.moved() {
		return nil
	}
	e := audit.Entry{
		Actor: "server", Action: "config", Subject: string(ch.kind) + " " + ch.name, Outcome: audit.Done,
		Change: &audit.Change{
			Kind: string(ch.kind), File: ch.file(), Before: ch.before.Digest(), After: ch.after.Digest(), Owner: ch.owner, Commit: ch.commit,
		},
	}
	if ch.kind == pipeline.PipelineFile {
		e.Pipeline = pipeline.ID(ch.name)
	}
	if ch.name == "" {
		e.Subject = string(ch.kind) + " file " + ch.file()
	}
	if len(ch.problems) > 0 {
		e.Outcome, e.Error = audit.Refused, ch.problems[0]
	}
	if ch.before.File != "" && ch.after.File != "" {
		e.Change.Diff = audit.Diff(ch.before.Data, ch.after.Data)
		if ch.before.File != ch.after.File {
			e.Change.Was = ch.before.File
		}
	}
	return c.audit.Put(ctx, b, e, now)
}

// Used lists the files behind a start of d that saw some sensors: its own, its archetypes and
// calendars; those of other pipelines whose probes write these sensors; and the sources that may
// write them.
func (c *Catalog) Used(d *pipeline.Definition, seen []store.SeenSensor) []store.UsedFile {
	var all []store.UsedFile
	add := func(kind pipeline.FileKind, file, digest string) {
		if used := (store.UsedFile{Kind: kind, File: file, Digest: digest}); !slices.Contains(all, used) {
			all = append(all, used)
		}
	}
	addPipeline := func(d *pipeline.Definition) {
		add(pipeline.PipelineFile, d.File, hex.EncodeToString(d.FileSum[:]))
		for _, src := range d.Archetypes {
			add(pipeline.ArchetypeFile, src.File, src.Digest())
		}
	}
	addPipeline(d)
	for _, src := range d.Calendars {
		add(pipeline.CalendarFile, src.File, src.Digest())
	}
	current := c.Current()
	for _, s := range seen {
		if s.Pipeline != d.ID && current.Probe(s.Pipeline, s.Key) != nil {
			addPipeline(current.Definition(s.Pipeline))
		}
		for _, source := range c.Sources().All() {
			if !s.Key.Engine() && source.Writes(s.Pipeline, string(s.Key)) {
				add(pipeline.SourceFile, source.File, source.Digest)
			}
		}
	}
	return all
}
