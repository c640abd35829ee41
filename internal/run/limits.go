package run

import "time"

// Limits are the limits of an attempt. They are copied from its config version when it opens, so that an edit
// of the file never changes an open window.
type Limits struct {
	Window       time.Duration `json:"window"`              // how long the gate is evaluated
	Interval     time.Duration `json:"interval"`            // the interval between evaluations
	PollInterval time.Duration `json:"pollInterval"`        // the interval between polls of the job; 0: its result is only reported
	PollWindow   time.Duration `json:"pollWindow"`          // how long the job is polled
	Heartbeat    time.Duration `json:"heartbeat,omitempty"` // how long an external worker may be silent; 0: no limit
	RunTimeout   time.Duration `json:"runTimeout"`          // the server's limit for a whole attempt
	StartTries   int           `json:"startTries"`          // the most start calls, including the first
	StartBackoff time.Duration `json:"startBackoff"`        // the wait after the first rejection, doubled after each
}

const (
	slack           = 30 * time.Minute
	maxStartBackoff = 15 * time.Minute
	leastInterval   = time.Second
	longest         = 10 * 366 * 24 * time.Hour // keeps sums of limits far from overflow
)

// TimeLimit returns how long a whole attempt may take: the server's limit or, if that is more, the window
// plus the poll window plus half an hour.
func (l Limits) TimeLimit() time.Duration {
	l = l.bounded()
	return max(l.RunTimeout, l.Window+l.PollWindow+slack)
}

// bounded clamps limits that no valid file can contain, so that every attempt ends and no loop spins.
func (l Limits) bounded() Limits {
	within := func(d, least time.Duration) time.Duration { return min(max(d, least), longest) }
	l.Interval = within(l.Interval, leastInterval)
	l.Window = within(l.Window, l.Interval)
	if l.PollInterval != 0 {
		l.PollInterval = within(l.PollInterval, leastInterval)
	}
	l.PollWindow = within(l.PollWindow, l.PollInterval)
	l.Heartbeat = within(l.Heartbeat, 0)
	l.RunTimeout = within(l.RunTimeout, 0)
	l.StartTries = min(max(l.StartTries, 1), 1000)
	l.StartBackoff = within(l.StartBackoff, 0)
	return l
}

// startBackoff returns the wait before a start is repeated after that many rejections.
func (l Limits) startBackoff(refused int) time.Duration {
	wait := min(l.StartBackoff, maxStartBackoff)
	for n := 1; n < refused && wait < maxStartBackoff; n++ {
		if wait *= 2; wait == 0 {
			return 0
		}
	}
	return min(wait, maxStartBackoff)
}
