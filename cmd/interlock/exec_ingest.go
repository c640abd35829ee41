package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/artifact"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/run"
)

// harvest is what exec --ingest reads: the result files that its command writes.
type harvest struct {
	tool, path string
	before     map[string]os.FileInfo // the files that existed before the command started
}

// parseHarvests reads the values of --ingest.
func (a *app) parseHarvests(values []string) ([]harvest, error) {
	var all []harvest
	for _, value := range values {
		tool, path, named := strings.Cut(value, "=")
		switch {
		case tool == artifact.ToolDbt && (!named || path != ""):
			path = cmp.Or(path, a.getenv("DBT_TARGET_PATH"), "target")
		case (tool == artifact.ToolExpectations || tool == artifact.ToolSoda) && path != "":
		default:
			return nil, usagef("--ingest %q is not dbt, dbt=DIR, gx=FILE or soda=FILE", value)
		}
		all = append(all, harvest{tool: tool, path: path})
	}
	return all, nil
}

// files lists the paths where the files may be.
func (h harvest) files() []string {
	if h.tool != artifact.ToolDbt {
		return []string{h.path}
	}
	var paths []string
	for _, name := range artifact.DbtFiles {
		paths = append(paths, filepath.Join(h.path, name))
	}
	return paths
}

// remember records which files exist before the command starts.
func (h *harvest) remember() {
	h.before = map[string]os.FileInfo{}
	for _, path := range h.files() {
		if info, err := os.Stat(path); err == nil {
			h.before[path] = info
		}
	}
}

// clockStep is how far the time of a file may lag behind the clock: some file systems store it in
// steps of two seconds.
const clockStep = 2 * time.Second

// written returns the files that were written since the command started. One that was only moved
// there, with the time of an earlier day, is not.
func (h harvest) written(started time.Time) ([]artifact.File, error) {
	var found []artifact.File
	for _, path := range h.files() {
		info, err := os.Stat(path)
		if err != nil || info.ModTime().Before(started.Add(-clockStep)) {
			continue
		}
		if old := h.before[path]; old != nil && os.SameFile(old, info) && old.ModTime().Equal(info.ModTime()) && old.Size() == info.Size() {
			continue
		}
		file, err := readArtifact(path)
		if err != nil {
			return nil, err
		}
		file.Found = true
		found = append(found, file)
	}
	return found, nil
}

// read returns what the files give. An error means that they give nothing, and says why.
func (h harvest) read(started time.Time) (*artifact.Result, error) {
	files, err := h.written(started)
	switch {
	case err != nil:
		return nil, err
	case len(files) == 0 && h.tool == artifact.ToolDbt:
		return nil, fmt.Errorf("the command wrote no %s to %s", strings.Join(artifact.DbtFiles[:3], ", "), h.path)
	case len(files) == 0:
		return nil, fmt.Errorf("the command did not write %s", h.path)
	}
	limits := artifact.Limits{Now: time.Now()}
	switch h.tool {
	case artifact.ToolDbt:
		return artifact.Dbt(files, limits)
	case artifact.ToolSoda:
		return artifact.Soda(files[0], limits)
	default:
		return artifact.GreatExpectations(files[0], "", limits)
	}
}

// gathering is one run of exec --ingest after its command has ended.
type gathering struct {
	*app
	c        *client.Client
	lease    *client.Lease
	readings []artifact.Reading
	told     []string // what went wrong, for people and for the run
}

// uploadLimit is how long it may take to write all readings.
const uploadLimit = time.Minute

var uploadRetries = backoff.Doubling{First: time.Second, Most: uploadLimit}

// gather writes the results of the command as readings, before its result is reported. It returns
// what went wrong, which changes nothing about the result.
func (a *app) gather(ctx context.Context, x execution, lease *client.Lease, started time.Time, signals *signals) string {
	if len(x.harvests) == 0 {
		return ""
	}
	g := &gathering{app: a, c: x.client, lease: lease}
	select {
	case <-lease.Lost():
		g.tell("its artifacts were not written: %v", lease.Why())
	default:
		ctx, cancel := signals.cancels(ctx)
		defer cancel()
		g.collect(ctx, x.harvests, started)
		ctx, late := context.WithTimeout(ctx, uploadLimit)
		defer late()
		g.send(ctx)
	}
	return strings.Join(g.told, "; ")
}

// tell reports a problem to people, and to the run.
func (g *gathering) tell(format string, args ...any) {
	g.told = append(g.told, fmt.Sprintf(format, args...))
	g.note(format, args...)
}

