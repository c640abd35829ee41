package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// ledger holds the last good version of each configuration file that is not a pipeline's:
// calendars, archetypes, sources. It is stored, so that a change is noticed even if no controller
// was running when the file was changed. Pipeline files are in it only while they are rejected and
// their pipeline is unknown.
type ledger struct {
	files    map[fileKey]keptFile // nil until read
	rejected map[fileKey]string   // a hash of what was last reported about a rejected file, by kind and path
}

// fileKey names a file by its kind and the name or id in it, so that a file that moves stays the
// same.
type fileKey struct {
	kind pipeline.FileKind
	name string
}

func (k fileKey) String() string { return string(k.kind) + "/" + k.name }

// keptFile is the stored form of a version. File is empty if the file was removed.
type keptFile struct {
	pipeline.Source
	At time.Time `json:",omitzero"` // when it was accepted
}

func (k keptFile) is(other pipeline.Source) bool {
	return k.File == other.File && bytes.Equal(k.Data, other.Data)
}

// judged is a file as just read. It is rejected if it has problems.
type judged struct {
	fileKey
	file     pipeline.Source
	problems []string
}

// The key prefixes of the notes.
const (
	keptKey     = "kept/"
	rejectedKey = "rejected/"
)

// named returns the files of a set that pipelines refer to by name.
func (c *Catalog) named(set *pipeline.Set) []judged {
	var all []judged
	for _, f := range set.Named {
		j := judged{fileKey{f.Kind, f.Name}, f.Source, errorTexts(set.Problems, f.Source.File)}
		if j.name == "" {
			j.name = c.ledger.nameOf(f.Kind, f.Source.File)
		}
		all = append(all, j)
	}
	return all
}

// nameOf returns the name of the file that was last accepted from a path; "" if there is none.
func (l *ledger) nameOf(kind pipeline.FileKind, file string) string {
	for key, kept := range l.files {
		if key.kind == kind && kept.File == file {
			return key.name
		}
	}
	return ""
}

// Stored lists the paths of the last good versions of files that are not pipelines', sorted.
func (c *Catalog) Stored() []string {
	c.change.Lock()
	defer c.change.Unlock()
	var all []string
	for _, kept := range c.ledger.files {
		all = append(all, kept.File)
	}
	slices.Sort(all)
	return all
}

// readLedger reads the ledger, unless it has been read.
func (c *Catalog) readLedger(ctx context.Context) error {
	if c.ledger.files != nil {
		return nil
	}
	notes, err := c.store.Notes(ctx, store.FileNote)
	if err != nil {
		return fmt.Errorf("read the stored files: %w", err)
	}
	read := ledger{map[fileKey]keptFile{}, map[fileKey]string{}}
	for _, n := range notes {
		sort, rest, _ := strings.Cut(n.Key, "/")
		kind, name, _ := strings.Cut(rest, "/")
		key := fileKey{pipeline.FileKind(kind), name}
		if sort+"/" == rejectedKey {
			read.rejected[key] = string(n.Data)
			continue
		}
		kept, err := keptIn(n)
		if err != nil {
			return err
		}
		if kept.File != "" {
			read.files[key] = kept
		}
	}
	c.ledger = read
	return nil
}

func keptIn(n store.Note) (kept keptFile, err error) {
	if n.Version == 0 {
		return kept, nil
	}
	if err := json.Unmarshal(n.Data, &kept); err != nil {
		return kept, fmt.Errorf("read the stored file %s: %w", n.Key, err)
	}
	return kept, nil
}

