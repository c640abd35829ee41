package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// network is a network namespace that is connected to this machine by one cable.
type network struct {
	*testing.T
	name, cable string
	address     string // of this machine, as seen from the namespace
}

// newNetwork makes a network namespace, which needs root.
func newNetwork(t *testing.T) *network {
	t.Helper()
	pid := os.Getpid() % 16000
	n := &network{T: t, name: fmt.Sprintf("interlock-%d", pid), cable: fmt.Sprintf("il%d", pid), address: fmt.Sprintf("10.213.%d.%d", pid/64, pid%64*4+1)}
	if out, err := exec.Command("ip", "netns", "add", n.name).CombinedOutput(); err != nil {
		t.Skipf("no network namespace can be made here: %v: %s", err, out)
	}
	t.Cleanup(func() { n.ip("netns", "del", n.name) }) // with its end of the cable, and so the whole cable
	inside := n.cable + "n"
	other := fmt.Sprintf("10.213.%d.%d/30", pid/64, pid%64*4+2)
	n.ip("link", "add", n.cable, "type", "veth", "peer", "name", inside, "netns", n.name)
	n.ip("addr", "add", n.address+"/30", "dev", n.cable)
	n.ip("link", "set", n.cable, "up")
	n.ip("-n", n.name, "addr", "add", other, "dev", inside)
	n.ip("-n", n.name, "link", "set", inside, "up")
	return n
}

func (n *network) ip(args ...string) {
	n.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// exec returns an exec of orders inside the namespace.
func (n *network) exec(d *daemon, r *relay, script string, flags ...string) *exec.Cmd {
	cmd := d.command()
	cmd.Path, _ = exec.LookPath("ip") // newNetwork has run it
	cmd.Args = slices.Concat([]string{"ip", "netns", "exec", n.name, d.binary, "exec", "orders", "--server", r.URL, "--date", execDay}, flags, []string{"--", "sh", "-c", script})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, as under cron
	return cmd
}

// A cut cable ends no connection: packets are lost without a sign.
func TestCommandEndsInTimeWhenItsCableIsCut(t *testing.T) {
	d := execGround(t, "")
	n := newNetwork(t)
	r := relayAt(t, d.url, n.address)
	const heartbeat = 12
	r.claim = map[string]any{"onSilence": "stop", "heartbeatSeconds": heartbeat}
	cmd := n.exec(d, r, d.stubborn())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := d.stubbornPIDs()
	until(t, "a heartbeat", func() bool { return r.count("heartbeat") > 0 })
	n.ip("link", "set", n.cable, "down")
	began := time.Now()
	for _, pid := range pids {
		until(t, "the command and its descendants are gone", func() bool { return gone(pid) })
	}
	if took := time.Since(began); took > heartbeat*time.Second {
		t.Errorf("they were stopped after %s; another worker may start after %ds", took, heartbeat)
	}
	n.ip("link", "set", n.cable, "up")
	if code := d.stopsAll(cmd, pids); code != exitBySignal+int(syscall.SIGKILL) {
		t.Errorf("exit code %d", code)
	}
}
