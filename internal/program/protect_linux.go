package program

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Protect keeps other processes of the same user, such as the commands that this one starts, from
// reading its memory, its open files and the environment it was started with. Root, or a process
// with CAP_SYS_PTRACE, can still read its memory. It is best effort: if the system does not allow
// it, the process stays readable.
func Protect() {
	wipeEnvironment() // first: a process that is not dumpable may not open its own memory
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Do not leak inherited files to the programs that this process starts.
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	// This process keeps its own; Policy.Delegate decides which process inherits some.
	_, _, _ = syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
}

// wipeEnvironment overwrites the environment that the kernel shows in /proc/PID/environ. os.Getenv
// reads the runtime's copy, and os.Unsetenv changes only that copy.
func wipeEnvironment() {
	start, end, ok := environmentBlock()
	if !ok {
		return
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer memory.Close()
	_, _ = memory.WriteAt(make([]byte, end-start), start)
}

// environmentBlock returns where in the process's memory its environment is.
func environmentBlock() (start, end int64, ok bool) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, false
	}
	// The second field is the program's name in brackets, and may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const startField, endField = 47, 48 // env_start and env_end, counted from the third field
	if len(fields) <= endField {
		return 0, 0, false
	}
	start, badStart := strconv.ParseInt(fields[startField], 10, 64)
	end, badEnd := strconv.ParseInt(fields[endField], 10, 64)
	const most = 8 << 20 // more than any system allows
	return start, end, badStart == nil && badEnd == nil && start > 0 && end > start && end-start <= most
}