// storeFiles brings the ledger of some kinds of files in line with the files that were read: it
// stores versions that differ, removes files that are gone, and reports each change once. With
// several replicas, each stores only the changes it saw: see Share.
func (c *Catalog) storeFiles(ctx context.Context, kinds []pipeline.FileKind, all []judged, files Files, now time.Time) error {
	var errs []error
	there, rejected := map[fileKey]bool{}, map[fileKey]bool{}
	for _, j := range all {
		there[j.fileKey] = true
		if len(j.problems) > 0 {
			rejected[fileKey{j.kind, j.file.File}] = true
			errs = append(errs, c.rejectFile(ctx, j, now))
		} else if c.sawChange(j.fileKey, j.file, files.Modified) {
			errs = append(errs, c.swapFile(ctx, j.fileKey, j.file, now))
		}
	}
	for _, key := range sortedKeys(c.ledger.files) {
		kept := c.ledger.files[key]
		there[key] = there[key] || slices.Contains(files.Gone, kept.File)
		if slices.Contains(kinds, key.kind) && !there[key] && c.sawChange(key, pipeline.Source{}, nil) {
			errs = append(errs, c.swapFile(ctx, key, pipeline.Source{}, now))
		}
	}
	for _, key := range sortedKeys(c.ledger.rejected) {
		if slices.Contains(kinds, key.kind) && !rejected[key] && c.ledger.rejected[key] != noRejection {
			errs = append(errs, c.swapRejection(ctx, key, noRejection, now, nil))
		}
	}
	err := errors.Join(errs...)
	if err == nil && c.shared {
		c.noteSeen(kinds, all, there)
	}
	return err
}

// sortedKeys lists the keys of m in order, also if m changes meanwhile.
func sortedKeys[V any](m map[fileKey]V) []fileKey {
	byText := make(map[string]fileKey, len(m))
	for key := range m {
		byText[key.String()] = key
	}
	var all []fileKey
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		all = append(all, byText[text])
	}
	return all
}

// sawChange reports whether a file differs from the ledger and this replica must store that. Without
// a file, it is gone.
func (c *Catalog) sawChange(key fileKey, file pipeline.Source, modified map[string]time.Time) bool {
	kept := c.ledger.files[key]
	if kept.is(file) {
		return false
	}
	if !c.shared {
		return true
	}
	last, known := c.Seen()[key.seen()]
	if known || file.File == "" {
		return known && last != file.Digest()
	}
	at, known := modified[file.File]
	return !known || at.After(kept.At)
}

// seen is the key of a file in Seen. It is no pipeline's id.
func (k fileKey) seen() pipeline.ID { return pipeline.ID(k.String()) }

// noteSeen records the files of some kinds as seen. Rejected files, and those that are gone but may
// come back, stay as they were.
func (c *Catalog) noteSeen(kinds []pipeline.FileKind, all []judged, there map[fileKey]bool) {
	seen := maps.Clone(c.Seen())
	maps.DeleteFunc(seen, func(id pipeline.ID, _ string) bool {
		kind, name, isFile := strings.Cut(string(id), "/")
		key := fileKey{pipeline.FileKind(kind), name}
		return isFile && slices.Contains(kinds, key.kind) && !there[key]
	})
	for _, j := range all {
		if len(j.problems) == 0 {
			seen[j.seen()] = j.file.Digest()
		}
	}
	c.seen.Store(&seen)
}

