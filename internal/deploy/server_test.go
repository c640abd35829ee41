package deploy

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/interlock-go/interlock/internal/settings"
)

// named returns the environment variables that a server's file refers to.
func named(f settings.File) []string {
	var names []string
	for _, token := range f.Auth.Tokens {
		names = append(names, token.TokenEnv)
	}
	if f.Redis != nil {
		names = append(names, f.Redis.PasswordEnv)
	}
	names = append(names, f.Archive.DSNEnv)
	return slices.DeleteFunc(append(names, f.Secrets.Env...), func(name string) bool { return name == "" })
}

// checkServer checks a server's file for a container with these variables.
func checkServer(t *testing.T, where, text string, given []string) {
	t.Helper()
	f, problems := settings.Parse(where, []byte(text))
	for _, p := range problems {
		t.Errorf("%v", p)
	}
	if f.Loopback() {
		t.Errorf("%s: clients outside the container cannot reach %s", where, f.Listen)
	}
	if f.Data.Dir != dataDir && filepath.Dir(f.Data.Dir) != dataDir {
		t.Errorf("%s: its data is in %s, which is no volume", where, f.Data.Dir)
	}
	if want := slices.Sorted(slices.Values(named(f))); !slices.Equal(want, slices.Sorted(slices.Values(given))) {
		t.Errorf("%s names the variables %v, and the container has %v", where, want, given)
	}
}

// dataDir is the image's directory for persistent data.
const dataDir = "/var/lib/interlock"

// The callback address of jobs reaches every controller.
func TestJobsCanReportToAnyController(t *testing.T) {
	composed, _ := settings.Parse("compose", []byte(read(t, "deploy/compose/interlock.yaml")))
	_, port, _ := net.SplitHostPort(composed.Listen)
	for name, s := range compose(t).controllers() {
		for _, alias := range s.Networks["inside"].Aliases {
			if want := "http://" + net.JoinHostPort(alias, port); composed.CallbackURL != want {
				t.Errorf("jobs report to %s, and %s is at %s", composed.CallbackURL, name, want)
			}
		}
		if len(s.Networks["inside"].Aliases) != 1 {
			t.Errorf("%s has no name that the others have, too: %+v", name, s.Networks)
		}
	}
	inPods, _ := settings.Parse("kubernetes", []byte(settingsOfPods(t)))
	service := manifests(t, "Service")[0]
	want := fmt.Sprintf("http://%s.%s.svc:%d", service.Metadata.Name, service.Metadata.Namespace, service.Spec.Ports[0].Port)
	if inPods.CallbackURL != want {
		t.Errorf("jobs report to %s, and the service is at %s", inPods.CallbackURL, want)
	}
}

func TestServerFilesSuitTheirContainers(t *testing.T) {
	for _, s := range compose(t).controllers() {
		checkServer(t, "compose/interlock.yaml", read(t, "deploy/compose/interlock.yaml"), slices.Collect(maps.Keys(s.Environment)))
	}
	for _, c := range pods(t) {
		var given []string
		for _, e := range c.Env {
			given = append(given, e.Name)
		}
		checkServer(t, "kubernetes/interlock.yaml", settingsOfPods(t), given)
	}
}
