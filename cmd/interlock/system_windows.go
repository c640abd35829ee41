package main

import (
	"math"
	"os"
	"syscall"
)

// passedOn are the signals that end exec. Windows passes none on: a console sends its own to all its processes.
var passedOn = []os.Signal{os.Interrupt}

func passes(syscall.Signal) bool { return true }

func ends(syscall.Signal) bool { return true }

func fromTerminal(syscall.Signal) bool { return true }

func signalChild(p *os.Process, _ bool, s syscall.Signal) error { return p.Signal(s) }

func stopChild(p *os.Process, _ bool) error { return p.Kill() }

// descriptors returns how many files the process may have open, where nothing limits that.
func descriptors() int { return math.MaxInt32 }
