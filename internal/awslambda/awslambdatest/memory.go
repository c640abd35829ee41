package awslambdatest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/store/record"
)

// group is the router's consumer group of the change feed.
const group = "router"

// Memory stands in for the tables: a store in memory, and a stream of the records that its commits
// would produce.
type Memory struct {
	data  *memory.Store
	files dynamo.Files
	// Kill, if set, decides whether the function that makes the n-th commit dies before or after
	// it.
	Kill         func(n int) (before, after bool)
	made         int
	life, buried int

	mu         sync.Mutex
	records    []streamed // not handled yet
	last       int
	bySequence map[string]streamed // by sequence number
}

// streamed is one record of the stream.
type streamed struct {
	sequence string
	removed  string // the partition key of a removed file
	notice   dynamo.Notice
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{data: memory.New(), bySequence: map[string]streamed{}} }

// Store returns the store.
func (m *Memory) Store() store.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	return tapped{m.data, m, m.life}
}

// Streams returns the reader of its records.
func (m *Memory) Streams() awslambda.Streams { return m }

// tapped is a store whose commits appear in the stream.
type tapped struct {
	*memory.Store
	streams *Memory
	life    int // generation in which it was opened: after a kill, calls of that generation fail
}

func (s tapped) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	before, after := s.streams.kills(s.life)
	if before {
		return ErrKilled
	}
	if err := s.Store.Commit(ctx, b, now); err != nil {
		return err
	}
	for _, t := range b.Tasks {
		if b.Awaited && (b.Lease == nil || t.ID == b.Lease.Task) {
			if stored, err := s.Task(ctx, t.ID); err != nil || stored.Due.Equal(t.Due) {
				continue // unchanged since it was claimed
			}
		}
		s.streams.add(dynamo.Notice{Pipeline: t.Pipeline, Task: t.ID})
	}
	if len(b.Events) > 0 {
		outbox := &dynamo.Outbox{}
		for _, e := range b.Events {
			stored, err := record.StoredEvent(e)
			if err != nil {
				return err
			}
			outbox.Events = append(outbox.Events, stored)
		}
		s.streams.add(dynamo.Notice{Pipeline: b.Events[0].Detail.Pipeline, Outbox: outbox})
	}
	if err := s.streams.changes(ctx); err != nil {
		return err
	}
	if after {
		return ErrKilled
	}
	return nil
}

// ErrKilled is the error of a killed function.
var ErrKilled = errors.New("the function was killed")

func (m *Memory) kills(life int) (before, after bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if life != m.life {
		return true, true
	}
	m.made++
	if m.Kill != nil {
		before, after = m.Kill(m.made)
	}
	if before || after {
		m.life++
	}
	return before, after
}

// Died reports whether functions were killed since the last call. They then have to be rebuilt.
func (m *Memory) Died() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	died := m.life != m.buried
	m.buried = m.life
	return died
}

func (s tapped) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	s.streams.mu.Lock()
	dead := s.life != s.streams.life
	s.streams.mu.Unlock()
	if dead {
		return nil, ErrKilled
	}
	return s.Store.Claim(ctx, q, now)
}

func (s tapped) Release(ctx context.Context, leases []store.Lease, now time.Time) error {
	s.streams.mu.Lock()
	dead := s.life != s.streams.life
	s.streams.mu.Unlock()
	if dead {
		return ErrKilled
	}
	return s.Store.Release(ctx, leases, now)
}

func (s tapped) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	puts, err := s.Store.PutReadings(ctx, writes, now)
	if err != nil {
		return nil, err
	}
	return puts, s.streams.changes(ctx)
}

