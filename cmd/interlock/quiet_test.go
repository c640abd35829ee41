//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// quietFiles are one file of each kind, with an edit that adds a secret, and what the edit shows.
var quietFiles = []struct{ kind, file, text, old, new, diff string }{
	{
		"calendar", "calendars/us.yaml", "name: us\ndates: [2001-12-25]\n", "2001-12-25", "2001-12-24",
		`- dates: ["2001-12-25"] + dates: ["2001-12-24"]`,
	},
	{
		"archetype", "archetypes/landed.yaml", "name: landed\nprobes: [{key: disk, command: [echo, '{\"status\": \"PASS\"}'], ttl: 1h}]\n", "ttl: 1h", "ttl: 2h, env: {API_TOKEN: hunter2hunter2}",
		`- probes[0].ttl: "1h" + probes[0].ttl: "2h" + probes[0].env.API_TOKEN: "[redacted]"`,
	},
	{
		"pipeline", "pipelines/orders.yaml", quietOrders, "[echo, hi]", "[echo, --password=hunter2]",
		`- job.config.command: ["echo", "hi"] + job.config.command: ["echo", "--password=[redacted]"]`,
	},
	{
		"source", "sources/land.yaml", "source: {id: land, owner: x, format: json}\nwrite: [{pipeline: orders, key: rows, fields: {count: 1}}]\n", "count: 1", "count: 2",
		`- write[0].fields.count: 1 + write[0].fields.count: 2`,
	},
}

const quietDay = "2026-03-03"

const quietOrders = `pipeline: {id: orders, owner: tests}
schedule: {exclude: {calendar: us}}
validation: {rules: [{key: rows, check: exists}]}
archetype: landed
job: {type: command, config: {command: [echo, hi]}}
`

const quietClaims = `pipeline: {id: claims, owner: tests}
schedule: {exclude: {calendar: us}}
job: {type: external}
`

