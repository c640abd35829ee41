package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Watched is the name by which a Sentinel knows its primary.
const Watched = "main"

// Watch starts a Sentinel that watches a primary, and makes one of its replicas the primary soon
// after it is gone. Further lines of its configuration may be given. It takes connections as the
// primary does.
func Watch(t testing.TB, primary *Server, lines ...string) *Server {
	t.Helper()
	need(t)
	return start(t, func(s *Server) error {
		file := filepath.Join(s.dir, "sentinel.conf")
		port := fmt.Sprintf("port %d", s.port)
		if primary.tls != nil {
			port = fmt.Sprintf("port 0\ntls-port %d", s.port)
		}
		text := fmt.Sprintf("%s\nbind 127.0.0.1\nsentinel monitor %[2]s 127.0.0.1 %[3]d 1\n"+
			"sentinel down-after-milliseconds %[2]s 1000\nsentinel failover-timeout %[2]s 10000\n", port, Watched, primary.port)
		for i := 0; i < len(primary.tls); i += 2 {
			text += primary.tls[i] + " " + primary.tls[i+1] + "\n"
		}
		text += strings.Join(lines, "\n") + "\n"
		s.command, s.ready = []string{file, "--sentinel"}, "Sentinel ID is"
		return os.WriteFile(file, []byte(text), 0o600)
	})
}
