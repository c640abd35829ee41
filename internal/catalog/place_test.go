package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// TestFilesThatRunProgramsAreRejectedWhereProgramsAreOff also rereads files that were accepted
// before programs were turned off.
func TestFilesThatRunProgramsAreRejectedWhereProgramsAreOff(t *testing.T) {
	d := newDesk(t)
	d.files["shell.yaml"] = "pipeline: {id: shell, owner: tests}\nschedule: {cron: '@daily'}\njob: {type: command, config: {command: ls}}\n"
	d.files["probed.yaml"] = "pipeline: {id: probed, owner: tests}\nschedule: {cron: '@daily'}\nprobes: [{key: landed, command: ls}]\nvalidation: {rules: [{key: landed, check: exists}]}\n"
	d.files["remote.yaml"] = "pipeline: {id: remote, owner: tests}\nschedule: {cron: '@daily'}\njob: {type: http, config: {url: 'https://host/run'}}\n"
	d.apply()
	d.Catalog = d.restarted()
	d.WithoutPrograms()
	report := d.apply()
	if diff := cmp.Diff([]pipeline.ID{"probed", "shell"}, report.Rejected); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
	var texts []string
	for _, p := range report.Problems {
		texts = append(texts, p.String())
	}
	for _, want := range []string{"shell.yaml:3:13: job.type: runs a program on the server's machine", `"landed" runs a program`, "set jobs: {command: on}"} {
		if !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
	if d.Current().Get("shell") == nil {
		t.Error("the active version was removed")
	}
}