// newQuietGround has the files in a Git repository with one commit.
func newQuietGround(t *testing.T) *ground {
	g := newGround(t, builtBinary(t), "calendars: [./calendars]\narchetypes: [./archetypes]\nsources: [./sources]\n")
	for _, dir := range []string{"calendars", "archetypes", "sources", ".git"} {
		if err := os.Mkdir(g.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range quietFiles {
		g.write(f.file, f.text)
	}
	g.write("pipelines/claims.yaml", quietClaims)
	g.write(".git/HEAD", strings.Repeat("1a", 20)+"\n")
	return g
}

// changes lists the audit entries about files, oldest first.
func (d *daemon) changes() []client.AuditEntry {
	d.Helper()
	page, err := d.api.Audit(d.Context(), client.AuditQuery{Action: "config", Paging: client.Paging{Limit: client.MaxPage}})
	if err != nil {
		d.Fatal(err)
	}
	slices.Reverse(page.Items)
	return page.Items
}

// recorded waits until a file has its n-th entry, and returns that.
func (d *daemon) recorded(file string, n int) client.AuditEntry {
	d.Helper()
	var of []client.AuditEntry
	until(d.T, fmt.Sprintf("entry %d about %s", n, file), func() bool {
		of = slices.DeleteFunc(d.changes(), func(e client.AuditEntry) bool { return !strings.HasSuffix(e.Change.File, file) })
		return len(of) >= n
	})
	if len(of) > n {
		d.Errorf("%s has %d entries, want %d", file, len(of), n)
	}
	return of[n-1]
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// describe is what matters of an entry.
func describe(e client.AuditEntry) string {
	ch := e.Change
	return fmt.Sprintf("%s %s %s→%s by %s at %s: %s", *e.Outcome, ch.Kind, orDash(ch.Before), orDash(ch.After), orDash(ch.Owner), orDash(ch.Commit), strings.Join(ch.Diff, " "))
}

// TestNoEditIsQuiet edits, breaks and removes a file of each kind, while the server runs and while
// it is down. Each change has one audit entry and one event; each start names what it used.
func TestNoEditIsQuiet(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g := newQuietGround(t)
	d := g.start()
	by := fmt.Sprintf("by %s at %s", me.Username, strings.Repeat("1a", 20))
	d.typed("sensor", "set", "orders", "rows", "count=1", "date="+quietDay)
	d.typed("trigger", "orders", "--date", quietDay)
	first := d.reaches("orders/manual/"+quietDay, client.Completed)
	for i, f := range quietFiles {
		if got, want := describe(d.recorded(f.file, 1)), fmt.Sprintf("done %s –→%s %s: ", f.kind, digestOf(f.text), by); got != want {
			t.Errorf("the first file: got %s\nwant %s", got, want)
		}
		if i%2 == 1 { // every other edit happens while the server is down
			d.stop()
		}
		edited := strings.Replace(f.text, f.old, f.new, 1)
		g.write(f.file, edited)
		if i%2 == 1 {
			d = g.start()
		}
		if got, want := describe(d.recorded(f.file, 2)), fmt.Sprintf("done %s %s→%s %s: %s", f.kind, digestOf(f.text), digestOf(edited), by, f.diff); got != want {
			t.Errorf("an edit: got %s\nwant %s", got, want)
		}
		g.write(f.file, edited+"unknown: 1\n")
		if got, want := describe(d.recorded(f.file, 3)), fmt.Sprintf("refused %s %s→%s %s: + unknown: 1", f.kind, digestOf(edited), digestOf(edited+"unknown: 1\n"), by); got != want {
			t.Errorf("a rejected edit: got %s\nwant %s", got, want)
		}
		g.write(f.file, edited)
		d.emitted(f.kind, f.file, digestOf(f.text), digestOf(edited), me.Username)
	}
	d.usedBy(first, func(text, _, _ string) string { return text })
	d.typed("rerun", "orders", "--date", quietDay, "--reason", "again", "--force")
	until(t, "the rerun", func() bool {
		next := d.reaches("orders/manual/"+quietDay, client.Completed)
		if next.Attempt == 1 {
			return false
		}
		d.usedBy(next, func(text, old, new string) string { return strings.Replace(text, old, new, 1) })
		return true
	})
	if err := os.Remove(g.path("sources/land.yaml")); err != nil {
		t.Fatal(err)
	}
	if got, want := describe(d.recorded("sources/land.yaml", 4)), "done source "; !strings.HasPrefix(got, want) || !strings.Contains(got, "→– ") {
		t.Errorf("a removed file: got %s", got)
	}
	shown := d.typed("audit") + d.typed("audit", "--format", "json") + d.typed("events")
	if strings.Contains(shown, "hunter2") || !strings.Contains(shown, `+ write[0].fields.count: 2`) {
		t.Errorf("the record shows a secret, or no difference:\n%s", shown)
	}
	d.stop()
}

// emitted checks the event of an accepted edit.
func (d *daemon) emitted(kind, file, before, after, owner string) {
	d.Helper()
	n := 0
	for _, e := range d.events() {
		if e.Type != "CONFIG_ACCEPTED" {
			continue
		}
		var detail struct{ Kind, File, Before, After, Owner string }
		var whole struct{ Detail json.RawMessage }
		if err := json.Unmarshal(e.Raw, &whole); err != nil {
			d.Fatal(err)
		}
		if err := json.Unmarshal(whole.Detail, &detail); err != nil {
			d.Fatal(err)
		}
		if detail.Kind == kind && filepath.Base(detail.File) == filepath.Base(file) && detail.Before == before && detail.After == after && detail.Owner == owner {
			n++
		}
	}
	if n != 1 {
		d.Errorf("%d events tell of the edit of %s, want 1", n, file)
	}
}

// usedBy checks that the start of a run names its files, each with its digest at that time.
func (d *daemon) usedBy(r client.RunDetail, then func(text, old, new string) string) {
	d.Helper()
	var got, want []string
	for _, f := range r.Gate.Files {
		got = append(got, f.Kind+" "+filepath.Base(f.File)+" "+f.Digest)
	}
	for _, f := range quietFiles {
		want = append(want, f.kind+" "+filepath.Base(f.file)+" "+digestOf(then(f.text, f.old, f.new)))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("files of attempt %d (-want +got):\n%s", r.Attempt, diff)
	}
	text := d.typed("run", "show", r.Key().String())
	for _, f := range r.Gate.Files {
		if !strings.Contains(text, f.Digest[:12]) {
			d.Errorf("run show names no digest of %s:\n%s", f.File, text)
		}
	}
}

// TestClaimNamesItsFiles: a start by an external worker has a snapshot of its own.
func TestClaimNamesItsFiles(t *testing.T) {
	t.Parallel()
	d := newQuietGround(t).start()
	d.typed("trigger", "claims", "--date", quietDay)
	if out := d.interlock("exec", "claims", "--date", quietDay, "--", "true"); out.code != 0 {
		t.Fatalf("exit code %d: %s", out.code, out.stderr)
	}
	r := d.reaches("claims/manual/"+quietDay, client.Completed)
	if r.Gate == nil || len(r.Gate.Files) != 2 || r.Gate.Files[0].Digest != digestOf(quietClaims) || r.Gate.Files[1].Kind != "calendar" {
		t.Errorf("the gate: %+v", r.Gate)
	}
	d.stop()
}
