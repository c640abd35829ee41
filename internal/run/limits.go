package run

import "time"

// Limits are what an attempt may take, copied from its config version when it opens, so that an edit of the
// file never moves a window that is already open.
type Limits struct {
	Window       time.Duration `json:"window"`              // how long the gate is evaluated
	Interval     time.Duration `json:"interval"`            // how often
	PollInterval time.Duration `json:"pollInterval"`        // how often the job is looked at; 0: its result is only ever reported
	PollWindow   time.Duration `json:"pollWindow"`          // how long
	Heartbeat    time.Duration `json:"heartbeat,omitempty"` // how long a worker outside may be silent; 0: as long as it likes
	RunTimeout   time.Duration `json:"runTimeout"`          // the server's limit for a whole attempt
	StartTries   int           `json:"startTries"`          // how often a refused start is made in all
	StartBackoff time.Duration `json:"startBackoff"`        // the wait after the first refusal, doubled after each
}

const (
	slack           = 30 * time.Minute
	maxStartBackoff = 15 * time.Minute
	leastInterval   = time.Second
	longest         = 10 * 366 * 24 * time.Hour // keeps sums of limits far from overflow
)

// TimeLimit is how long a whole attempt may take: the server's limit, or what its window and its poll
// window need plus half an hour, if that is more.
func (l Limits) TimeLimit() time.Duration {
	l = l.bounded()
	return max(l.RunTimeout, l.Window+l.PollWindow+slack)
}

// bounded brings limits that no checked file can hold into a range in which every attempt ends and no
// loop spins.
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

// startBackoff is the wait before a start is repeated, after that many refusals.
func (l Limits) startBackoff(refused int) time.Duration {
	wait := min(l.StartBackoff, maxStartBackoff)
	for n := 1; n < refused && wait < maxStartBackoff; n++ {
		if wait *= 2; wait == 0 {
			return 0
		}
	}
	return min(wait, maxStartBackoff)
}
