//go:build unix

package main

import (
	"math"
	"os"
	"syscall"
)

// passedOn are the signals that exec passes on to its command. SIGPIPE is caught so that a closed output is an error of exec's
// copy, which closes the command's pipe: the command then gets the signal that it would have got without exec.
var passedOn = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGPIPE,
}

func passes(s syscall.Signal) bool { return s != syscall.SIGPIPE }

// ends reports whether a signal ends a program that does not catch it, and is meant to.
func ends(s syscall.Signal) bool { return s != syscall.SIGWINCH }

// fromTerminal reports whether a terminal sends the signal to all processes in its foreground.
func fromTerminal(s syscall.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH
}

// signalChild sends a signal to the command, or to all of its process group.
func signalChild(p *os.Process, group bool, s syscall.Signal) error {
	if group {
		return syscall.Kill(-p.Pid, s)
	}
	return p.Signal(s)
}

func stopChild(p *os.Process, group bool) error { return signalChild(p, group, syscall.SIGTERM) }

// descriptors returns how many files the process may have open. Go has raised that to the hard limit at start.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
