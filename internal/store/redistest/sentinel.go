package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Watched is the name by which a Sentinel knows its primary.
const Watched = "main"

// Watch starts a Sentinel that watches a primary, and makes one of its replicas the primary soon after it is gone.
func Watch(t testing.TB, primary *Server) *Server {
	t.Helper()
	need(t)
	return start(t, func(s *Server) error {
		file := filepath.Join(s.dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor %[2]s 127.0.0.1 %[3]d 1\n"+
			"sentinel down-after-milliseconds %[2]s 1000\nsentinel failover-timeout %[2]s 10000\n", s.port, Watched, primary.port)
		s.command, s.ready = []string{file, "--sentinel"}, "Sentinel ID is"
		return os.WriteFile(file, []byte(text), 0o600)
	})
}