// changes appends the pending changes of the feed to the stream.
func (m *Memory) changes(ctx context.Context) error {
	n, _, err := m.data.Backlog(ctx, group)
	if err != nil || n == 0 {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	held := 0
	for _, r := range m.records {
		if r.notice.Change != nil {
			held++
		}
	}
	m.mu.Unlock()
	if held >= n {
		return nil
	}
	changes, err := m.data.Receive(ctx, group, "stream", store.MaxPage)
	if err != nil {
		return err
	}
	for _, c := range changes {
		m.add(dynamo.Notice{Pipeline: c.Pipeline, Change: &c})
	}
	return nil
}

func (m *Memory) add(n dynamo.Notice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	r := streamed{sequence: strconv.Itoa(m.last), notice: n}
	m.bySequence[r.sequence] = r
	m.records = append(m.records, r)
}

// batchSize is that of the event source mappings.
const batchSize = 10

// Batch returns the oldest records.
func (m *Memory) Batch() []json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []json.RawMessage
	for _, r := range m.records[:min(batchSize, len(m.records))] {
		kind, keys := "INSERT", "{}"
		if r.removed != "" {
			kind, keys = "REMOVE", fmt.Sprintf(`{"PK": {"S": %q}, "SK": {"S": "CONFIG"}}`, r.removed)
		}
		all = append(all, fmt.Appendf(nil, `{"eventName": %q, "dynamodb": {"SequenceNumber": %q, "Keys": %s}}`, kind, r.sequence, keys))
	}
	return all
}

// Handled removes the n oldest records.
func (m *Memory) Handled(n int) {
	m.mu.Lock()
	done := m.records[:n]
	m.records = m.records[n:]
	m.mu.Unlock()
	var changes []store.Change
	for _, r := range done {
		if r.notice.Change != nil {
			changes = append(changes, *r.notice.Change)
		}
	}
	_ = m.data.Done(context.Background(), group, changes) // cannot fail before the store is closed
}

// Notice decodes a record.
func (m *Memory) Notice(r awslambda.Record) (dynamo.Notice, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bySequence[r.Change.Sequence].notice, nil
}

// PutProduced stores a reading; its change arrives through the stream.
func (m *Memory) PutProduced(ctx context.Context, p record.Produced) (*store.Change, error) {
	_, err := m.Store().PutReadings(ctx, []store.Write{p.Write}, p.At)
	return nil, err
}

// Unread returns nothing: no record is lost here.
func (m *Memory) Unread(context.Context, pipeline.ID, time.Time) ([]record.Produced, error) {
	return nil, nil
}

// Files returns the files that were put last.
func (m *Memory) Files(context.Context) (dynamo.Files, error) { return m.files, nil }

// Outboxes returns nothing: no record is lost here.
func (m *Memory) Outboxes(context.Context, time.Time, int) ([]dynamo.Outbox, error) { return nil, nil }

// Relayed does nothing: the record of an outbox is handled once.
func (m *Memory) Relayed(context.Context, dynamo.Outbox, time.Time) error { return nil }

// PutFiles replaces all files.
func (m *Memory) PutFiles(f catalog.Files) error {
	old := m.files
	m.files = dynamo.Files{Pipelines: named("pipeline", f.Pipelines), Calendars: named("calendar", f.Calendars), Archetypes: named("archetype", f.Archetypes), Sources: named("source", f.Sources)}
	for _, src := range slices.Concat(m.files.Calendars, m.files.Archetypes, m.files.Pipelines, m.files.Sources) {
		m.add(dynamo.Notice{File: &src})
	}
	still := map[string]bool{}
	for _, src := range slices.Concat(m.files.Pipelines, m.files.Sources) {
		still[src.File] = true
	}
	for _, src := range slices.Concat(old.Pipelines, old.Sources) {
		if kind, name, _ := strings.Cut(src.File, "/"); !still[src.File] {
			m.remove(strings.ToUpper(kind) + "#" + name)
		}
	}
	return nil
}

// named returns files under the names that rows use.
func named(kind string, files []pipeline.Source) (rows []pipeline.Source) {
	for _, src := range files {
		rows = append(rows, pipeline.Source{File: kind + "/" + strings.TrimSuffix(src.File, ".yaml"), Data: src.Data})
	}
	return rows
}

// remove appends the record of a deleted file row.
func (m *Memory) remove(pk string) {
	m.add(dynamo.Notice{})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[len(m.records)-1].removed = pk
}

// PutSensor writes a sensor's row.
func (m *Memory) PutSensor(id pipeline.ID, key string, fields sensor.Fields, now time.Time) error {
	name, suffix, err := sensor.ExternalKey(key)
	if err != nil {
		return err
	}
	date, err := sensor.PeriodOf(fields, suffix)
	if err != nil {
		return err
	}
	write := store.Write{Pipeline: id, Reading: sensor.Reading{Key: name, Period: date, Fields: fields}}
	m.add(dynamo.Notice{Pipeline: id, Sensor: &record.Produced{Row: "SENSOR#" + key, Write: write, At: now}})
	return nil
}
