package program

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// MachineMemory returns the memory of the machine, or of the container that this process is in; 0
// if it is unknown.
func MachineMemory() int64 {
	memory := int64(0)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "MemTotal:" {
				kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
				memory = kilobytes << 10
			}
		}
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if limit, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && limit > 0 && limit < memory {
			memory = limit
		}
	}
	return memory
}
