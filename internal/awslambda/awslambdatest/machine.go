package awslambdatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// machine is the state machine of one world.
type machine struct {
	player *player
	world  string
	next   time.Time // when its next timer fires; zero if there is none

	calls []call            // calls that wait for their functions
	names map[string]string // started executions: their input while they run, "" afterwards
	since map[string]time.Time
	Ended []ended

	entered int // number of states
}

// newMachine returns a machine without executions.
func newMachine(t testing.TB, definition []byte) *machine {
	t.Helper()
	need(t)
	p, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{player: p, world: fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()), names: map[string]string{}, since: map[string]time.Time{}}
	if err := m.send(command{Machine: definition}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.send(command{Close: true}) })
	return m
}

func (m *machine) send(c command) error {
	c.World = m.world
	r, err := m.player.send(c)
	if err != nil {
		return err
	}
	m.calls = append(m.calls, r.Calls...)
	m.entered += r.Entered
	for _, e := range r.Ended {
		m.names[e.Execution] = ""
		m.Ended = append(m.Ended, e)
	}
	m.next = time.Time{}
	if r.Next != nil {
		m.next = time.UnixMilli(*r.Next).UTC()
	}
	return nil
}

// start starts an execution as Step Functions does: it returns a running one with the same name and
// input, and rejects any other use of the name.
func (m *machine) start(name, input string, now time.Time) (since time.Time, spent bool, err error) {
	if known, there := m.names[name]; there {
		return m.since[name], known != input, nil
	}
	m.names[name], m.since[name] = input, now
	at := now.UnixMilli()
	return now, false, m.send(command{Start: name, Input: json.RawMessage(input), At: &at})
}

// move advances the time, at most to the next timer.
func (m *machine) move(to time.Time) error {
	at := to.UnixMilli()
	return m.send(command{To: &at})
}

// answer returns a result to a waiting call.
func (m *machine) answer(c call, result []byte, failed *failure) error {
	return m.send(command{Call: c.Call, Result: result, Error: failed})
}

// take removes and returns a waiting call.
func (m *machine) take() (call, bool) {
	if len(m.calls) == 0 {
		return call{}, false
	}
	c := m.calls[0]
	m.calls = m.calls[1:]
	return c, true
}

// Validate checks a state machine with npm's asl-validator.
func Validate(t testing.TB, definition []byte) {
	t.Helper()
	need(t)
	if err := isInput("check.mjs", "package-lock.json"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "check.mjs")
	cmd.Dir = folder()
	cmd.Stdin = bytes.NewReader(definition)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the state machine is not valid: %v\n%s", err, out)
	}
}
