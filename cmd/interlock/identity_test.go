package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

func TestReplicasShareTheKeyOfCursors(t *testing.T) {
	s := memory.New()
	var all [8][]byte
	var replicas sync.WaitGroup
	for i := range all {
		replicas.Go(func() {
			key, err := cursorKey(t.Context(), s)
			if err != nil {
				t.Error(err)
			}
			all[i] = key
		})
	}
	replicas.Wait()
	for _, key := range all {
		if len(key) != 32 || !bytes.Equal(key, all[0]) {
			t.Errorf("replicas have different keys: %x and %x", key, all[0])
		}
	}
}

// overtaken is a store in which another process acts before the next commit.
type overtaken struct {
	*memory.Store
	other func()
}

func (s *overtaken) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if other := s.other; other != nil {
		s.other = nil
		other()
	}
	return s.Store.Commit(ctx, b, now)
}

// A replica whose data directory was replaced starts while its predecessor is starting, too.
func TestKeyOfTheReplicaThatPublishedLastIsStored(t *testing.T) {
	s := &overtaken{Store: memory.New()}
	named := func(seed byte) identity {
		return identity{replica: "a", callback: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
	}
	publish := func(to store.Store, who identity) {
		if err := publishKey(t.Context(), to, who); err != nil {
			t.Error(err)
		}
	}
	s.other = func() { publish(s.Store, named(1)) }
	publish(s, named(2))
	note, err := s.Note(t.Context(), store.KeyNote, "a")
	if want := named(2).callback.Public().(ed25519.PublicKey); err != nil || !want.Equal(ed25519.PublicKey(note.Data)) {
		t.Errorf("stored %x, %v, want %x", note.Data, err, want)
	}
}
