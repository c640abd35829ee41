package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// signals are those that exec itself gets. While its command runs it passes them on; before and after, they end the waiting.
type signals struct {
	came     chan os.Signal
	terminal bool // exec's input is a terminal, which sends its own signals to the command, too

	mu     sync.Mutex
	first  syscall.Signal // that came while there was no command
	child  *os.Process
	group  bool // the child has a process group of its own
	cancel context.CancelFunc
}

// catchSignals begins to catch signals.
func catchSignals() *signals {
	s := &signals{came: make(chan os.Signal, 16), terminal: term.IsTerminal(int(os.Stdin.Fd()))}
	signal.Notify(s.came, passedOn...)
	go func() {
		for sig := range s.came {
			s.handle(sig)
		}
	}()
	return s
}

func (s *signals) stop() {
	signal.Stop(s.came)
	close(s.came)
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
			_ = signalChild(s.child, s.group, number) // it may have just ended
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

// cancels returns a context that ends with a signal, unless the command is running.
func (s *signals) cancels(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
	return ctx, cancel
}

// forward passes signals on to a process, or its group, from now on; nil: to none.
func (s *signals) forward(to *os.Process, group bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child, s.group = to, group
}

// caught is the first signal that came while there was no command; 0 if none did.
func (s *signals) caught() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.first)
}
