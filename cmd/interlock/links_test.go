//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// private is text that no answer, event or log may contain.
const private = "pr1vate-0123456789abcdef"

// mount replaces the files of a folder as Kubernetes does those of a ConfigMap: the files are links into
// ..data, a link to the current version, which is replaced by a rename.
func (g *ground) mount(folder, version string, files map[string]string) {
	g.Helper()
	g.check(os.Mkdir(g.path(folder+"/.."+version), 0o755))
	for name, text := range files {
		g.write(folder+"/.."+version+"/"+name, text)
	}
	g.pointTo(folder, ".."+version)
	for name := range files {
		if err := os.Symlink("..data/"+name, g.path(folder+"/"+name)); err != nil && !os.IsExist(err) {
			g.Fatal(err)
		}
	}
}

// pointTo makes the ..data of a folder lead to that directory, and removes the version before.
func (g *ground) pointTo(folder, target string) {
	g.Helper()
	data := g.path(folder + "/..data")
	before, _ := os.Readlink(data) // there is none at first
	g.check(os.Symlink(target, data+"_tmp"))
	g.check(os.Rename(data+"_tmp", data))
	if strings.HasPrefix(before, "..") {
		g.check(os.RemoveAll(g.path(folder + "/" + before)))
	}
}

// shows returns everything that a controller shows about files: its log, its events and its answers.
func (d *daemon) shows() string {
	d.Helper()
	all := d.said()
	for _, path := range []string{"/readyz", "/api/v1/files", "/api/v1/sources", "/api/v1/pipelines", "/api/v1/attention", "/api/v1/events?limit=500", "/api/v1/audit", "/api/v1/runs"} {
		resp, err := http.Get(d.url + path)
		d.check(err)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		d.check(err)
		all += string(text)
	}
	return all
}

// TestLinksInFoldersLeadNowhereElse puts links of every kind into the folders of pipelines, calendars
// and sources, and replaces mounted files while the controller reads them. Files below the folders
// count, and no other file is read.
func TestLinksInFoldersLeadNowhereElse(t *testing.T) {
	g := newGround(t, builtBinary(t), "calendars: [./calendars]\nsources: [./sources]\n")
	t.Parallel()
	g.env = append(g.env, "PRIVATE="+private)
	folders := []string{"pipelines", "calendars", "sources"}
	for _, name := range append([]string{"outside"}, folders[1:]...) {
		g.check(os.Mkdir(g.path(name), 0o755))
	}
	g.write("outside/orders.yaml", "pipeline: {id: outside, owner: tests}\n"+private+": 1\n")
	orders := func(n int) map[string]string {
		return map[string]string{"orders.yaml": fmt.Sprintf("pipeline: {id: orders, owner: tests, description: version %d}\nschedule: {exclude: {calendar: days}}\n", n)}
	}
	g.mount("pipelines", "1", orders(1))
	g.mount("calendars", "1", map[string]string{"days.yaml": "name: days\ndates: [2026-12-25]\n"})
	g.mount("sources", "1", map[string]string{"queue.yaml": "source: {id: queue, owner: tests, format: json}\nwrite: [{pipeline: orders, key: depth, fields: {depth: {path: $.depth}}}]\n"})
	for _, folder := range folders {
		for name, target := range map[string]string{
			"absolute.yaml": g.path("outside/orders.yaml"), "relative.yaml": "../outside/orders.yaml", "environment.yaml": "/proc/self/environ", "terminal.yaml": "/dev/tty", "memory.yaml": "/dev/zero",
			"dangling.yaml": "none.yaml", "loop.yaml": "loop.yaml", "there.yaml": "back.yaml", "back.yaml": "there.yaml", "self": ".", "chain.yaml": "absolute.yaml",
		} {
			g.check(os.Symlink(target, g.path(folder+"/"+name)))
		}
		g.check(syscall.Mkfifo(g.path(folder+"/pipe.yaml"), 0o600))
	}
	d := g.start()
	until(t, "the mounted files", func() bool {
		p, err := d.api.Pipeline(t.Context(), "orders")
		return err == nil && p.Description == "version 1"
	})
	shown := d.shows()
	for _, folder := range folders {
		for _, name := range []string{"absolute.yaml", "relative.yaml", "environment.yaml", "chain.yaml"} {
			if !strings.Contains(shown, folder+"/"+name) {
				t.Errorf("%s/%s is not reported", folder, name)
			}
		}
	}

	for n := 2; n < 30; n++ { // while the controller may be reading the version before
		g.mount("pipelines", fmt.Sprint(n), orders(n))
	}
	until(t, "the last version", func() bool {
		p, err := d.api.Pipeline(t.Context(), "orders")
		return err == nil && p.Description == "version 29"
	})
	g.pointTo("pipelines", g.path("outside"))
	until(t, "the rejected version", func() bool { return d.told("CONFIG_REJECTED", "orders") == 1 })
	g.check(os.Symlink(g.path("outside"), g.path("pipelines/directory")))
	until(t, "the unreadable folder", func() bool { return strings.Contains(d.shows(), "points outside the directory") })
	if p, err := d.api.Pipeline(t.Context(), "orders"); err != nil || p.Version == nil || p.RemovedAt != nil {
		t.Errorf("the last good version is gone: %+v %v", p, err)
	}
	g.check(os.Remove(g.path("pipelines/directory")))
	g.mount("pipelines", "30", orders(30))
	until(t, "the corrected version", func() bool {
		p, err := d.api.Pipeline(t.Context(), "orders")
		return err == nil && p.Description == "version 30"
	})
	shown = d.shows()
	if n := d.told("CONFIG_REMOVED", ""); n != 0 || strings.Contains(shown, private) || strings.Contains(shown, "goroutine ") {
		t.Errorf("%d files were removed:\n%s", n, shown)
	}
}

