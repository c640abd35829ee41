package deploy

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// guard bounds waits that would otherwise never end; no test depends on its length.
const guard = 2 * time.Minute

// world is the setup of the compose file without containers: the same server's file with other
// addresses.
type world struct {
	t       *testing.T
	program string
	project string // the medallion example
	env     []string
	file    func(data string) string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	project, err := filepath.Abs(filepath.Join(root, "examples", "medallion"))
	check(t, err)
	redis, dsn := redistest.Start(t).URL(), pgtest.Database(t)
	w := &world{t: t, program: binary(t), project: project}
	w.env = append(os.Environ(), "OPERATOR_TOKEN=open-open-open-open", "SENSOR_TOKEN=sesame-sesame-sesame", "JOBS_TOKEN=", "ARCHIVE_DSN="+dsn, "INTERLOCK_TOKEN=open-open-open-open", "USER=ann")
	w.file = func(data string) string {
		return strings.NewReplacer("0.0.0.0:8740", "127.0.0.1:0", dataDir, data, "redis://redis:6379/0", redis, "/srv/medallion", project, "interval: 1m", "interval: 1s").
			Replace(read(t, "deploy/compose/interlock.yaml"))
	}
	return w
}

// controller is one of the replicas.
type controller struct {
	*world
	cmd          *exec.Cmd
	server, file string
}

// start starts a replica with its own directory, and returns once it listens.
func (w *world) start() *controller {
	w.t.Helper()
	dir := w.t.TempDir()
	c := &controller{world: w, file: filepath.Join(dir, "interlock.yaml")}
	check(w.t, os.WriteFile(c.file, []byte(w.file(filepath.Join(dir, "data"))), 0o600))
	c.cmd = exec.Command(w.program, "serve", "--config", c.file)
	c.cmd.Dir, c.cmd.Env = w.project, w.env
	said, err := c.cmd.StderrPipe()
	check(w.t, err)
	check(w.t, c.cmd.Start())
	w.t.Cleanup(c.kill)
	lines, log := bufio.NewScanner(said), ""
	for lines.Scan() {
		log += lines.Text() + "\n"
		if _, rest, ok := strings.Cut(lines.Text(), "listens on "); ok {
			c.server = strings.Fields(rest)[0]
			go func() {
				for lines.Scan() { // so that a full pipe never blocks it
				}
			}()
			return c
		}
	}
	w.t.Fatalf("it does not listen: %s", log)
	return nil
}

func (c *controller) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
		_ = c.cmd.Wait()                          // because it was killed
	}
}

// run runs a command against a replica.
func (c *controller) run(args ...string) (string, error) {
	cmd := exec.Command(c.program, args...)
	cmd.Dir, cmd.Env = c.project, append(c.env, "INTERLOCK_SERVER="+c.server)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// until repeats a command until its output contains want, ignoring line breaks.
func (c *controller) until(want string, args ...string) {
	c.t.Helper()
	limit, again := time.After(guard), time.NewTicker(200*time.Millisecond)
	defer again.Stop()
	for {
		out, err := c.run(args...)
		if err == nil && strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			return
		}
		select {
		case <-again.C:
		case <-limit:
			c.t.Fatalf("%v: no %q: %v: %s", args, want, err, out)
		}
	}
}

func TestWhatIsComposedWorksTogether(t *testing.T) {
	w := newWorld(t)
	one, two := w.start(), w.start()
	one.until("ready", "health")
	two.until("ready", "health")
	for i, c := range []*controller{one, two} {
		date := fmt.Sprintf("2026-03-0%d", i+3)
		if i == 1 {
			one.kill()
		}
		if out, err := c.run("trigger", "crypto-gold", "--date", date, "--bypass-gate", "--reason", "a test"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		two.until("COMPLETED", "run", "show", "crypto-gold", "--date", date)
		two.until("built "+date, "run", "show", "crypto-gold", "--date", date) // by the example's own job
	}
	two.until(`"table": "runs", "rows": 2`, "archive", "status", "--config", two.file, "--format", "json")
}
