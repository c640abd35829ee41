package memory

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-go/interlock/internal/store"
)

// frozen is a record as the other stores keep it too: as JSON. What comes out shares nothing with what went in.
type frozen[T any] struct {
	version int64 // of a record that is swapped
	text    []byte
}

func freeze[T any](v T, version int64) (frozen[T], error) {
	text, err := json.Marshal(v)
	if err != nil {
		return frozen[T]{}, fmt.Errorf("keep %T: %w", v, err)
	}
	return frozen[T]{version: version, text: text}, nil
}

func (f frozen[T]) thaw() (T, error) {
	var v T
	if err := json.Unmarshal(f.text, &v); err != nil {
		return v, fmt.Errorf("read %T: %w", v, err)
	}
	return v, nil
}

// find reads one frozen record.
func find[K comparable, T any](from map[K]frozen[T], key K) (T, error) {
	f, there := from[key]
	if !there {
		var none T
		return none, store.ErrNotFound
	}
	return f.thaw()
}

// freezeAll freezes what a Batch carries of one kind, each with its version.
func freezeAll[S, T any](items []S, record func(S) (T, int64)) ([]frozen[T], error) {
	out := make([]frozen[T], 0, len(items))
	for _, item := range items {
		f, err := freeze(record(item))
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// ice is the part of a Batch that is kept frozen. It is made before anything is changed, since it can fail.
type ice struct {
	pipelines []frozen[store.Pipeline]
	postRuns  []frozen[store.PostRun]
	notes     []frozen[store.Note]
	configs   []frozen[store.Config]
	snapshots []frozen[store.Snapshot]
}

func newIce(b store.Batch) (i ice, err error) {
	if i.pipelines, err = freezeAll(b.Pipelines, func(s store.Swap[store.Pipeline]) (store.Pipeline, int64) {
		return s.Next, s.Next.Version
	}); err != nil {
		return i, err
	}
	if i.postRuns, err = freezeAll(b.PostRuns, func(s store.Swap[store.PostRun]) (store.PostRun, int64) {
		return s.Next, s.Next.Version
	}); err != nil {
		return i, err
	}
	if i.notes, err = freezeAll(b.Notes, func(s store.Swap[store.Note]) (store.Note, int64) {
		return s.Next, s.Next.Version
	}); err != nil {
		return i, err
	}
	if i.configs, err = freezeAll(b.Configs, func(c store.Config) (store.Config, int64) { return c, 0 }); err != nil {
		return i, err
	}
	i.snapshots, err = freezeAll(b.Snapshots, func(s store.Snapshot) (store.Snapshot, int64) { return s, 0 })
	return i, err
}
