package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Trouble is a folder whose files cannot be trusted: it cannot be read, or it lost so many files at
// once that a lost mount is more likely than an intended removal. All active versions stay active.
type Trouble struct {
	Folder    string
	Message   string
	Since     time.Time
	Lost      bool          // the removal of Pipelines waits for the files, or for AcceptRemoval
	Pipelines []pipeline.ID // whose files cannot be read, sorted
}

// ErrNothingLost is returned by AcceptRemoval if no removal is waiting.
var ErrNothingLost = errors.New("there is no removal to accept: no directory has lost files")

// fewFiles is the number of files below which a folder may lose all of them at once.
const fewFiles = 4

// Troubles lists the folders whose files cannot be trusted. The list must not be changed.
func (c *Catalog) Troubles() []Trouble {
	if all := c.troubles.Load(); all != nil {
		return *all
	}
	return nil
}

// TroubleOf returns the trouble that affects a pipeline's file, if any.
func (c *Catalog) TroubleOf(id pipeline.ID) (Trouble, bool) {
	for _, t := range c.Troubles() {
		if _, found := slices.BinarySearch(t.Pipelines, id); found {
			return t, true
		}
	}
	return Trouble{}, false
}

// Unreadable records that a folder cannot be read and why, or, if cause is nil, that all folders
// can be read. Each change is reported once, as INFRA_ALARM.
func (c *Catalog) Unreadable(ctx context.Context, folder string, cause error, now time.Time) error {
	if cause == nil && !slices.ContainsFunc(c.Troubles(), func(t Trouble) bool { return !t.Lost }) {
		return nil
	}
	c.lock()
	defer c.change.Unlock()
	wanted := slices.DeleteFunc(slices.Clone(c.Troubles()), func(t Trouble) bool { return !t.Lost })
	if cause != nil {
		t := Trouble{
			Folder: folder, Since: period.Instant(now),
			Message: fmt.Sprintf("%v; the active versions stay active, and no file change takes effect", cause),
		}
		for _, e := range c.Current().All() {
			if InFolder(folder, e.File) {
				t.Pipelines = append(t.Pipelines, e.ID)
			}
		}
		wanted = append(wanted, t)
	}
	return c.setTroubles(ctx, wanted, func(t Trouble) string { return fmt.Sprintf("the files in %s can be read again", t.Folder) }, now)
}

// AcceptRemoval removes the pipelines whose files were lost, and returns them. If there are none,
// it changes nothing and returns ErrNothingLost.
func (c *Catalog) AcceptRemoval(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error) {
	c.lock()
	defer c.change.Unlock()
	rows, err := c.rows(ctx)
	if err != nil {
		return nil, err
	}
	held := c.held()
	if len(held) == 0 {
		return nil, ErrNothingLost
	}
	var verdicts []verdict
	for _, id := range slices.Sorted(maps.Keys(held)) {
		verdicts = append(verdicts, verdict{id: id})
	}
	report, _, err := c.storeVerdicts(ctx, verdicts, rows, now)
	if c.shared {
		seen := maps.Clone(c.Seen())
		for _, id := range report.Removed {
			delete(seen, id)
		}
		c.seen.Store(&seen)
	}
	rows, err = c.again(ctx, rows, err)
	err = errors.Join(err, c.load(ctx, rows, nil))
	if err == nil {
		wanted := slices.DeleteFunc(slices.Clone(c.Troubles()), func(t Trouble) bool { return t.Lost })
		err = c.setTroubles(ctx, wanted, func(t Trouble) string {
			return fmt.Sprintf("%s accepted the removal of %d pipelines of %s: %s", by, len(t.Pipelines), t.Folder, why)
		}, now)
	}
	return report.Removed, err
}

// held returns the pipelines whose removal is waiting.
func (c *Catalog) held() map[pipeline.ID]bool {
	held := map[pipeline.ID]bool{}
	for _, t := range c.Troubles() {
		for _, id := range t.Pipelines {
			held[id] = held[id] || t.Lost
		}
	}
	maps.DeleteFunc(held, func(_ pipeline.ID, lost bool) bool { return !lost })
	return held
}

// holdLost marks the verdicts whose removal must wait, and returns the folders that lost their
// files: more than half of at least four, not counting pipelines that have moved to another file,
// or all of them, unless the folder is still the same directory. Lost files stay lost until they
// are back, however many files the folder has by then. While files that disappeared a moment ago
// could push the folder over this limit, the removal of the others waits for them.
func (c *Catalog) holdLost(verdicts []verdict, files Files, now time.Time) []Trouble {
	if len(files.Folders) == 0 {
		return nil
	}
	folders := c.count(files)
	before := c.held()
	lost := map[string][]*verdict{}
	for i := range verdicts {
		if v := &verdicts[i]; c.lostFile(*v, folders) {
			folder := folderOf(files.Folders, c.Current().Get(v.id).File)
			lost[folder] = append(lost[folder], v)
		}
	}
	var all []Trouble
	for name, those := range lost {
		f := folders.byName[name]
		t := Trouble{Folder: name, Since: period.Instant(now), Lost: true}
		for _, v := range those {
			stays := before[v.id]
			if v.held = stays || f.mayLose(len(those)); !v.held || !stays && !f.lost(len(those)) {
				continue
			}
			t.Pipelines = append(t.Pipelines, v.id)
		}
		if len(t.Pipelines) == 0 {
			continue
		}
		slices.Sort(t.Pipelines)
		t.Message = fmt.Sprintf("%d of %d pipeline files in %s are missing; nothing is removed until they are back, or `interlock config accept-removal` accepts it",
			len(t.Pipelines), f.known, name)
		all = append(all, t)
	}
	return all
}