// collect reads the files and lists the readings: those that the files give, and those that lose
// their status because there is no file.
func (g *gathering) collect(ctx context.Context, harvests []harvest, started time.Time) {
	missing := map[string][]string{} // why files do not count, by tool
	results := map[string][]*artifact.Result{}
	for _, h := range harvests {
		result, err := h.read(started)
		if err != nil {
			missing[h.tool] = append(missing[h.tool], err.Error())
			g.tell("no results of %s: %v", h.tool, err)
			continue
		}
		results[h.tool] = append(results[h.tool], result)
	}
	known, err := g.known(ctx)
	if err != nil {
		g.tell("readings of earlier attempts may keep their status: %v", err)
	}
	for _, tool := range []string{artifact.ToolDbt, artifact.ToolExpectations, artifact.ToolSoda} {
		if len(missing[tool])+len(results[tool]) == 0 {
			continue
		}
		var written []artifact.Reading
		for _, result := range results[tool] {
			result.AddLeftOut(known.all)
			written = append(written, result.Readings...)
		}
		reason := cmp.Or(strings.Join(missing[tool], "; "), "the command wrote no such file in this attempt")
		g.readings = append(g.readings, artifact.Worst(written)...)
		g.readings = append(g.readings, artifact.Unproven(tool, len(missing[tool]) == 0, known.stale, written, reason)...)
	}
}

// known is what the server has of the pipeline's readings: the latest of each key, and those that
// otherwise would count for the run although no file of this attempt gives them.
type known struct{ all, stale []artifact.Reading }

// known reads the pipeline's readings. Stale are those of an earlier attempt of this run, and those
// of whole suites of Great Expectations that workers of this pipeline wrote for other periods.
func (g *gathering) known(ctx context.Context) (known, error) {
	var k known
	latest, err := g.c.Sensors(ctx, g.lease.Key.Pipeline, client.Within(requestLimit))
	if err != nil {
		return k, err
	}
	var first *time.Time
	if g.lease.Attempt > 1 {
		detail, err := g.c.Run(ctx, g.lease.Key, client.Within(requestLimit))
		if err != nil {
			return k, err
		}
		first = detail.OpenedAt
		if len(detail.Attempts) > 0 {
			first = detail.Attempts[0].StartedAt
		}
	}
	for _, r := range latest {
		k.all = append(k.all, artifact.Reading{Key: r.Key, Fields: r.Data})
		suite := artifact.IsSuite(r.Key) && g.own(r, false)
		if first != nil && !g.own(r, true) && !r.UpdatedAt.Before(*first) { // a later write hides that of an earlier attempt
			if r, err = g.c.Sensor(ctx, g.lease.Key.Pipeline, r.Key, g.lease.Key.Date, client.Within(requestLimit)); err != nil {
				return k, err
			}
		}
		if suite || g.own(r, true) {
			k.stale = append(k.stale, artifact.Reading{Key: r.Key, Fields: r.Data})
		}
	}
	return k, nil
}

// own reports whether a worker of the pipeline's schedule wrote a reading with its permit; with
// sameRun, in an earlier attempt of this run.
func (g *gathering) own(r client.Reading, sameRun bool) bool {
	if r.Source == nil {
		return false
	}
	_, id, found := strings.Cut(*r.Source, "attempt ")
	of, attempt, err := run.ParseAttemptID(strings.TrimSuffix(id, ")"))
	if !found || err != nil || string(of.Pipeline) != g.lease.Key.Pipeline || string(of.Schedule) != g.lease.Key.Schedule {
		return false
	}
	return !sameRun || of.Period.String() == g.lease.Key.Date && attempt < g.lease.Attempt
}

// requestLimit is how long a request of exec may take.
const requestLimit = 10 * time.Second

// send writes the readings with the permit of the attempt. A reading that the server rejects is left
// out. It retries a server that cannot be reached until ctx ends.
func (g *gathering) send(ctx context.Context) {
	for part := range slices.Chunk(g.readings, maxSent) {
		for len(part) > 0 {
			err := g.put(ctx, part)
			if err == nil {
				break
			}
			at, rejected := rejectedAt(err, len(part))
			if !rejected {
				g.tell("could not write %s of its artifacts: %v", plural(len(part), "reading"), err)
				return
			}
			g.tell("could not write a reading of its artifacts: %v", ofReading(err, part))
			part = slices.Delete(slices.Clone(part), at, at+1)
		}
	}
}

// put writes readings, all or none.
func (g *gathering) put(ctx context.Context, readings []artifact.Reading) error {
	var writes []client.SensorWrite
	for _, r := range readings {
		writes = append(writes, client.SensorWrite{Pipeline: g.lease.Key.Pipeline, Key: r.Key + "#" + g.lease.Key.Date, Data: r.Fields, Source: "interlock exec"})
	}
	for failures := 1; ; failures++ {
		_, err := g.c.PutSensors(ctx, writes, client.Permit(g.lease.Permit), client.Within(uploadLimit))
		problem, answered := errors.AsType[*client.Problem](err)
		if err == nil || ctx.Err() != nil || answered && problem.Status < http.StatusInternalServerError && problem.Status != http.StatusTooManyRequests {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(uploadRetries.After(failures)):
		}
	}
}

// rejectedAt returns which of n readings the server rejected.
func rejectedAt(err error, n int) (at int, ok bool) {
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || len(problem.Errors) != 1 {
		return 0, false
	}
	_, err = fmt.Sscanf(problem.Errors[0].Location, "body[%d]", &at)
	return at, err == nil && at >= 0 && at < n
}
