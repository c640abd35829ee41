package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// The directory's permissions are taken away while a controller runs, and given back.
func TestReadinessFollowsTheRightsOnTheDataDirectory(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	if os.Geteuid() == 0 { // permissions do not apply to root
		g.runAsNobody()
	}
	g.pipeline("orders", prompt)
	d := g.start()
	defer g.chmod(0o700, g.path("data"))
	g.chmod(0, g.path("data"))
	until(t, "readyz names the permissions", func() bool {
		status, text := d.readiness()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "check the permissions of the data directory")
	})
	if _, err := d.api.PutSensor(t.Context(), "orders", "landed#2026-03-03", map[string]any{"n": 1}); err == nil || !strings.Contains(err.Error(), "check the permissions") {
		t.Errorf("a write got %v", err)
	}
	g.chmod(0o700, g.path("data"))
	until(t, "readyz is 200", func() bool { status, _ := d.readiness(); return status == http.StatusOK })
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
}
