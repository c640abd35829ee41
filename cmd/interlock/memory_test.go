package main

import (
	"bytes"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

func tree(pairs ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		root[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return root
}

func TestMemoryLimitIsThatOfTheControlGroup(t *testing.T) {
	for name, c := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"no control groups":    {tree(), 0},
		"version 2":            {tree("proc/self/cgroup", "0::/app.slice/x\n", "sys/fs/cgroup/app.slice/x/memory.max", "1073741824\n"), 1 << 30},
		"no limit":             {tree("proc/self/cgroup", "0::/x\n", "sys/fs/cgroup/x/memory.max", "max\n"), 0},
		"the group above":      {tree("proc/self/cgroup", "0::/a/x\n", "sys/fs/cgroup/a/x/memory.max", "max\n", "sys/fs/cgroup/a/memory.max", "1000\n"), 1000},
		"the smaller":          {tree("proc/self/cgroup", "0::/a/x\n", "sys/fs/cgroup/a/x/memory.max", "2000\n", "sys/fs/cgroup/a/memory.max", "1000\n"), 1000},
		"a container":          {tree("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "1000\n"), 1000},
		"version 1":            {tree("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n0::/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000\n"), 1000},
		"version 1, no limit":  {tree("proc/self/cgroup", "4:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n"), 0},
		"version 1, container": {tree("proc/self/cgroup", "4:memory:/docker/4711\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"), 1000},
		"nonsense":             {tree("proc/self/cgroup", "what\n0::../../x\n", "sys/fs/cgroup/memory.max", "soon\n"), 0},
	} {
		if got := groupMemory(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestMemoryLimitIsSetUnlessTheEnvironmentSetsIt(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	root := tree("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "1000000000000\n")
	env := func(value string) func(string) string { return func(string) string { return value } }
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	debug.SetMemoryLimit(math.MaxInt64)
	limitMemory(env("off"), root, logger)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("the environment's limit became %d", got)
	}
	limitMemory(env(""), root, logger)
	if got := debug.SetMemoryLimit(-1); got != 900_000_000_000 || !strings.Contains(log.String(), "goMemLimit=900000000000") {
		t.Errorf("the limit is %d: %s", got, log.String())
	}
}
