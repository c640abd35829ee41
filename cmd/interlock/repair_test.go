package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRepairSaysWhatItSaved(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	s.must(0, "sensor", "set", "shelf", "facts", "n=1")
	if got := interlock("repair", "--data", s.data); got.code != 2 || !in(got.stderr, "in use") {
		t.Errorf("a store that is in use: %+v", got)
	}
	s.stop()
	if got := interlock("repair", "--data", s.data); got.code != 0 || !in(got.stdout, "is not damaged; nothing was changed") {
		t.Errorf("an undamaged store: %+v", got)
	}

	// As after a crash, and without the write-ahead log.
	if err := os.WriteFile(filepath.Join(s.data, "interlock.db-open"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.data, "interlock.db-wal")); err != nil {
		t.Fatal(err)
	}
	got := interlock("repair", "--data", s.data)
	if got.code != 0 || !in(got.stdout, "is damaged: the write-ahead log", "TABLE", "rows", "is kept as") {
		t.Errorf("a store without its log: %+v", got)
	}
	again := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}, data: s.data})
	if got := again.must(0, "sensor", "get", "shelf", "facts"); !in(got.stdout, "n") {
		t.Errorf("the reading is gone: %+v", got)
	}
	if got := interlock("repair", "--data", t.TempDir()); got.code == 0 {
		t.Errorf("an empty directory: %+v", got)
	}
}
