// Package redistest starts real Redis servers for tests and measurements, each on a free port of
// the loopback interface and with a folder of its own. Where redis-server is not installed the
// tests that need it are passed over by name; with CI=true they fail.
package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// guard ends what would otherwise wait for ever; no test depends on how long it is.
const guard = 2 * time.Minute

// Server is a running Redis.
type Server struct {
	port    int
	dir     string
	command []string
	ready   string   // what it prints once it takes connections
	tls     []string // its settings for TLS, if it takes nothing else
	cmd     *exec.Cmd
	log     *transcript
}

var shared struct {
	mu     sync.Mutex
	server *Server
	err    error
}

// Main runs the tests of a package that share one server, and stops it after them. TestMain calls
// it.
func Main(m *testing.M) int {
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		if err := shared.server.end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}

// Shared gives the URL of the package's server, under a prefix that no other test uses. The
// package's TestMain must call Main.
func Shared(t testing.TB) string {
	t.Helper()
	need(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = launch(storing(nil))
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.URL() + "?prefix=" + prefix(t)
}

var prefixes struct {
	sync.Mutex
	n int
}

func prefix(t testing.TB) string {
	prefixes.Lock()
	defer prefixes.Unlock()
	prefixes.n++
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ?&#%+:", r) {
			return '-'
		}
		return r
	}, t.Name())
	return fmt.Sprintf("%s-%d", name, prefixes.n)
}

// Launch gives a server outside a test, with further arguments of redis-server. Whoever asks for it
// calls Close.
func Launch(args ...string) (*Server, error) { return launch(storing(args)) }

// Close ends the server and removes its data.
func (s *Server) Close() error { return s.end() }

// Start gives a server of the test's own, with further arguments of redis-server. It writes
// everything through to the disk before it answers, so that a test may kill it: with everysec, a
// slow disk makes Redis keep what it acknowledged in its own memory for seconds.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	need(t)
	return start(t, storing(append([]string{"--appendfsync", "always"}, args...)))
}

// StartTLS gives a server like Start, which takes connections over TLS alone, from those who show a
// certificate that cert vouches for.
func StartTLS(t testing.TB, cert, key string, args ...string) *Server {
	t.Helper()
	need(t)
	return start(t, func(s *Server) error {
		s.tls = []string{"tls-cert-file", cert, "tls-key-file", key, "tls-ca-cert-file", cert, "tls-replication", "yes"}
		secured := []string{"--appendfsync", "always", "--port", "0", "--tls-port", fmt.Sprint(s.port)}
		for i := 0; i < len(s.tls); i += 2 {
			secured = append(secured, "--"+s.tls[i], s.tls[i+1])
		}
		return storing(append(secured, args...))(s)
	})
}

func start(t testing.TB, how func(*Server) error) *Server {
	t.Helper()
	s, err := launch(how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("redis-server is missing, and with CI=true nothing may be passed over: install redis-server")
	}
	t.Skip("redis-server is missing: install redis-server")
}

// URL is where the server is.
func (s *Server) URL() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", s.port) }

// Address is its host and port.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// storing is a server that keeps data, as the store wants it unless the arguments say otherwise.
func storing(args []string) func(*Server) error {
	return func(s *Server) error {
		s.ready = "Ready to accept connections"
		s.command = append([]string{
			"--port", fmt.Sprint(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--daemonize", "no",
			"--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
		}, args...)
		return nil
	}
}

// launch starts a server on a port that was free a moment ago; if somebody else has taken it since,
// on another.
func launch(how func(*Server) error) (s *Server, err error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	for range 5 {
		s = &Server{dir: dir}
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = how(s); err != nil {
			break
		}
		if err = s.begin(); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// freePort returns a port that nothing listens on. It is below the range from which systems assign
// ports, so that no other program is likely to take it while the server is down.
func freePort() (port int, err error) {
	for range 100 {
		port = 20000 + rand.IntN(10000)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// begin starts the process and comes back once it takes connections.
func (s *Server) begin() error {
	s.cmd = exec.Command("redis-server", s.command...)
	s.cmd.SysProcAttr = dieTogether()
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	s.log = &transcript{ended: make(chan struct{})}
	if s.log.until(out, s.ready) {
		return nil
	}
	_ = s.cmd.Process.Kill() // it has ended already, or never will
	<-s.log.ended
	return fmt.Errorf("redis-server did not come up: %w\n%s", s.cmd.Wait(), s.log.text)
}

// transcript is what the process printed until it was ready.
type transcript struct {
	text  string
	ended chan struct{}
}

// until reads until a line says that; what comes after it is read too, so that the process never
// waits for a reader.
func (t *transcript) until(out io.Reader, said string) bool {
	lines := bufio.NewScanner(out)
	ready := make(chan bool, 1)
	go func() {
		defer close(t.ended)
		waiting := true
		for lines.Scan() {
			if !waiting {
				continue
			}
			t.text += lines.Text() + "\n"
			if strings.Contains(lines.Text(), said) {
				waiting = false
				ready <- true
			}
		}
		if waiting {
			ready <- false
		}
	}()
	select {
	case is := <-ready:
		return is
	case <-time.After(guard):
		return false
	}
}

// Do sends one command whose parts hold no spaces, and gives the first line of the answer.
func (s *Server) Do(parts ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.Address(), guard)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(guard)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n", strings.Join(parts, " ")); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	line = strings.TrimSpace(line)
	if err == nil && strings.HasPrefix(line, "-") {
		err = fmt.Errorf("%s: %s", parts[0], line[1:])
	}
	return line, err
}

// Stop ends the process as an administrator would, and keeps its data.
func (s *Server) Stop() error { return s.signal(syscall.SIGTERM) }

// Kill ends it as a power cut would, except that what the system holds of its files is not lost.
func (s *Server) Kill() error { return s.signal(syscall.SIGKILL) }

func (s *Server) signal(with syscall.Signal) error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(with); err != nil {
		return err
	}
	select {
	case <-s.log.ended:
	case <-time.After(guard):
		return fmt.Errorf("redis-server goes on after %s: %w", with, s.cmd.Process.Kill())
	}
	_ = s.cmd.Wait() // it ended because it was told to
	s.cmd = nil
	return nil
}

// Again starts it on the same port and with the same data.
func (s *Server) Again() error { return s.begin() }

// Checkpoint copies the data that is on disk. The function it returns kills the server and starts
// it again on that copy: what was acknowledged in between is lost, as in a failover to a replica
// that had not received it.
func (s *Server) Checkpoint() (rollBack func() error, err error) {
	data := os.DirFS(s.dir)
	kept, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(kept, "data"), data); err != nil {
		return nil, errors.Join(err, os.RemoveAll(kept))
	}
	return func() error {
		err := errors.Join(s.Kill(), os.RemoveAll(s.dir), os.CopyFS(s.dir, os.DirFS(filepath.Join(kept, "data"))), os.RemoveAll(kept))
		if err != nil {
			return err
		}
		return s.Again()
	}, nil
}

func (s *Server) end() error { return errors.Join(s.Kill(), os.RemoveAll(s.dir)) }
