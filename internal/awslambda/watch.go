package awslambda

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
)

// Watch is the watchdog function: it looks for missed work and relays tasks that no function
// carried out.
type Watch struct {
	*Router
	// Beat, if set, notifies an external monitor of each healthy pass.
	Beat func(ctx context.Context) error
}

// NewWatch returns a watchdog over r.
func NewWatch(r *Router) *Watch { return &Watch{Router: r} }

// WatchReply is what one pass found.
type WatchReply struct {
	Findings map[string]int `json:"findings"`
	Probes   int            `json:"probes"` // tasks of probes
}

// Pass checks everything once. It returns the errors of failed checks after all others are done.
func (w *Watch) Pass(ctx context.Context) (WatchReply, error) {
	if err := errors.Join(w.Catalog.Load(ctx), w.Catalog.LoadSources(ctx)); err != nil {
		return WatchReply{}, err
	}
	lost, unread := w.recoverSensors(ctx)
	report, err := w.controller.Watch(ctx)
	report.Findings[lostSensors] = lost
	for check, n := range report.Findings {
		w.Meter.Gauge(metricFindings, float64(n), count, "check", check)
	}
	probes, unasked := w.askProbes(ctx)
	return WatchReply{Findings: report.Findings, Probes: probes}, errors.Join(unread, err, unasked)
}

// retention is how long history is kept. Events expire by their time to live.
var retention = store.Retention{History: 30 * 24 * time.Hour, JobLog: 30 * 24 * time.Hour}

const (
	mostSteps = 20               // deletion steps per call: the next call continues
	spare     = 20 * time.Second // the time that one step may take
)

// RoundReply is what one call of the watchdog found, and how many rows it deleted.
type RoundReply struct {
	WatchReply
	Forgotten int `json:"forgotten"`
}

// Round answers one call of the watchdog: it checks everything once and deletes rows older than
// their retention.
func (w *Watch) Round(ctx context.Context) (RoundReply, error) {
	began := w.Now()
	found, err := w.Pass(ctx)
	forgotten, failed := w.forget(ctx)
	err = errors.Join(err, failed)
	if err == nil && w.Beat != nil {
		err = w.Beat(ctx)
	}
	w.Meter.since(metricTick, began, err, "name", string(Watchdog))
	return RoundReply{WatchReply: found, Forgotten: forgotten}, err
}

// forget deletes in small steps while time remains.
func (w *Watch) forget(ctx context.Context) (all int, err error) {
	for range mostSteps {
		if end, is := ctx.Deadline(); is && end.Sub(w.Now()) < spare {
			return all, nil
		}
		n, err := w.Store.Trim(ctx, retention, w.Now())
		all += n
		if err != nil {
			return all, fmt.Errorf("delete old history: %w", err)
		}
		if n == 0 {
			return all, nil
		}
	}
	return all, nil
}

// mostRead is how many pipelines' sensors one pass reads. A larger deployment is read in turns.
const mostRead = 1000

// lostSensors is the name of this check in the findings of a pass.
const lostSensors = "lost-sensors"

// recoverSensors reads the producers' rows itself and acts on those whose records the stream gave
// up. It returns their number. If one pipeline cannot be read, the others still are.
//
// A row that was just written is unread, too, until the stream delivers its record; and a row may
// change between the read of the row and that of its reading. So only rows count that already had
// the same contents, unread, at the pass before. A note remembers them: the next pass may be another
// container's.
func (w *Watch) recoverSensors(ctx context.Context) (int, error) {
	entries := w.inTurn(w.Now())
	var found atomic.Int64
	err := store.Together(len(entries), lookers, func(i int) error {
		n, err := w.recoverSensorsOf(ctx, entries[i])
		found.Add(int64(n))
		if err != nil {
			return fmt.Errorf("%s: %s: %w", lostSensors, entries[i].ID, err)
		}
		return nil
	})
	return int(found.Load()), err
}

// inTurn returns the pipelines whose turn it is.
func (w *Watch) inTurn(now time.Time) []*catalog.Entry {
	all := w.Catalog.Current().All()
	if len(all) <= mostRead {
		return all
	}
	turns := int(w.interval() / w.Settings.Watch)
	first := int(now.Unix()/int64(w.Settings.Watch.Seconds())) % turns * mostRead
	return all[first:min(first+mostRead, len(all))]
}

// interval is how long after one pass the sensors of a pipeline are read again.
func (w *Watch) interval() time.Duration {
	turns := (len(w.Catalog.Current().All()) + mostRead - 1) / mostRead
	return time.Duration(max(turns, 1)) * w.Settings.Watch
}

func (w *Watch) recoverSensorsOf(ctx context.Context, e *catalog.Entry) (int, error) {
	unread, err := w.Streams.Unread(ctx, e.ID, w.Now())
	if err != nil {
		return 0, err
	}
	if len(unread) == 0 {
		return 0, nil
	}
	lost, err := w.stillUnread(ctx, e.ID, unread)
	for _, p := range lost {
		err = errors.Join(err, w.recoverSensor(ctx, p))
	}
	return len(lost), err
}

// firstUnread is when a pass first found a row unread with its contents.
type firstUnread struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// stillUnread returns the rows that had the same contents, unread, half an interval ago or longer, and
// notes all of them for the next pass. An older note than that of the last pass says nothing: the row may
// have been delivered since. If another call has written the note meanwhile, that one acts.
func (w *Watch) stillUnread(ctx context.Context, id pipeline.ID, unread []record.Produced) (lost []record.Produced, err error) {
	now, before := w.Now(), map[string]firstUnread{}
	read, err := store.IfFound(w.Store.Note(ctx, store.UnreadNote, string(id)))
	if err == nil && read.Until.After(now) {
		err = json.Unmarshal(read.Data, &before)
	}
	if err != nil {
		return nil, fmt.Errorf("read which rows were unread: %w", err)
	}
	next := map[string]firstUnread{}
	for _, p := range unread {
		first := before[p.Row]
		if first.Digest != p.Digest {
			first = firstUnread{p.Digest, now}
		} else if now.Sub(first.At) >= w.interval()/2 {
			lost = append(lost, p)
		}
		next[p.Row] = first
	}
	data, err := json.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("note which rows are unread: %w", err)
	}
	b := store.Batch{ID: fmt.Sprintf("unread/%s/%d/%s", id, read.Version, rand.Text())}
	b.SwapNote(read, store.Note{Kind: store.UnreadNote, Key: string(id), Data: data, Until: now.Add(w.interval() * 3 / 2)})
	switch err := w.Store.Commit(ctx, b, now); {
	case errors.Is(err, store.ErrConflict):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("note which rows are unread: %w", err)
	}
	return lost, nil
}

// recoverSensor stores a row as a reading and has its consumers react as to a missed one.
func (w *Watch) recoverSensor(ctx context.Context, p record.Produced) error {
	c, err := w.reading(ctx, p)
	if err != nil || c == nil {
		return err
	}
	for _, reader := range w.Catalog.Current().Readers(c.Pipeline, c.Sensor) {
		err = errors.Join(err, w.controller.Router.Recover(ctx, reader.ID, *c, w.Now()))
	}
	return err
}
