// Package pgtest starts real PostgreSQL servers for tests: no port, a folder of their own, and gone
// with the process that started them, however that ends.
package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Server is one PostgreSQL server.
type Server struct {
	bin, dir string
	keeper   *exec.Cmd // nil while the server is stopped
	stdin    io.WriteCloser
}

// keep makes a server where there is none yet, and runs it for as long as its standard input is
// open; that closes when the process ends that started it, however it does. It says so once the
// server answers. Signals are not for it, nor is a reader that is gone: it would leave the server
// behind.
const keep = `
trap '' HUP INT PIPE TERM
[ -d "$1/data" ] || "$0/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --no-sync >"$1/log" 2>&1 || exit 1
"$0/pg_ctl" -D "$1/data" -l "$1/log" -w -t 120 -o "-c listen_addresses='' -c unix_socket_directories='$1' $2" start >/dev/null || exit 1
echo ready
read mode
"$0/pg_ctl" -D "$1/data" -m "${mode:-immediate}" -w -t 120 stop >/dev/null
[ -n "$mode" ] || rm -rf "$1"
`

// Start makes a new server with these settings, such as "-c fsync=off".
func Start(options string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if err := give(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.Resume(options); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Resume starts a server that was stopped.
func (s *Server) Resume(options string) error {
	s.keeper = exec.Command("sh", "-c", keep, s.bin, s.dir, options)
	s.keeper.Dir = s.dir
	s.keeper.Stderr = os.Stderr
	apart(s.keeper)
	out, err := s.keeper.StdoutPipe()
	if err != nil {
		return err
	}
	if s.stdin, err = s.keeper.StdinPipe(); err != nil {
		return err
	}
	if err := s.keeper.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return errors.Join(fmt.Errorf("the server does not start: %s", log), s.keeper.Wait())
	}
	return nil
}

// Pause stops the server and keeps its data. Mode is that of pg_ctl: fast, or immediate, which is a
// crash.
func (s *Server) Pause(mode string) error {
	if _, err := io.WriteString(s.stdin, mode+"\n"); err != nil {
		return err
	}
	err := s.keeper.Wait()
	s.keeper = nil
	return err
}

// Close stops the server and takes its data away.
func (s *Server) Close() error {
	if s.keeper == nil {
		return os.RemoveAll(s.dir)
	}
	return errors.Join(s.stdin.Close(), s.keeper.Wait())
}

// DSN is the connection string of a database.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("host=%s user=postgres dbname=%s", s.dir, database)
}

// Log is what the server has logged.
func (s *Server) Log() (string, error) {
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(log), err
}

// shared is the one server of a test process. It goes when the process does.
var shared = sync.OnceValues(func() (*Server, error) { return Start("-c fsync=off") })

var count atomic.Int64

// Database gives a test an empty database of its own. Without PostgreSQL on this machine the test
// is left out, unless CI=true says that nothing may be.
func Database(t testing.TB) string {
	t.Helper()
	Need(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test%d", count.Add(1))
	conn, err := pgx.Connect(context.Background(), s.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.DSN(name)
}

// Need leaves a test out where there is no PostgreSQL; with CI=true that is a failure.
func Need(t testing.TB) {
	t.Helper()
	_, err := programs()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// programs is the folder of initdb and pg_ctl. Debian keeps them out of PATH, a folder for each
// version.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	if len(found) == 0 {
		return "", errors.New("there is no PostgreSQL server on this machine; install the package postgresql")
	}
	return filepath.Dir(slices.Max(found)), nil
}
