package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOwnCgroupIsBelowTheMountOfVersion2(t *testing.T) {
	const unified = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
	const hybrid = "40 30 0:35 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 30 0:36 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for _, tt := range []struct{ mounts, groups, want string }{
		{unified, "0::/system.slice/interlock.service/server\n", "/sys/fs/cgroup/system.slice/interlock.service/server"},
		{hybrid, "9:memory:/user\n0::/user/session\n", "/sys/fs/cgroup/unified/user/session"},
		{"40 30 0:35 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "9:memory:/user\n", ""},
		{unified, "9:memory:/user\n", ""},
	} {
		if got := ownCgroup(tt.mounts, tt.groups); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestLimitsAreWrittenWhereTheGroupHasThem uses a directory in place of a control group.
func TestLimitsAreWrittenWhereTheGroupHasThem(t *testing.T) {
	base := t.TempDir()
	files := map[string]string{}
	for _, name := range []string{"memory.max", "memory.oom.group", "cgroup.kill"} { // there is no pids.max
		files[name] = ""
	}
	dir := filepath.Join(base, "job-1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := NewCgroup(base, "job-1", Limits{Memory: 1 << 20, Processes: 10})
	c.Kill()
	for name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	if diff := cmp.Diff(map[string]string{"memory.max": "1048576", "memory.oom.group": "1", "cgroup.kill": "1"}, files); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if c.Limited != (Limits{Memory: 1 << 20}) {
		t.Errorf("the kernel enforces %+v", c.Limited)
	}
	if c.RanOutOfMemory() {
		t.Error("it ran out of memory without a sign of it")
	}
	if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte("low 0\noom 1\noom_kill 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !c.RanOutOfMemory() {
		t.Error("that it ran out of memory was not noticed")
	}
}
