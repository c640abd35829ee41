package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// signals handles the signals that exec receives. While the command runs, it forwards them to the
// command; before and after, a signal cancels the context that exec waits on.
type signals struct {
	received chan os.Signal
	terminal bool // stdin is a terminal, which also sends its signals to the command

	mu     sync.Mutex
	first  syscall.Signal // received while no command was running
	child  *os.Process
	group  bool // the child has its own process group
	cancel context.CancelFunc
}

// catchSignals begins to catch signals.
func catchSignals() *signals {
	s := &signals{received: make(chan os.Signal, 16), terminal: term.IsTerminal(int(os.Stdin.Fd()))}
	signal.Notify(s.received, passedOn...)
	go func() {
		for sig := range s.received {
			s.handle(sig)
		}
	}()
	return s
}

func (s *signals) stop() {
	signal.Stop(s.received)
	close(s.received)
}

func (s *signals) handle(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number, ok := sig.(syscall.Signal)
	if !ok || !passes(number) {
		return
	}
	if s.child != nil {
		if !s.terminal || !fromTerminal(number) {
			_ = signalChild(s.child, s.group, number) // the child may have just exited
		}
		return
	}
	if !ends(number) {
		return
	}
	if s.first == 0 {
		s.first = number
	}
	if s.cancel != nil {
		s.cancel()
	}
}

// cancels returns a context that a signal cancels, unless the command is running.
func (s *signals) cancels(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
	return ctx, cancel
}

// forward sends further signals to a process or its group; nil stops forwarding. It also sends the
// signal that arrived while the process was being started.
func (s *signals) forward(to *os.Process, group bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child, s.group = to, group; to != nil && s.first != 0 {
		_ = signalChild(to, group, s.first) // the child may have just exited
	}
}

// caught returns the first signal received while no command was running, or 0.
func (s *signals) caught() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.first)
}