// swapFile replaces the stored version of a file, or removes it if there is no file, and reports
// that. The note of a removed file stays: one that comes back has another version, so that neither its
// commit nor its event is taken for a repeat. If another replica has stored the same already, it only notes that.
func (c *Catalog) swapFile(ctx context.Context, key fileKey, file pipeline.Source, now time.Time) error {
	err := store.Again(func() error {
		read, err := store.IfFound(c.store.Note(ctx, store.FileNote, keptKey+key.String()))
		if err != nil {
			return err
		}
		before, err := keptIn(read)
		if err != nil {
			return err
		}
		next := keptFile{pipeline.Source{File: file.File, Data: file.Data}, now.UTC()}
		if bytes.Equal(before.Data, next.Data) && before.File != "" && next.File != "" {
			next.At = before.At // it was only moved
		}
		if !before.is(file) {
			b, err := c.fileBatch(ctx, key, read, before, next, now)
			if err != nil {
				return err
			}
			if err := c.store.Commit(ctx, b, now); err != nil {
				return err
			}
		}
		c.ledger.files[key] = next
		if next.File == "" {
			delete(c.ledger.files, key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the change of %s: %w", key, err)
	}
	return nil
}

// fileBatch returns the batch that replaces a version.
func (c *Catalog) fileBatch(ctx context.Context, key fileKey, read store.Note, before, next keptFile, now time.Time) (store.Batch, error) {
	data, err := json.Marshal(next)
	if err != nil {
		return store.Batch{}, err
	}
	note := store.Note{Kind: store.FileNote, Key: keptKey + key.String(), Data: data}
	b := store.Batch{ID: fmt.Sprintf("file/%s/%s/v%d", key, hash(string(data)), read.Version)}
	b.SwapNote(read, note)
	ch := c.changeOf(key, before.Source, next.Source)
	about := event.About{Which: fmt.Sprintf("%s/v%d", key, read.Version), At: now}
	switch {
	case next.File == "":
		b.Emit(event.New(event.ConfigRemoved, about, fmt.Sprintf("%s was removed: %s %s no longer exists", before.File, key.kind, key.name), ch.detail(nil)))
	case ch.moved():
		return b, nil
	default:
		b.Emit(event.New(event.ConfigAccepted, about, fmt.Sprintf("%s is active as %s %s", next.File, key.kind, key.name), ch.detail(nil)))
	}
	return b, c.record(ctx, &b, ch, now)
}

// noRejection is the note of a file that is no longer rejected.
const noRejection = `""`

// rejectFile reports a file with errors: once as long as it has the same errors, also across
// restarts and replicas. A rejected source is also a failure, because its events are lost.
func (c *Catalog) rejectFile(ctx context.Context, j judged, now time.Time) error {
	which := hash(strings.Join(append([]string{j.file.File}, j.problems...), "\n"))
	key := fileKey{j.kind, j.file.File}
	if c.ledger.rejected[key] == strconv.Quote(which) {
		return nil
	}
	kept := c.ledger.files[j.fileKey]
	v := verdict{}
	v.addProblems(j.file.File, j.problems)
	return c.swapRejection(ctx, key, strconv.Quote(which), now, func(b *store.Batch, version int64) error {
		ch := c.changeOf(j.fileKey, kept.Source, j.file)
		ch.problems = v.problems
		about := event.About{Which: fmt.Sprintf("%s/%s/v%d", j.kind, which, version), At: now}
		message := v.refusal() + "; " + standing(j.kind, kept.File != "")
		b.Emit(event.New(event.ConfigRejected, about, message, ch.detail(v.problems)))
		if j.kind == pipeline.SourceFile {
			failure := event.New(event.InfraFailure, about, message, event.Infra{Error: v.problems[0]})
			if kept.File != "" {
				failure = failure.As(event.Warning)
			}
			b.Emit(failure)
		}
		return c.record(ctx, b, ch, now)
	})
}

// standing says which version counts while a file is rejected.
func standing(kind pipeline.FileKind, stays bool) string {
	switch {
	case kind == pipeline.PipelineFile:
		return "its pipeline is unknown"
	case stays:
		return fmt.Sprintf("the last good version of the %s stays active", kind)
	case kind == pipeline.SourceFile:
		return "no version of the source is active, so its events are not read"
	default:
		return fmt.Sprintf("no version of the %s is active", kind)
	}
}

// swapRejection stores what was last reported about a rejected file, together with the report. If
// another replica has stored the same already, nothing is reported.
func (c *Catalog) swapRejection(ctx context.Context, key fileKey, which string, now time.Time, report func(b *store.Batch, version int64) error) error {
	err := store.Again(func() error {
		read, err := store.IfFound(c.store.Note(ctx, store.FileNote, rejectedKey+key.String()))
		if err != nil {
			return err
		}
		if string(read.Data) != which {
			b := store.Batch{ID: fmt.Sprintf("file/%s/rejected/%s/v%d", key, which, read.Version)}
			b.SwapNote(read, store.Note{Kind: store.FileNote, Key: rejectedKey + key.String(), Data: []byte(which)})
			if report != nil {
				if err := report(&b, read.Version); err != nil {
					return err
				}
			}
			if err := c.store.Commit(ctx, b, now); err != nil {
				return err
			}
		}
		c.ledger.rejected[key] = which
		return nil
	})
	if err != nil {
		return fmt.Errorf("report %s: %w", key.name, err)
	}
	return nil
}
