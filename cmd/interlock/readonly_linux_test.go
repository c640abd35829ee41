package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// onOwnFileSystem makes controllers run with a data directory on an ext4 file system in a file,
// mounted in a mount namespace of their own. It needs root, and a kernel that mounts such files.
func (g *ground) onOwnFileSystem() {
	g.Helper()
	for _, program := range []string{"mkfs.ext4", "e2fsck", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil || os.Geteuid() != 0 {
			g.Skipf("a read-only file system needs root and %s: %v", program, err)
		}
	}
	g.check(os.Mkdir(g.path("data"), 0o700))
	g.check(os.WriteFile(g.path("disk"), nil, 0o600))
	g.check(os.Truncate(g.path("disk"), 64<<20))
	if out, err := exec.Command("mkfs.ext4", "-q", g.path("disk")).CombinedOutput(); err != nil {
		g.Skipf("no file system can be made here: %v: %s", err, out)
	}
	g.wrap = []string{"sh", "-c", "mount --make-rprivate / && { e2fsck -p disk >&2 || test $? = 1; } && mount -o loop disk data && chmod 700 data || exit 99; exec \"$@\"", "sh"}
	g.attributes = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
}

// remount remounts the data directory as the controller sees it.
func (d *daemon) remount(options string) error {
	out, err := exec.Command("nsenter", "-t", fmt.Sprint(d.cmd.Process.Pid), "-m", "mount", "-o", "remount,"+options, d.path("data")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// TestReadOnlyFileSystemUnderAController makes the kernel give the file system of a running
// controller up, as it does after an error of the disk. The controller must say so and acknowledge
// nothing more, and everything that it acknowledged must be there after a check of the file system.
func TestReadOnlyFileSystemUnderAController(t *testing.T) {
	g := newGround(t, builtBinary(t), "")
	t.Parallel()
	g.onOwnFileSystem()
	g.pipeline("orders", prompt)
	d := g.launch()
	if !d.ready() {
		if d.cmd.ProcessState.ExitCode() == 99 {
			t.Skipf("no file system can be mounted here: %s", d.said())
		}
		t.Fatal(d.said())
	}
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Completed)
	if err := d.remount("ro"); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("an operator's remount is refused while the controller has files open, got %v", err)
	}
	d.put("orders", "landed#2026-03-04", map[string]any{"n": 1})

	if err := d.remount("abort"); err != nil {
		t.Skipf("this kernel does not give a file system up on request: %v", err)
	}
	names := func(text string) bool {
		return strings.Contains(text, "the disk of the data directory returns errors") || strings.Contains(text, "the database cannot be written to")
	}
	until(t, "readyz names the disk", func() bool {
		status, text := d.readiness()
		return status == http.StatusServiceUnavailable && names(text)
	})
	_, err := d.api.PutSensor(t.Context(), "orders", "landed#2026-03-05", map[string]any{"n": 1})
	if err == nil || !names(err.Error()) {
		t.Errorf("a write got %v", err)
	}
	if err := d.remount("rw"); err == nil {
		t.Error("the file system was mounted for writing again: then the controller need not be restarted, and docs/SERVER.md should say so")
	}
	d.kill()

	d = g.start()
	d.reaches("orders/stream/2026-03-03", client.Completed)
	d.reaches("orders/stream/2026-03-04", client.Completed)
	if _, there := d.runs()["orders/stream/2026-03-05"]; there {
		t.Error("a rejected write opened a run")
	}
	until(t, "readyz is 200", func() bool { status, _ := d.readiness(); return status == http.StatusOK })
	d.put("orders", "landed#2026-03-05", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-05", client.Completed)
}