// lostFile reports whether a pipeline is active and its file, which this process saw, is gone.
func (c *Catalog) lostFile(v verdict, in folders) bool {
	if v.definition != nil || v.problems != nil || c.shared && c.Seen()[v.id] == "" {
		return false
	}
	e := c.Current().Get(v.id)
	return e != nil && !in.files[e.File]
}

// folders holds the files that exist, and the counts of each folder.
type folders struct {
	files  map[string]bool
	byName map[string]*folder
}

type folder struct {
	known int // active pipelines read from it
	there int // files in it
	gone  int // files that disappeared a moment ago
	same  bool
}

// lost reports whether losing n files is more likely an accident than intended.
func (f *folder) lost(n int) bool { return f.emptied() && f.gone == 0 || f.most(n) }

// mayLose is lost on the assumption that the files that disappeared a moment ago do not come back.
func (f *folder) mayLose(n int) bool { return f.emptied() || f.most(n+f.gone) }

// emptied reports whether another, empty directory is in the place of the folder, as where a mount
// is lost.
func (f *folder) emptied() bool { return f.there == 0 && !f.same }

func (f *folder) most(n int) bool { return f.known >= fewFiles && 2*n > f.known }

func (c *Catalog) count(files Files) folders {
	all := folders{files: make(map[string]bool, len(files.Pipelines)), byName: map[string]*folder{}}
	of := func(file string) *folder {
		name := folderOf(files.Folders, file)
		if all.byName[name] == nil {
			all.byName[name] = &folder{same: slices.Contains(files.Same, name)}
		}
		return all.byName[name]
	}
	for _, src := range files.Pipelines {
		all.files[src.File] = true
		if src.Gone {
			of(src.File).gone++
		} else {
			of(src.File).there++
		}
	}
	for _, e := range c.Current().All() {
		of(e.File).known++
	}
	return all
}

// setLost reports the folders that lost their files, and those whose files are back.
func (c *Catalog) setLost(ctx context.Context, lost []Trouble, now time.Time) error {
	wanted := slices.DeleteFunc(slices.Clone(c.Troubles()), func(t Trouble) bool { return t.Lost })
	return c.setTroubles(ctx, append(wanted, lost...), func(t Trouble) string { return fmt.Sprintf("the files in %s are back", t.Folder) }, now)
}

// setTroubles replaces the current troubles with wanted. It emits INFRA_ALARM for each new one and,
// with the message from over, for each that has ended.
func (c *Catalog) setTroubles(ctx context.Context, wanted []Trouble, over func(Trouble) string, now time.Time) error {
	slices.SortFunc(wanted, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Message, b.Message))
	})
	present := c.Troubles()
	for i, t := range wanted {
		if at := slices.IndexFunc(present, t.continues); at >= 0 {
			wanted[i].Since = present[at].Since
		} else if err := c.alarm(ctx, t, "ALARM", t.Message, now); err != nil {
			return err
		}
	}
	for _, t := range present {
		if !slices.ContainsFunc(wanted, t.continues) {
			if err := c.alarm(ctx, t, "OK", over(t), now); err != nil {
				return err
			}
		}
	}
	c.troubles.Store(&wanted)
	return nil
}

// continues reports whether two troubles are the same one at different times.
func (t Trouble) continues(other Trouble) bool {
	return t.Folder == other.Folder && t.Lost == other.Lost
}

func (c *Catalog) alarm(ctx context.Context, t Trouble, state, message string, now time.Time) error {
	name := "files in " + t.Folder
	which := fmt.Sprintf("%s %s since %s", name, state, t.Since.Format(time.RFC3339Nano))
	b := store.Batch{ID: "config/alarm/" + hash(which)}
	b.Emit(event.New(event.InfraAlarm, event.About{Which: which, At: now}, message, event.Alarm{Alarm: name, State: state}))
	if err := c.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("report the state of the %s: %w", name, err)
	}
	return nil
}

// folderOf returns the folder that a file was read from, or "" if it is in none of them.
func folderOf(folders []string, file string) string {
	for _, folder := range folders {
		if InFolder(folder, file) {
			return folder
		}
	}
	return ""
}

// InFolder reports whether a file was read from a folder, or is that path itself.
func InFolder(folder, file string) bool {
	dir, name := path.Clean(filepath.ToSlash(folder)), path.Clean(filepath.ToSlash(file))
	if dir == "." {
		return !path.IsAbs(name) && !strings.HasPrefix(name, "../")
	}
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
