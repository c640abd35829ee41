//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// probe returns the state of a probe.
func (d *daemon) probe(pipeline, key string) client.Probe {
	d.Helper()
	p, err := d.api.Pipeline(d.Context(), pipeline)
	if err != nil {
		d.Fatal(err)
	}
	for _, one := range p.Probes {
		if one.Key == key {
			return one
		}
	}
	d.Fatalf("%s has no probe %s", pipeline, key)
	return client.Probe{}
}

// broken waits until a probe has failed, and returns the reason.
func (d *daemon) broken(pipeline, key string) string {
	d.Helper()
	var p client.Probe
	until(d.T, fmt.Sprintf("probe %s of %s breaks", key, pipeline), func() bool {
		p = d.probe(pipeline, key)
		return p.Failures.Count > 0
	})
	return *p.Failures.Reason
}

// wild has one probe for each kind of misbehaviour, and one that recovers. The child process of the
// probe that hangs also exits if a test kills the controller.
const wild = `
schedule: {trigger: {key: go, check: exists}, evaluation: {window: 1h, interval: 1s}}
probes:
  - {key: hangs, command: [sh, -c, "(while kill -0 $$; do sleep 1; done) & echo $! >child; echo $$ >parent; wait"], timeout: 2s}
  - {key: floods, command: [sh, -c, "while :; do echo 0123456789012345678901234567890123456789; done"]}
  - {key: crashes, command: [sh, -c, "echo no such table >&2; exit 1"]}
  - {key: recovers, command: [sh, -c, "cat mended"]}
validation:
  rules:
    - {key: recovers, check: equals, field: status, value: PASS}
    - any: [{key: hangs, check: exists}, {key: floods, check: exists}, {key: crashes, check: exists}, {key: recovers, check: exists}]
job: {type: command, config: {command: ["true"]}}
`

func TestMisbehavingProbesAreEndedAndARecoveredProbeOpensTheGate(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	g.pipeline("wild", wild)
	d := g.start()
	d.put("wild", "go#2026-03-03", map[string]any{"x": 1})
	for key, want := range map[string]string{
		"hangs":    "did not answer within its timeout of 2s",
		"floods":   "printed more than 64 KiB",
		"crashes":  "exited with code 1: no such table",
		"recovers": "cat: mended",
	} {
		if got := d.broken("wild", key); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	for _, file := range []string{"child", "parent"} {
		pid := 0
		until(t, "the number of the "+file, func() bool {
			text, err := os.ReadFile(g.path(file))
			if err == nil {
				pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			return err == nil
		})
		until(t, "the end of the "+file+" of a probe that hung", func() bool { return gone(pid) })
	}
	x, err := d.api.Explain(t.Context(), "wild", "2026-03-03")
	if err != nil || !strings.Contains(x.Text, "recovers: could not answer") || len(x.Probes) != 4 {
		t.Errorf("explain returned %v:\n%s", err, x.Text)
	}
	g.write("mended.new", `{"status": "PASS"}`)
	if err := os.Rename(g.path("mended.new"), g.path("mended")); err != nil {
		t.Fatal(err)
	}
	g.pipeline("wild", wild+"# an edit ends the rest\n")
	d.reaches("wild/stream/2026-03-03", client.Completed)
	if p := d.probe("wild", "recovers"); p.State != "ok" || *p.Answer.Status != "PASS" || *p.Answer.Date != "2026-03-03" {
		t.Errorf("it is %+v", p)
	}
}

func TestExampleOfProbesOpensItsGateWhenFilesLand(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	if err := os.CopyFS(g.path("project"), os.DirFS("../../examples/probes")); err != nil {
		t.Fatal(err)
	}
	g.dir = g.path("project")
	if err := os.Chmod(g.path("probes/count-lines.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.write("interlock.yaml", "listen: 127.0.0.1:0\ndata: ./data\n")
	d := g.start()
	until(t, "an answer about missing files", func() bool {
		p := d.probe("orders", "landing")
		return p.Answer.Status != nil && *p.Answer.Status == "FAIL"
	})
	asked := *d.probe("orders", "landing").Answer.Date
	for _, date := range []string{asked, time.Now().UTC().Add(time.Minute).Format(time.DateOnly)} { // the day may change at midnight
		if err := os.MkdirAll(g.path("landing/"+date), 0o755); err != nil {
			t.Fatal(err)
		}
		g.write(filepath.Join("landing", date, "a.csv"), "one\ntwo\n")
	}
	until(t, "a completed run", func() bool {
		for _, r := range d.runs() {
			if r.Pipeline == "orders" && r.Status == client.Completed {
				return true
			}
		}
		return false
	})
}

func TestExamplesOfProbesAreRight(t *testing.T) {
	if got := must(t, 0, "validate", "../../examples/probes"); !strings.Contains(got.stdout, "no problems") {
		t.Errorf("got %s", got.stdout)
	}
	info, err := fs.Stat(os.DirFS("../../examples/probes"), "probes/count-lines.sh")
	if err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the script is not executable: %v", err)
	}
}
