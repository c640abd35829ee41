package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Watched is the name by which a Sentinel knows its primary.
const Watched = "main"

// Watch starts a Sentinel that watches a primary.
func Watch(t testing.TB, primary *Server) *Server {
	t.Helper()
	need(t)
	return start(t, func(s *Server) error {
		file := filepath.Join(s.dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor %s 127.0.0.1 %d 1\n", s.port, Watched, primary.port)
		s.command, s.ready = []string{file, "--sentinel"}, "Sentinel ID is"
		return os.WriteFile(file, []byte(text), 0o600)
	})
}
