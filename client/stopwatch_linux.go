package client

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime returns the time since the machine started, suspended or not; 0 if it is unknown.
func uptime() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
