package main

import (
	"math"
	"os"
	"syscall"
)

// passedOn are the signals that end exec. Windows forwards none: a console sends signals to all its
// processes itself.
var passedOn = []os.Signal{os.Interrupt}

func passes(syscall.Signal) bool { return true }

func ends(syscall.Signal) bool { return true }

func fromTerminal(syscall.Signal) bool { return true }

func signalChild(p *os.Process, _ bool, s syscall.Signal) error { return p.Signal(s) }

// descriptors returns the limit of open files: Windows has none.
func descriptors() int { return math.MaxInt32 }
