package awslambdatest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds waits that would otherwise never end; no test depends on its length.
const patience = 2 * time.Minute

// player is the process that runs executions: deploy/statemachine-test/play.mjs, an independent
// interpreter of the Amazon States Language. Worlds share it, each with its own clock.
type player struct {
	mu    sync.Mutex
	in    io.WriteCloser
	out   *bufio.Reader
	fails error
	seq   int
}

var shared = sync.OnceValues(launch)

// folder returns the directory of the interpreter.
func folder() string { return repository("deploy", "statemachine-test") }

// repository returns a path below the root of the repository, which is the nearest parent of the
// working directory with a go.mod.
func repository(parts ...string) string {
	root, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil || root == filepath.Dir(root) {
			break
		}
		root = filepath.Dir(root)
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// need skips a test whose tools are missing; with CI=true it fails the test.
func need(t testing.TB) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node is missing: install nodejs npm"
	} else if _, err := os.Stat(filepath.Join(folder(), "node_modules", "aws-local-stepfunctions")); err != nil {
		missing = "the interpreter of state machines is missing: run `npm ci --prefix deploy/statemachine-test`"
	}
	switch {
	case missing == "":
	case os.Getenv("CI") == "true":
		t.Fatal(missing + "; with CI=true no test may be skipped")
	default:
		t.Skip(missing)
	}
}

// isInput reads files that otherwise only Node reads: go test reuses a cached result unless a file
// that the test itself has opened changes.
func isInput(names ...string) error {
	for _, name := range names {
		if _, err := os.ReadFile(filepath.Join(folder(), name)); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the process. It exits when its standard input is closed, at the latest when this
// process exits.
func launch() (*player, error) {
	if err := isInput("play.mjs", "package-lock.json"); err != nil {
		return nil, err
	}
	cmd := exec.Command("node", "play.mjs")
	cmd.Dir = folder()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() { // the parent-death signal is tied to the thread that started the process
		runtime.LockOSThread()
		started <- cmd.Start()
		_ = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the state machine interpreter: %w", err)
	}
	return &player{in: in, out: bufio.NewReader(out)}, nil
}

// command is a request to the process.
type command struct {
	Seq     int             `json:"seq"`
	World   string          `json:"world"`
	Machine json.RawMessage `json:"machine,omitempty"`
	Start   string          `json:"start,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	At      *int64          `json:"at,omitempty"`
	Call    int             `json:"call,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
	To      *int64          `json:"to,omitempty"`
	Abort   string          `json:"abort,omitempty"`
	Close   bool            `json:"close,omitempty"`
}

// failure is the error of a function as Lambda reports it.
type failure struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// report is what has happened since the last request.
type report struct {
	Seq     int     `json:"seq"`
	Calls   []call  `json:"calls"`
	Ended   []ended `json:"ended"`
	Entered int     `json:"entered"` // number of states
	Next    *int64  `json:"next"`    // in milliseconds; nil if nothing is due
}

// call is a task that waits for its function.
type call struct {
	Call      int             `json:"call"`
	Execution string          `json:"execution"`
	State     string          `json:"state"`
	Resource  string          `json:"resource"`
	Input     json.RawMessage `json:"input"`
}

// ended is an execution that has ended.
type ended struct {
	Execution string          `json:"execution"`
	Status    string          `json:"status"`
	Error     string          `json:"error"`
	Cause     string          `json:"cause"`
	Output    json.RawMessage `json:"output"`
}

// send sends a request to the process and waits for its report.
func (p *player) send(c command) (report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails != nil {
		return report{}, p.fails
	}
	p.seq++
	c.Seq = p.seq
	r, err := p.exchange(c)
	p.fails = err
	return r, err
}

func (p *player) exchange(c command) (report, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return report{}, err
	}
	stuck := time.AfterFunc(patience, func() { _ = p.in.Close() })
	defer stuck.Stop()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return report{}, fmt.Errorf("write to the state machine interpreter: %w", err)
	}
	answer, err := p.out.ReadBytes('\n')
	if err != nil {
		return report{}, fmt.Errorf("the state machine interpreter does not answer: %w", err)
	}
	var r report
	if err := json.Unmarshal(answer, &r); err != nil {
		return report{}, fmt.Errorf("read the interpreter's answer: %w in %s", err, answer)
	}
	if r.Seq != c.Seq {
		return report{}, errors.New("the interpreter answered another request")
	}
	return r, nil
}

// The names under which the state machine calls functions.
const (
	orchestratorARN = "arn:aws:lambda:eu-west-1:123456789012:function:test-interlock-orchestrator"
	slaMonitorARN   = "arn:aws:lambda:eu-west-1:123456789012:function:test-interlock-sla-monitor"
	streamRouterARN = "arn:aws:lambda:eu-west-1:123456789012:function:test-interlock-stream-router"
	machineARN      = "arn:aws:states:eu-west-1:123456789012:stateMachine:test-interlock-pipeline"
)

// Definition returns a state machine in the folder deploy as Terraform deploys it.
func Definition(t testing.TB, file string, timeout, tries int) []byte {
	t.Helper()
	text, err := os.ReadFile(repository("deploy", file))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.NewReplacer(
		"${orchestrator_arn}", orchestratorARN, "${sla_monitor_arn}", slaMonitorARN,
		"${sfn_timeout_seconds}", fmt.Sprint(timeout), "${trigger_max_attempts}", fmt.Sprint(tries),
	).Replace(string(text)))
}