// TestFileReferencesLeadNowhereElse starts jobs whose configuration refers to files outside the one
// directory that the server's file allows. None of them is read, and none makes the controller wait.
func TestFileReferencesLeadNowhereElse(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]string{} // the header of each job, by path
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent[r.URL.Path] = r.Header.Get("X-Secret")
		http.Error(w, "you sent "+r.Header.Get("X-Secret"), http.StatusBadRequest)
	}))
	t.Cleanup(target.Close)
	g := newGround(t, builtBinary(t), "egress: {allow: [127.0.0.1]}\nengine: {triggerBackoff: 1s}\nsecrets: {files: [./allowed]}\n")
	t.Parallel()
	g.env = append(g.env, "PRIVATE="+private)
	for _, name := range []string{"allowed", "outside", "allowed-not"} {
		g.check(os.Mkdir(g.path(name), 0o755))
		g.write(name+"/key", private)
	}
	g.write("allowed/huge", strings.Repeat(private, 10_000))
	g.check(syscall.Mkfifo(g.path("allowed/pipe"), 0o600))
	for name, link := range map[string]string{"out": g.path("outside/key"), "up": "../outside/key", "dir": "../outside", "environ": "/proc/self/environ", "zero": "/dev/zero", "loop": "loop"} {
		g.check(os.Symlink(link, g.path("allowed/"+name)))
	}
	paths := map[string]string{ // in a YAML text in double quotes
		"good": g.path("allowed/key"), "dots": g.path("allowed/") + "/../outside/key", "absolute": g.path("outside/key"), "sibling": g.path("allowed-not/key"),
		"relative": "allowed/key", "home": "~/key", "link": g.path("allowed/out"), "relative-link": g.path("allowed/up"), "directory-link": g.path("allowed/dir/key"),
		"back": g.path("allowed/dir") + "/../../outside/key", "environment": "/proc/self/environ", "environment-link": g.path("allowed/environ"), "device": g.path("allowed/zero"),
		"nul": g.path("outside/key") + `\0` + g.path("allowed/key"), "nul-after": g.path("allowed/key") + `\0/x`, "directory": g.path("allowed"), "pipe": g.path("allowed/pipe"),
		"huge": g.path("allowed/huge"), "loop": g.path("allowed/loop"), "data": g.path("data/callback.key"), "server-file": g.path("interlock.yaml"),
	}
	for id, path := range paths {
		g.pipeline(id, fmt.Sprintf("job: {type: http, config: {url: \"%s/%s\", headers: {X-Secret: \"${file:%s}\"}}, maxRetries: 0, maxCodeRetries: 0}\n", target.URL, id, path))
	}
	d := g.start()
	for id := range paths {
		_, err := d.api.Trigger(t.Context(), client.TriggerRequest{Pipeline: id, Date: "2026-03-02"})
		if rejected := d.told("CONFIG_REJECTED", id) == 1; rejected != (err != nil) {
			t.Errorf("%s: rejected: %v, and the start: %v", id, rejected, err)
		}
	}
	for run := range d.runs() {
		d.reaches(run, client.FailedFinal)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 1 || sent["/good"] != private {
		t.Errorf("the target received %q", sent)
	}
	shown := d.shows()
	for id := range paths {
		got := call{args: []string{"explain", id, "--date", "2026-03-02"}, env: map[string]string{"INTERLOCK_SERVER": d.url}}.run()
		shown += got.stdout + got.stderr
	}
	if strings.Contains(shown, private) {
		t.Errorf("a secret is shown:\n%s", shown)
	}
}
