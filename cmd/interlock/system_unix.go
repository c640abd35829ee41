//go:build unix

package main

import (
	"math"
	"os"
	"syscall"
)

// passedOn are the signals that exec catches and passes on to its command. SIGPIPE is caught so
// that a closed output fails exec's copy instead of killing exec. exec then closes the command's
// pipe, and the command gets the SIGPIPE that it would have got without exec.
var passedOn = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGPIPE,
}

func passes(s syscall.Signal) bool { return s != syscall.SIGPIPE }

// ends reports whether a signal is meant to end a program that does not catch it.
func ends(s syscall.Signal) bool { return s != syscall.SIGWINCH }

// fromTerminal reports whether a terminal sends the signal to its whole foreground process group.
func fromTerminal(s syscall.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH
}

// signalChild sends a signal to the command, or to its whole process group.
func signalChild(p *os.Process, group bool, s syscall.Signal) error {
	if group {
		return syscall.Kill(-p.Pid, s)
	}
	return p.Signal(s)
}

// descriptors returns the limit of open files. Go raises it to the hard limit at start.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
