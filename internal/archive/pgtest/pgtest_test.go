//go:build unix

package pgtest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/internal/archive/pgtest"
)

// starter, in the environment, makes this test binary a process that starts a server and waits to
// be killed.
const starter = "INTERLOCK_PGTEST_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(starter) == "" {
		os.Exit(m.Run())
	}
	s, err := pgtest.Start("-c fsync=off")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.DSN("postgres"))
	select {}
}

func TestServerGoesWithTheProcessThatIsKilled(t *testing.T) {
	pgtest.Need(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), starter+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	held, holding, err := os.Pipe() // by everything that the process starts and that ends by itself
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	cmd.Stderr = holding
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := holding.Close(); err != nil {
		t.Fatal(err)
	}
	dsn, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimPrefix(strings.Fields(dsn)[0], "host=")
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("no server: %s", dsn)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil { // and all of its group
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	said, err := io.ReadAll(held)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the server's folder is still there: %v, %s", err, said)
	}
}
