package client

import "time"

// stopwatch measures how long ago it was started, including the time in which the machine was
// suspended: an attempt ends on the server's clock, which goes on.
type stopwatch struct {
	start  time.Time
	uptime time.Duration // of the machine at the start, as far as the system tells it
}

func startWatch() *stopwatch { return &stopwatch{time.Now(), uptime()} }

// elapsed returns the time since the start. time.Since stands still while the machine is suspended.
// Where the system does not tell its uptime, the wall clock takes its place: if it was set forward,
// too much time seems to have passed, never too little.
func (s *stopwatch) elapsed() time.Duration {
	awake, whole := time.Since(s.start), uptime()-s.uptime
	if s.uptime == 0 {
		whole = time.Now().Round(0).Sub(s.start.Round(0))
	}
	return max(awake, whole)
}
