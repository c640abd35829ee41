package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// stolen is for how long, so far, the processors of this machine were given to others although there was work for them; 0 where
// nobody tells. On Linux it is the eighth number of the first line of /proc/stat, in hundredths of a second.
func stolen() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[8], 10, 64)
	return time.Duration(n) * 10 * time.Millisecond
}
