//go:build unix

package redistest

import "syscall"

// Freeze lets it go on listening and answer nothing, as a machine does that cannot be reached any
// more; Thaw ends that.
func (s *Server) Freeze() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets it go on.
func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
