//go:build !linux

package client

import "time"

// uptime is unknown on this system.
func uptime() time.Duration { return 0 }
