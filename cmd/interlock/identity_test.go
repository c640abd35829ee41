package main

import (
	"bytes"
	"sync"
	"testing"

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
