package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
)

func TestABackupOfALiveStoreIsAStore(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=1000")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	copied := filepath.Join(t.TempDir(), "copy", "interlock.db")
	if err := os.Mkdir(filepath.Dir(copied), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := must(t, 0, "backup", copied, "--data", s.data); got.stdout != copied+" is a copy of the store in "+s.data+"\n" {
		t.Errorf("got %+v", got)
	}
	s.must(0, "sensor", "set", "orders", "landed#2026-03-04", "complete=true", "count=1000")
	s.reaches("orders/stream/2026-03-04", client.Completed)

	restored := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}, data: filepath.Dir(copied)})
	if got := restored.must(0, "runs").stdout; !in(got, "orders/stream/2026-03-03  COMPLETED") || strings.Contains(got, "2026-03-04") {
		t.Errorf("got\n%s", got)
	}
	if got := restored.must(0, "sensor", "get", "orders", "landed").stdout; !strings.Contains(got, `{"complete":true,"count":1000}`) {
		t.Errorf("got\n%s", got)
	}
}

func TestABackupHarmsNothing(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	there := write(t, "precious.db", "mine")
	if got := must(t, 2, "backup", there, "--data", s.data); !in(got.stderr, there, "file already exists; choose another name, or delete it first") {
		t.Errorf("got %+v", got)
	}
	if kept, err := os.ReadFile(there); err != nil || string(kept) != "mine" {
		t.Errorf("the file is now %q, %v", kept, err)
	}
	for _, args := range [][]string{
		{filepath.Join(t.TempDir(), "b.db"), "--data", filepath.Join(t.TempDir(), "gone")},
		{filepath.Join(t.TempDir(), "gone", "b.db"), "--data", s.data},
	} {
		if got := must(t, 2, append([]string{"backup"}, args...)...); !strings.Contains(got.stderr, "gone") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestBackupFindsTheStoreOfTheServersFile(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	dir := t.TempDir()
	t.Chdir(dir)
	if got := must(t, 2, "backup", "b.db"); !strings.Contains(got.stderr, "interlock-data") {
		t.Errorf("got %+v", got)
	}
	if err := os.WriteFile("interlock.yaml", []byte("data: "+s.data+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := must(t, 0, "backup", "b.db"); !strings.Contains(got.stdout, s.data) {
		t.Errorf("got %+v", got)
	}
}

func TestBackupOfRedisIsRejected(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("interlock.yaml", []byte("store: redis://cache.internal:6379/0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := must(t, 2, "backup", "copy.db"); !in(got.stderr, "the store is a Redis", "BGSAVE", "--data DIR") {
		t.Errorf("got %+v", got)
	}
}
