package main

import (
	"io/fs"
	"log/slog"
	slashed "path"
	"runtime/debug"
	"strconv"
	"strings"
)

// noLimit is from where on version 1 of control groups means that there is no limit.
const noLimit = 1 << 60

// limitMemory makes the garbage collector keep the process within the memory that its control group
// allows, unless GOMEMLIMIT says otherwise. A tenth is left for memory that Go does not manage.
func limitMemory(getenv func(string) string, root fs.FS, logger *slog.Logger) {
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if allowed := groupMemory(root); allowed > 0 {
		debug.SetMemoryLimit(allowed / 10 * 9)
		logger.Info("memory is limited by the control group", "allowed", allowed, "goMemLimit", allowed/10*9)
	}
}

// groupMemory returns the memory in bytes that the control groups of this process allow; 0 if they
// set no limit, or if there are none. A group is also limited by the groups above it.
func groupMemory(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0 // not Linux
	}
	least := int64(0)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" { // version 1
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if parts[1] != "" && !strings.Contains(","+parts[1]+",", ",memory,") {
			continue
		}
		// In a container, the path may be that of the host, and the mount shows the group itself.
		for at := slashed.Clean("/" + parts[2]); ; at = slashed.Dir(at) {
			if limit := readLimit(root, slashed.Join(mount, at, file)); limit > 0 && (least == 0 || limit < least) {
				least = limit
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// readLimit returns the limit in a file of a control group; 0 if it sets none.
func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= noLimit { // version 2 writes max
		return 0
	}
	return n
}
